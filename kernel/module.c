// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: the module
 *
 * Files pin the module, but a job in flight, or a request, keeps its DRM device a
 * moment longer than the file that made it. So on exit, after the last platform device
 * is gone, we wait for the last DRM device. That takes a moment only, since those jobs wait
 * for nobody's fences any more (job/gate.c).
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "base/work.h"
#include "device.h"
#include "job/gate.h"
#include "memory/bo.h"
#include "sim/sim.h"
#include "upcall/upcall.h"

static void devices_wait(void)
{
	npumem_devices_wait();
	/* The last device's release may not have returned yet from the function that woke us. */
	npumem_work_exit();
	npumem_gates_exit();
	/* Fences and xarrays are freed after a grace period. */
	rcu_barrier();
}

static int __init npumem_init(void)
{
	int err;

	npumem_bo_init();
	err = npumem_work_init();
	if (err)
		return err;
	err = npumem_gates_init();
	if (err) {
		npumem_work_exit();
		return err;
	}
	err = npumem_upcall_init();
	if (err)
		goto err_wq;
	err = npumem_sim_register();
	if (err)
		goto err_upcall;
	return 0;

err_upcall:
	npumem_upcall_exit();
err_wq:
	devices_wait();
	return err;
}

static void __exit npumem_exit(void)
{
	npumem_sim_unregister();
	npumem_upcall_exit();
	devices_wait();
}

module_init(npumem_init);
module_exit(npumem_exit);

MODULE_DESCRIPTION("Memory management for neural accelerators");
MODULE_AUTHOR("npumem maintainers");
MODULE_LICENSE("GPL");
