// SPDX-License-Identifier: GPL-2.0-only
/*
 * Request fd: what the daemon gets for an accepted plan request.
 *
 * mmap(), read-only, shows the graph blob; write() and pwrite() put the plan blob
 * in place, without holes and up to the largest blob the verifier takes. The
 * answer is the kernel's own copy and is out of reach once DONE has taken it, so
 * what is verified is what is used. The last close of the fd without DONE ends
 * the request; workers may therefore be handed it.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "upcall_request.h"

#define NPUMEM_ANSWER_MIN_ROOM PAGE_SIZE

/* Room for the answer to grow to size bytes. */
static int npumem_answer_reserve(struct npumem_request *req, u64 size)
{
	u64 room = max_t(u64, req->answer_room, NPUMEM_ANSWER_MIN_ROOM);
	void *answer;

	if (size <= req->answer_room)
		return 0;
	while (room < size)
		room *= 2;
	answer = kvrealloc(req->answer, room, GFP_KERNEL_ACCOUNT);
	if (!answer)
		return -ENOMEM;
	req->answer = answer;
	req->answer_room = room;
	return 0;
}

static ssize_t npumem_request_write(struct file *file, const char __user *user, size_t count,
				    loff_t *pos)
{
	struct npumem_request *req = file->private_data;
	u64 limit = npuv_default_limits.max_blob;
	ssize_t ret;

	mutex_lock(&req->answer_lock);
	ret = -EPIPE;
	if (req->answer_closed)
		goto unlock;
	ret = -EINVAL;
	if (*pos < 0 || *pos > req->answer_size)
		goto unlock;
	/* All or nothing: a plan cut short is of no use to anybody. */
	ret = -EFBIG;
	if (count > limit - *pos)
		goto unlock;
	ret = npumem_answer_reserve(req, *pos + count);
	if (ret || !count)
		goto unlock;
	ret = -EFAULT;
	if (copy_from_user(req->answer + *pos, user, count))
		goto unlock;
	*pos += count;
	req->answer_size = max_t(u64, req->answer_size, *pos);
	ret = count;
unlock:
	mutex_unlock(&req->answer_lock);
	return ret;
}

void *npumem_request_take_answer(struct npumem_request *req, u64 *size)
{
	void *answer;

	mutex_lock(&req->answer_lock);
	answer = req->answer;
	*size = req->answer_size;
	req->answer = NULL;
	req->answer_size = 0;
	req->answer_room = 0;
	req->answer_closed = true;
	mutex_unlock(&req->answer_lock);
	return answer;
}

/* remap_vmalloc_range() for memory that is not vmalloc_user()'s: see graph.c. */
static int npumem_request_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct npumem_request *req = file->private_data;
	unsigned long pages = PAGE_ALIGN(req->graph->size) >> PAGE_SHIFT;
	unsigned long page, address;
	int err;

	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (vma->vm_pgoff >= pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	page = vma->vm_pgoff;
	for (address = vma->vm_start; address < vma->vm_end; address += PAGE_SIZE) {
		err = vm_insert_page(vma, address,
				     vmalloc_to_page(req->graph->blob + (page << PAGE_SHIFT)));
		if (err)
			return err;
		page++;
	}
	return 0;
}

static int npumem_request_release(struct inode *inode, struct file *file)
{
	struct npumem_request *req = file->private_data;

	npumem_request_closed(req, file);
	npumem_request_put(req);
	return 0;
}

static const struct file_operations npumem_request_fops = {
	.owner = THIS_MODULE,
	.write = npumem_request_write,
	.mmap = npumem_request_mmap,
	.release = npumem_request_release,
};

struct file *npumem_request_file(struct npumem_request *req)
{
	struct file *file;

	npumem_request_get(req);
	file = anon_inode_getfile_fmode("[npumem-request]", &npumem_request_fops, req, O_RDWR,
					FMODE_PWRITE);
	if (IS_ERR(file))
		npumem_request_put(req);
	return file;
}
