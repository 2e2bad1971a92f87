// SPDX-License-Identifier: GPL-2.0-only
/*
 * A real NPU's driver as kernel/base/engine.h has it, in a module of its own: engine "other" on
 * the device tree node of the NPU, from which npumem's own driver was unbound before. Jobs
 * with commands, whatever these are, end at once and do nothing, others when the device goes.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "base/engine.h"
#include "device.h"
#include "job/job.h"

/* What the parent's drvdata must still be when the device is removed. */
static int own_data;

static DECLARE_WAIT_QUEUE_HEAD(stopped);

/* While it is set the module, being unloaded, is neither there nor gone. */
static bool linger;
module_param(linger, bool, 0600);

/* Engines of the next device: none, which npumem refuses, one, or one that does DMA, too. */
static uint described = 1;
module_param(described, uint, 0600);

static int other_init(struct npu_engine *engine)
{
	engine->priv = kzalloc(sizeof(struct npu_job *), GFP_KERNEL);
	return engine->priv ? 0 : -ENOMEM;
}

static void other_fini(struct npu_engine *engine)
{
	kfree(engine->priv);
}

static int other_check(struct npu_engine *engine, struct npu_job *job, u32 *ticks)
{
	return 0;
}

static void other_start(struct npu_engine *engine, struct npu_job *job)
{
	if (job->commands)
		npumem_job_done(job, 0);
	else
		WRITE_ONCE(*(struct npu_job **)engine->priv, job);
}

/* None is ever too late: wait for the device to go. */
static void other_drain(struct npu_engine *engine)
{
	wait_event(stopped, !READ_ONCE(*(struct npu_job **)engine->priv));
}

static void other_stop(struct npu_engine *engine)
{
	struct npu_job *job = xchg((struct npu_job **)engine->priv, NULL);

	if (job)
		npumem_job_done(job, -ENODEV);
	wake_up_all(&stopped);
}

static const struct npu_engine_ops other_ops = {
	.init = other_init,
	.fini = other_fini,
	.check = other_check,
	.start = other_start,
	.drain = other_drain,
	.stop = other_stop,
};

static const struct npu_engine_desc other_descs[] = {
	{
		.name = "other",
		.owner = THIS_MODULE,
		.ops = &other_ops,
		.flags = NPUMEM_ENGINE_TRANSFERS,
		.version = 1,
	},
	{
		.name = "other-dma",
		.owner = THIS_MODULE,
		.ops = &other_ops,
		.addresses = NPU_ADDRESS_DMA,
		.version = 1,
	},
};

static int other_probe(struct platform_device *pdev)
{
	platform_set_drvdata(pdev, &own_data);
	return npumem_device_probe(&pdev->dev, other_descs,
				   min_t(uint, described, ARRAY_SIZE(other_descs)));
}

static void other_remove(struct platform_device *pdev)
{
	npumem_device_remove(&pdev->dev);
	if (platform_get_drvdata(pdev) == &own_data)
		dev_info(&pdev->dev, "drvdata kept\n");
}

static struct platform_driver other_driver = {
	.probe = other_probe,
	.remove = other_remove,
	.driver = { .name = "npumem-test-engine" },
};

static struct platform_device *device;

static int __init other_module_init(void)
{
	int err = platform_driver_register(&other_driver);

	if (err)
		return err;
	err = -ENOMEM;
	device = platform_device_alloc("npumem-test-engine", PLATFORM_DEVID_NONE);
	if (!device)
		goto err_driver;
	device->dev.of_node = of_find_compatible_node(NULL, NULL, "npumem,sim-npu");
	/* Or the driver that knows the node would have it. */
	err = device_set_driver_override(&device->dev, "npumem-test-engine");
	if (!err)
		err = platform_device_add(device);
	if (err)
		goto err_device;
	return 0;

err_device:
	platform_device_put(device);
err_driver:
	platform_driver_unregister(&other_driver);
	return err;
}

static void __exit other_module_exit(void)
{
	while (READ_ONCE(linger))
		msleep(20);
	platform_device_unregister(device);
	platform_driver_unregister(&other_driver);
}

module_init(other_module_init);
module_exit(other_module_exit);

MODULE_DESCRIPTION("NPU driver of npumem's tests");
MODULE_LICENSE("GPL");
