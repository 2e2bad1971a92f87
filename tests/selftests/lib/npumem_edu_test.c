// SPDX-License-Identifier: MIT
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "npumem_edu_test.h"

/* Its address on the bus, while the driver has no device. */
static char address[16];

int edu_open(const char *parameters)
{
	/* One that a test before has failed with. */
	npu_module_unload(EDU_MODULE);
	return npu_module_load_with(EDU_MODULE, parameters) ? -1 : npu_open_with(NPUMEM_EDU_NAME);
}

const char *edu_device_file(const char *name)
{
	static char path[256];
	glob_t found;

	path[0] = '\0';
	if (glob(EDU_DRIVER "0000:*", 0, NULL, &found))
		return path;
	snprintf(path, sizeof(path), "%s/%s", found.gl_pathv[0], name);
	globfree(&found);
	return path;
}

int edu_unbind(void)
{
	const char *path = edu_device_file("");

	if (!path[0])
		return -ENODEV;
	snprintf(address, sizeof(address), "%.12s", path + strlen(EDU_DRIVER));
	return npu_write(EDU_DRIVER "unbind", address);
}

int edu_bind(void)
{
	return npu_write(EDU_DRIVER "bind", address);
}

struct drm_npumem_job edu_job(const struct world *w, uint32_t first, uint32_t count, bool copy)
{
	static const struct npumem_edu_command command = { .op = NPUMEM_EDU_STEPS };

	return (struct drm_npumem_job){
		.first_position = first,
		.position_count = count,
		.engine = w->engine,
		.commands = copy ? NPU_BUFFER(command) : NPU_BYTES(NULL, 0),
	};
}

int edu_submit(struct world *w, uint32_t first, uint32_t count, bool copy)
{
	struct drm_npumem_job job = edu_job(w, first, count, copy);
	struct drm_npumem_submit args;

	return world_submit(w, &job, 1, &args);
}

struct model edu_model_bound(void)
{
	struct model m = { 0 };

	model_tensor(&m, NPUMEM_TENSOR_INPUT, EXTERNAL_SIZE);
	model_tensor(&m, NPUMEM_TENSOR_OUTPUT, EXTERNAL_SIZE);
	m.tensors[0].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	m.tensors[1].flags = NPUMEM_TENSOR_FLAG_EXTERNAL;
	model_whole(&m, 0);
	model_whole(&m, 1);
	model_step_rw(&m, 0, 1);
	model_schedule(&m);
	m.info.arena_size = 256;
	return m;
}

int edu_copy_bound(struct world *w, uint32_t from, uint64_t from_offset, uint32_t to,
		   uint64_t to_offset)
{
	int err = world_bind(w, 0, from, from_offset);

	if (!err)
		err = world_bind(w, 1, to, to_offset);
	if (!err)
		err = edu_submit(w, 0, 1, true);
	return err ?: npu_bo_wait(w->fd, to, npu_now() + NPU_PATIENCE_NS);
}

void edu_fill(uint8_t *bytes, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (i * 11 + seed) ^ (i >> 8);
}

bool edu_same(const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (a[i] != b[i])
			printf("# byte %zu is %#x, not %#x\n", i, a[i], b[i]);
	return !memcmp(a, b, size);
}
