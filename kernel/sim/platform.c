// SPDX-License-Identifier: GPL-2.0-only
/*
 * Platform driver of devices whose engines are "sim" and "sim-copy": those of the device
 * tree, and the one of ordinary memory that a module parameter asks for.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>

#include "device.h"
#include "sim.h"

/* For development on machines without device tree; there is no such device unless root asks. */
static unsigned int software_mib[NPUMEM_MAX_BANKS];
static unsigned int software_count;
module_param_array(software_mib, uint, &software_count, 0400);
MODULE_PARM_DESC(software_mib,
		 "MiB of each bank of a software carveout, for tests (default: none)");

static struct platform_device *software_device;

static int sim_probe(struct platform_device *pdev)
{
	const unsigned int *mib = dev_get_platdata(&pdev->dev);
	int err;

	/* The device does no DMA of its own, but its mask decides which dma-bufs it can import. */
	err = dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		return dev_err_probe(&pdev->dev, err, "no DMA\n");
	return npumem_device_probe_software(&pdev->dev, npumem_sim_engines, NPUMEM_SIM_ENGINES, mib,
					    mib ? software_count : 0);
}

static void sim_remove(struct platform_device *pdev)
{
	npumem_device_remove(&pdev->dev);
}

static const struct of_device_id sim_of_match[] = {
	{ .compatible = "npumem,sim-npu" },
	{},
};
MODULE_DEVICE_TABLE(of, sim_of_match);

static struct platform_driver sim_driver = {
	.probe = sim_probe,
	.remove = sim_remove,
	.driver = {
		.name = "npumem-sim",
		.of_match_table = sim_of_match,
	},
};

/* Make the device that the module parameter asks for. */
static int software_create(void)
{
	struct platform_device_info info = {
		.name = "npumem-sim",
		.id = PLATFORM_DEVID_NONE,
		.data = software_mib,
		.size_data = sizeof(software_mib),
		.dma_mask = DMA_BIT_MASK(64),
	};

	if (!software_count)
		return 0;
	software_device = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(software_device);
}

int npumem_sim_register(void)
{
	int err = platform_driver_register(&sim_driver);

	if (err)
		return err;
	err = software_create();
	if (err)
		platform_driver_unregister(&sim_driver);
	return err;
}

void npumem_sim_unregister(void)
{
	if (software_device)
		platform_device_unregister(software_device);
	platform_driver_unregister(&sim_driver);
}
