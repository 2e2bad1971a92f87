// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: arrays, buffers, verdicts and logs of user memory
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
	if (array->count > max_count || array->stride > NPUMEM_MAX_RECORD)
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
		/* The product is below NPUMEM_MAX_RECORD * max_count. */
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

int npumem_buffer_check(const struct drm_npumem_buffer *buffer, u64 max)
{
	if (!buffer->ptr && buffer->size)
		return -EINVAL;
	return buffer->size > max ? -E2BIG : 0;
}

int npumem_room_check(struct drm_npumem_buffer *buffer, u64 max)
{
	if (!buffer->ptr)
		buffer->size = 0;
	return buffer->size > max ? -E2BIG : 0;
}

/* Write the first @given bytes of @data to a buffer, and zeros behind them. */
static int user_fill(u64 ptr, u64 room, const void *data, u64 given)
{
	void __user *user = u64_to_user_ptr(ptr);

	if (copy_to_user(user, data, given) || clear_user(user + given, room - given))
		return -EFAULT;
	return 0;
}

int npumem_buffer_give(struct drm_npumem_buffer *buffer, const void *data, u64 size)
{
	u64 room = buffer->size;

	buffer->size = size;
	return buffer->ptr ? user_fill(buffer->ptr, room, data, min(room, size)) : 0;
}

int npumem_text_give(struct drm_npumem_buffer *buffer, const char *text)
{
	u64 room = buffer->size, length = text ? strlen(text) : 0;

	buffer->size = length + 1;
	if (!buffer->ptr || !room)
		return 0;
	/* One byte is kept for its NUL. */
	return user_fill(buffer->ptr, room, text, min(room - 1, length));
}

int npumem_verdict_begin(struct npu_verdict_user *v, struct drm_npumem_buffer *user)
{
	int err = npumem_room_check(user, NPUMEM_MAX_RECORD);

	if (err)
		return err;
	memset(&v->verdict, 0, sizeof(v->verdict));
	v->ptr = user->ptr;
	v->room = user->size;
	v->fault = v->ptr ? user_fill(v->ptr, v->room, NULL, 0) : 0;
	user->size = sizeof(v->verdict);
	return 0;
}

int npumem_verdict_end(struct npu_verdict_user *v, int err)
{
	if (err && v->verdict.rule && v->ptr && !v->fault)
		v->fault = user_fill(v->ptr, v->room, &v->verdict,
				     min(v->room, (u64)sizeof(v->verdict)));
	return err ?: v->fault;
}

void *npumem_blob_copy(const struct drm_npumem_buffer *user)
{
	u64 size = user->size;
	void *blob;
	int err;

	err = npumem_buffer_check(user, npuv_default_limits.max_blob);
	if (err)
		return ERR_PTR(err);
	/* An empty blob is a blob, too: the verifier will say what is wrong with it. */
	blob = kvmalloc(max_t(u64, size, 8),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!blob)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(blob, u64_to_user_ptr(user->ptr), size)) {
		kvfree(blob);
		return ERR_PTR(-EFAULT);
	}
	return blob;
}

int npumem_log_begin(struct npu_log_user *log, struct drm_npumem_log *user)
{
	char *buf = NULL;
	u64 size;
	int err;

	if (user->pad || user->level > 2)
		return -EINVAL;
	if (!user->level && (user->text.size || user->text.ptr))
		return -EINVAL;
	err = npumem_room_check(&user->text, NPUMEM_MAX_LOG);
	if (err)
		return err;
	size = user->text.size;
	if (size) {
		buf = kvzalloc(size, GFP_KERNEL_ACCOUNT);
		if (!buf)
			return -ENOMEM;
	}
	log->user = &user->text;
	npuv_log_init(&log->log, user->level, buf, size);
	return 0;
}

int npumem_log_end(struct npu_log_user *log, int err)
{
	struct npuv_log *l = &log->log;
	int fault = 0;

	if (l->level) {
		/* It is as long as the user's buffer, and zero behind the text. */
		if (l->buf)
			fault = user_fill(log->user->ptr, l->size, l->buf, l->size);
		log->user->size = l->used + 1;
	}
	kvfree(l->buf);
	l->buf = NULL;
	return err ?: fault;
}
