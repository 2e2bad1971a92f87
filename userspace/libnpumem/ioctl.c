// SPDX-License-Identifier: MIT
/*
 * The one way into the driver.
 *
 * drmIoctl() restarts on EINTR and EAGAIN whatever was asked. Here:
 *
 * - EAGAIN is an error like any other: the driver never returns it.
 * - EINTR means that the driver did nothing (npumem_drm.h), so creating, asking,
 *   submitting and waiting (times are absolute) are restarted. Structs are
 *   copied back on failure too, so the arguments are put back first.
 * - Destroying is not restarted. The handle would be gone if the driver were
 *   wrong about having done nothing, and might by then be another thread's: a
 *   leaked handle, which the driver drops at close, is the smaller evil. It is
 *   why close(2) is not restarted either.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#include "device.h"

static bool may_restart(unsigned long request)
{
	switch (request) {
	case DRM_IOCTL_NPUMEM_GRAPH_DESTROY:
	case DRM_IOCTL_NPUMEM_PLAN_DESTROY:
	case DRM_IOCTL_NPUMEM_RUN_DESTROY:
		return false;
	default:
		return true;
	}
}

int npumem_ioctl(const struct npumem_device *device, unsigned long request, void *argument)
{
	/* The largest struct is well below; _IOC_SIZE is a constant per request. */
	unsigned char before[256];
	size_t size = _IOC_SIZE(request);

	_Static_assert(sizeof(struct drm_npumem_plan_read) <= sizeof(before) &&
			       sizeof(struct drm_npumem_submit) <= sizeof(before) &&
			       sizeof(struct drm_npumem_plan_load) <= sizeof(before),
		       "argument structs fit the copy");
	if (size > sizeof(before))
		return -EINVAL;
	memcpy(before, argument, size);
	while (ioctl(device->fd, request, argument) < 0) {
		if (errno != EINTR || !may_restart(request))
			return -errno;
		memcpy(argument, before, size);
	}
	return 0;
}

int npumem_call(const struct npumem_device *device, unsigned long request, void *argument,
		struct npumem_error *error, const char *what)
{
	int err = npumem_ioctl(device, request, argument);

	return err ? npumem_fail_errno(error, err, "%s", what) : 0;
}
