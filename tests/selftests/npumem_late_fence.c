// SPDX-License-Identifier: MIT
/*
 * Holds the sync_file of a job that is done, and nothing else of the device; and
 * when a line comes in, after whatever became of the driver meanwhile, asks whose
 * it is, as any process may that was handed one. For npumem_unload.sh.
 */
#include <linux/sync_file.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <xf86drm.h>

#include "npumem_world.h"

/* The sync_file of a chain's first step, or -1. */
static int job_done(void)
{
	struct model m = model_chain();
	struct drm_npumem_sync out = { 0 };
	struct drm_npumem_job job;
	struct drm_npumem_submit args = {
		.jobs = NPU_ARRAY(&job, 1),
		.out_syncs = NPU_ARRAY(&out, 1),
	};
	int fd = npu_open(), file = -1;
	struct world w;

	if (fd < 0 || world_open(&w, fd, &m))
		return -1;
	job = world_job(&w, CHAIN_COPY, NPUMEM_SIM_COPY, 0);
	args.run = w.run;
	out.handle = npu_syncobj(fd);
	if (npu_ioctl(fd, DRM_IOCTL_NPUMEM_SUBMIT, &args) || world_wait(&w) ||
	    drmSyncobjExportSyncFile(fd, out.handle, &file))
		file = -1;
	world_close(&w);
	model_free(&m);
	close(fd);
	return file;
}

int main(void)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	int file = job_done();

	if (file < 0)
		return 1;
	printf("ready\n");
	fflush(stdout);
	getchar();
	if (ioctl(file, SYNC_IOC_FILE_INFO, &info))
		return 1;
	printf("driver '%.32s', timeline '%.32s', status %d\n", fence.driver_name, fence.obj_name,
	       fence.status);
	/* The scheduler's name for it is in the scheduler's memory. */
	return fence.status != 1 || !strcmp(fence.driver_name, "drm_sched");
}
