// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second device with the NPU's device tree node, as two NPU cores that name one
 * memory-region.
 */
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>

static struct platform_device *twin;

static int __init twin_init(void)
{
	int err;

	twin = platform_device_alloc("npumem-test-twin", PLATFORM_DEVID_NONE);
	if (!twin)
		return -ENOMEM;
	twin->dev.of_node = of_find_compatible_node(NULL, NULL, "npumem,sim-npu");
	err = platform_device_add(twin);
	if (err)
		platform_device_put(twin);
	return err;
}

static void __exit twin_exit(void)
{
	platform_device_unregister(twin);
}

module_init(twin_init);
module_exit(twin_exit);

MODULE_DESCRIPTION("second NPU on one carveout, of npumem's tests");
MODULE_LICENSE("GPL");
