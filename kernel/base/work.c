// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>

#include "work.h"

struct workqueue_struct *npumem_wq;

int npumem_work_init(void)
{
	npumem_wq = alloc_workqueue("npumem", WQ_UNBOUND, 0);
	return npumem_wq ? 0 : -ENOMEM;
}

void npumem_work_exit(void)
{
	destroy_workqueue(npumem_wq);
}
