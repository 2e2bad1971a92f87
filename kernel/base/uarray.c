// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: arrays, blobs and logs of user memory
 *
 * Whatever comes from user memory is copied once into kernel memory and looked
 * at only there: another thread may change it at any time. Sizes are checked
 * against their caps before anything is allocated for them, and what is
 * allocated is charged to the caller.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "drv.h"

/* The largest record that a newer program may pass, whatever the size of a page. */
#define MAX_STRIDE 4096

/* An array without records may have a zero pointer and stride; nothing else may be missing. */
static bool is_empty_array(const struct drm_npumem_array *array)
{
	return !array->count && !array->stride && !array->ptr;
}

void *npumem_array_copy(const struct drm_npumem_array *array, size_t size, u32 max_count)
{
	void *copy;
	u32 i;
	int err;

	if (is_empty_array(array))
		return NULL;
	if (array->count > max_count || array->stride > MAX_STRIDE)
		return ERR_PTR(-E2BIG);
	if (array->stride < size || array->stride % 8 || array->ptr % 8)
		return ERR_PTR(-EINVAL);
	if (!array->count)
		return NULL;
	if (!array->ptr)
		return ERR_PTR(-EINVAL);
	copy = kvmalloc_array(array->count, size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < array->count; i++) {
		/* The product is below MAX_STRIDE * max_count. */
		err = copy_struct_from_user(copy + i * size, size,
					    u64_to_user_ptr(array->ptr + (u64)i * array->stride),
					    array->stride);
		if (err) {
			kvfree(copy);
			return ERR_PTR(err);
		}
	}
	return copy;
}

void *npumem_blob_copy(u64 ptr, u64 size)
{
	void *blob;

	if (size > npuv_default_limits.max_blob)
		return ERR_PTR(-E2BIG);
	/* An empty blob is a blob, too: the verifier will say what is wrong with it. */
	blob = kvmalloc(max_t(u64, size, 8),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!blob)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(blob, u64_to_user_ptr(ptr), size)) {
		kvfree(blob);
		return ERR_PTR(-EFAULT);
	}
	return blob;
}

int npumem_log_begin(struct npu_log_user *log, struct drm_npumem_log *user)
{
	char *buf = NULL;

	user->true_size = 0;
	if (user->pad || user->level > 2)
		return -EINVAL;
	if (!user->level && (user->size || user->ptr))
		return -EINVAL;
	if (user->size > NPUMEM_MAX_LOG)
		return -E2BIG;
	if (user->size) {
		buf = kvzalloc(user->size, GFP_KERNEL_ACCOUNT);
		if (!buf)
			return -ENOMEM;
	}
	log->user = user;
	npuv_log_init(&log->log, user->level, buf, user->size);
	return 0;
}

int npumem_log_end(struct npu_log_user *log, int err)
{
	struct npuv_log *l = &log->log;
	u32 size;

	if (l->level) {
		log->user->true_size = l->used + 1;
		size = min(l->size, l->used + 1);
		if (size && copy_to_user(u64_to_user_ptr(log->user->ptr), l->buf, size) && !err)
			err = -EFAULT;
	}
	kvfree(l->buf);
	l->buf = NULL;
	return err;
}
