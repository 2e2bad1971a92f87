// SPDX-License-Identifier: MIT
/* Syncobjs, by way of libdrm, which restarts on EINTR: times are absolute. */
#include <errno.h>
#include <stdlib.h>
#include <xf86drm.h>

#include "device.h"

int npumem_sync_new(struct npumem_device *device, uint32_t *handle, struct npumem_error *error)
{
	if (!device || !handle)
		return npumem_fail(error, -EINVAL, "npumem_sync_new: NULL argument");
	if (drmSyncobjCreate(device->fd, 0, handle))
		return npumem_fail_errno(error, -errno, "create a syncobj");
	return 0;
}

void npumem_sync_free(struct npumem_device *device, uint32_t handle)
{
	if (device && handle)
		drmSyncobjDestroy(device->fd, handle);
}

/* The kernel says ETIME; the rest of this interface ETIMEDOUT. */
static int timed_out(int err)
{
	return err == -ETIME ? -ETIMEDOUT : err;
}

int npumem_sync_wait_one(const struct npumem_device *device, uint32_t handle, int64_t deadline)
{
	return timed_out(drmSyncobjWait(
		device->fd, &handle, 1, deadline,
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, NULL));
}

int npumem_sync_wait(struct npumem_device *device, const struct drm_npumem_sync *syncs,
		     uint32_t count, int64_t deadline, struct npumem_error *error)
{
	uint32_t *handles;
	uint64_t *points;
	int err;

	if (!device || (count && !syncs))
		return npumem_fail(error, -EINVAL, "npumem_sync_wait: NULL argument");
	if (!count)
		return 0;
	handles = calloc(count, sizeof(*handles));
	points = calloc(count, sizeof(*points));
	if (!handles || !points) {
		err = -ENOMEM;
	} else {
		for (uint32_t i = 0; i < count; i++) {
			handles[i] = syncs[i].handle;
			points[i] = syncs[i].point;
		}
		/* Point 0 of a timeline wait is a binary syncobj. */
		err = timed_out(drmSyncobjTimelineWait(
			device->fd, handles, points, count, deadline,
			DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
			NULL));
	}
	free(handles);
	free(points);
	return err ? npumem_fail_errno(error, err, "wait for %u syncobjs", count) : 0;
}
