// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request fd: a descriptor that the daemon gets for a plan request that it has accepted
 * (npumem_request.h).
 *
 * mmap(), read-only, shows the graph blob and the options; write() and pwrite() put the
 * plan blob in place, and before it that of a graph if the request lets the daemon cut,
 * without holes and up to the largest blobs the verifier takes. The
 * answer is the kernel's own copy and is out of reach once DONE has taken it, so
 * what is verified is what is used. poll() tells when the request is settled, and
 * read() how. The last close of the fd without DONE ends the request; workers may
 * therefore be handed it.
 *
 * A writer may be stuck in a page fault for as long as user space likes. So bytes are
 * copied from user memory, and memory is allocated, with no lock held; answer_lock is
 * held only to put them in their place, and a thread that ends the request waits for no
 * more than that. All memory is charged to the requester.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "request.h"

/*
 * Memory that is charged to the requester's cgroup; NULL if that has no room. The OOM
 * killer is not asked: the requester's processes must not be killed for what the daemon
 * does.
 */
static void *answer_alloc(struct npu_request *req, u64 size)
{
	struct mem_cgroup *memcg = set_active_memcg(req->memcg);
	void *p = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	set_active_memcg(memcg);
	return p;
}

/* Whether bytes may be written at pos: 0 or an errno. Under answer_lock. */
static int answer_check(const struct npu_request *req, loff_t pos)
{
	if (req->answer_closed)
		return -EPIPE;
	/* A write behind the end would leave a hole. */
	return pos < 0 || pos > req->answer_size ? -EINVAL : 0;
}

/* Make a larger buffer the answer's. The old one is left in @buffer, for the caller to free. */
static void answer_grow(struct npu_request *req, u8 **buffer, u64 room)
{
	if (req->answer_size)
		memcpy(*buffer, req->answer, req->answer_size);
	swap(req->answer, *buffer);
	req->answer_room = room;
}

/*
 * Put bytes in their place. Returns zero, an errno, or the bytes of room that the answer
 * needs and does not have. Afterwards the caller frees what is in bytes and buffer.
 */
static ssize_t answer_splice(struct npu_request *req, u8 **bytes, u64 count, loff_t pos,
			     u8 **buffer, u64 room)
{
	ssize_t ret;

	guard(mutex)(&req->answer_lock);
	ret = answer_check(req, pos);
	if (ret)
		return ret;
	if (!pos && count >= req->answer_size) {
		/* One write brings the whole answer, as it mostly does: no copy. */
		swap(req->answer, *bytes);
		req->answer_room = count;
		req->answer_size = count;
		return 0;
	}
	if (pos + count > req->answer_room) {
		ret = roundup_pow_of_two(max_t(u64, pos + count, PAGE_SIZE));
		if (room < ret)
			return ret;
		answer_grow(req, buffer, room);
	}
	memcpy(req->answer + pos, *bytes, count);
	req->answer_size = max_t(u64, req->answer_size, pos + count);
	return 0;
}

static ssize_t answer_put(struct npu_request *req, u8 **bytes, u64 count, loff_t pos)
{
	u8 *buffer = NULL;
	ssize_t ret = 0;
	u64 room;

	/* There is one more round at most, unless others write at the same time. */
	do {
		room = ret;
		kvfree(buffer);
		buffer = NULL;
		if (room) {
			buffer = answer_alloc(req, room);
			if (!buffer)
				return -ENOMEM;
		}
		ret = answer_splice(req, bytes, count, pos, &buffer, room);
	} while (ret > 0);
	kvfree(buffer);
	return ret;
}

static ssize_t request_write(struct file *file, const char __user *user, size_t count, loff_t *pos)
{
	struct npu_request *req = file->private_data;
	u64 limit = npuv_default_limits.max_blob * (req->cut ? 2 : 1);
	ssize_t ret;
	u8 *bytes;

	mutex_lock(&req->answer_lock);
	ret = answer_check(req, *pos);
	mutex_unlock(&req->answer_lock);
	if (ret)
		return ret;
	/* The write goes as a whole or not at all: a plan cut short is of no use. */
	if (count > limit - *pos)
		return -EFBIG;
	if (!count)
		return 0;
	bytes = answer_alloc(req, count);
	if (!bytes)
		return -ENOMEM;
	if (copy_from_user(bytes, user, count))
		ret = -EFAULT;
	else
		ret = answer_put(req, &bytes, count, *pos);
	kvfree(bytes);
	if (ret)
		return ret;
	*pos += count;
	return count;
}

void *npumem_request_take_answer(struct npu_request *req, u64 *size)
{
	void *answer;

	guard(mutex)(&req->answer_lock);
	answer = req->answer;
	*size = req->answer_size;
	req->answer = NULL;
	req->answer_size = 0;
	req->answer_room = 0;
	req->answer_closed = true;
	return answer;
}

static bool request_settled(const struct npu_request *req)
{
	/* The outcome was written before @settled, and is read after it. */
	return smp_load_acquire(&req->settled);
}

static __poll_t request_poll(struct file *file, poll_table *table)
{
	struct npu_request *req = file->private_data;

	poll_wait(file, &req->wait, table);
	if (!request_settled(req))
		return EPOLLOUT | EPOLLWRNORM;
	return EPOLLIN | EPOLLRDNORM | (req->answered ? 0 : EPOLLHUP);
}

static ssize_t request_read(struct file *file, char __user *user, size_t count, loff_t *pos)
{
	struct npu_request *req = file->private_data;
	struct npumem_request_outcome *outcome;
	int err;

	if (!request_settled(req)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(req->wait, request_settled(req));
		if (err)
			return err;
	}
	outcome = kzalloc(sizeof(*outcome), GFP_KERNEL);
	if (!outcome)
		return -ENOMEM;
	outcome->status = req->error;
	outcome->verdict = req->verdict;
	strscpy(outcome->message, req->reason ?: "", sizeof(outcome->message));
	count = min(count, sizeof(*outcome));
	err = copy_to_user(user, outcome, count) ? -EFAULT : 0;
	kfree(outcome);
	return err ?: count;
}

/* A page of what the fd shows: of the graph, or, behind it, of the options. */
static struct page *shown_page(const struct npu_request *req, unsigned long graph_pages,
			       unsigned long page)
{
	if (page < graph_pages)
		return vmalloc_to_page(req->graph->blob + (page << PAGE_SHIFT));
	return vmalloc_to_page(req->options + ((page - graph_pages) << PAGE_SHIFT));
}

/* Like remap_vmalloc_range(), but for memory that vmalloc_user() did not make (object/graph.c). */
static int request_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct npu_request *req = file->private_data;
	unsigned long graph_pages = PAGE_ALIGN(req->graph->size) >> PAGE_SHIFT;
	unsigned long pages = graph_pages + (PAGE_ALIGN(req->options_size) >> PAGE_SHIFT);
	unsigned long page, address;
	int err;

	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (vma->vm_pgoff >= pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	page = vma->vm_pgoff;
	for (address = vma->vm_start; address < vma->vm_end; address += PAGE_SIZE) {
		err = vm_insert_page(vma, address, shown_page(req, graph_pages, page));
		if (err)
			return err;
		page++;
	}
	return 0;
}

static int request_release(struct inode *inode, struct file *file)
{
	struct npu_request *req = file->private_data;

	npumem_request_closed(req, file);
	npumem_request_put(req);
	return 0;
}

static const struct file_operations npumem_request_fops = {
	.owner = THIS_MODULE,
	.read = request_read,
	.write = request_write,
	.poll = request_poll,
	.mmap = request_mmap,
	.release = request_release,
};

struct file *npumem_request_file(struct npu_request *req)
{
	struct file *file;

	npumem_request_get(req);
	file = anon_inode_getfile_fmode("[npumem-request]", &npumem_request_fops, req, O_RDWR,
					FMODE_PWRITE);
	if (IS_ERR(file))
		npumem_request_put(req);
	return file;
}
