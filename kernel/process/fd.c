// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptor of an attachment: npumem_engine.h.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <drm/drm_utils.h>

#include "process.h"

/* -ENODEV, or -ESTALE if a task is not in the engine's hands. Under slot->lock. */
static int check_fetched(const struct npu_attachment *att, u64 task)
{
	if (!npumem_attachment_attached(att))
		return -ENODEV;
	return att->state == NPUMEM_TASK_FETCHED && att->next.task == task ? 0 : -ESTALE;
}

/* Whoever comes for more has nothing in his hands any more that has failed. */
static int attachment_commit(struct npu_attachment *att, u64 task, u32 status)
{
	struct npu_slot *slot = att->slot;
	bool away;
	int err = 0;

	spin_lock(&slot->lock);
	away = att->away;
	att->away = false;
	if (task) {
		err = check_fetched(att, task);
		if (!err) {
			att->status = status;
			att->state = NPUMEM_TASK_COMMITTED;
		}
	}
	spin_unlock(&slot->lock);
	if (away || (task && !err))
		wake_up_all(&slot->wait);
	return err;
}

/* 1: a task; 0: none yet; -ENODEV. */
static int attachment_fetch(struct npu_attachment *att, struct npumem_engine_next *next)
{
	s64 deadline_ns = next->deadline_ns;
	int state = 0;

	spin_lock(&att->slot->lock);
	if (!npumem_attachment_attached(att)) {
		state = -ENODEV;
	} else if (att->state == NPUMEM_TASK_READY) {
		att->state = NPUMEM_TASK_FETCHED;
		att->alive_at = jiffies;
		*next = att->next;
		next->deadline_ns = deadline_ns;
		state = 1;
	}
	spin_unlock(&att->slot->lock);
	return state;
}

/* It was not told of what it has fetched. */
static void attachment_unfetch(struct npu_attachment *att, u64 task)
{
	spin_lock(&att->slot->lock);
	if (!check_fetched(att, task))
		att->state = NPUMEM_TASK_READY;
	spin_unlock(&att->slot->lock);
}

static int attachment_wait(struct npu_attachment *att, s64 deadline_ns,
			   struct npumem_engine_next *next)
{
	long left = drm_timeout_abs_to_jiffies(deadline_ns);
	int state = attachment_fetch(att, next);

	if (!state && left)
		left = wait_event_interruptible_timeout(
			att->wait, (state = attachment_fetch(att, next)), left);
	if (state)
		return state < 0 ? state : 0;
	/* If it is restarted, with what we give back, nothing is committed twice. */
	return left < 0 ? left : -ETIMEDOUT;
}

static int attachment_next(struct npu_attachment *att, struct npumem_engine_next *next)
{
	bool only = next->flags & NPUMEM_NEXT_COMMIT_ONLY;
	int err;

	if (next->flags & ~NPUMEM_NEXT_COMMIT_ONLY || next->status > MAX_ERRNO)
		return -EINVAL;
	if ((next->status || only) && !next->commit)
		return -EINVAL;
	err = attachment_commit(att, next->commit, next->status);
	if (err)
		return err;
	next->commit = 0;
	next->status = 0;
	next->task = 0;
	if (only)
		return 0;
	return attachment_wait(att, next->deadline_ns, next);
}

static long ioctl_next(struct npu_attachment *att, void __user *user)
{
	struct npumem_engine_next next;
	int err;

	if (copy_from_user(&next, user, sizeof(next)))
		return -EFAULT;
	err = attachment_next(att, &next);
	if (!copy_to_user(user, &next, sizeof(next)))
		return err;
	if (!err && next.task)
		attachment_unfetch(att, next.task);
	return -EFAULT;
}

static long ioctl_alive(struct npu_attachment *att, void __user *user)
{
	struct npumem_engine_alive alive;
	int err;

	if (copy_from_user(&alive, user, sizeof(alive)))
		return -EFAULT;
	spin_lock(&att->slot->lock);
	err = check_fetched(att, alive.task);
	if (!err)
		att->alive_at = jiffies;
	spin_unlock(&att->slot->lock);
	return err;
}

static long attachment_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	struct npu_attachment *att = file->private_data;

	switch (request) {
	case NPUMEM_IOCTL_ENGINE_NEXT:
		return ioctl_next(att, (void __user *)arg);
	case NPUMEM_IOCTL_ENGINE_ALIVE:
		return ioctl_alive(att, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static __poll_t attachment_poll(struct file *file, poll_table *table)
{
	struct npu_attachment *att = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &att->wait, table);
	spin_lock(&att->slot->lock);
	if (!npumem_attachment_attached(att))
		events = EPOLLHUP;
	else if (att->state == NPUMEM_TASK_READY)
		events = EPOLLIN | EPOLLRDNORM;
	spin_unlock(&att->slot->lock);
	return events;
}

static int attachment_close(struct inode *inode, struct file *file)
{
	struct npu_attachment *att = file->private_data;

	npumem_attachment_detach(att);
	npumem_attachment_put(att);
	return 0;
}

static const struct file_operations attachment_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = attachment_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = attachment_poll,
	.release = attachment_close,
};

struct file *npumem_attachment_file(struct npu_attachment *att)
{
	return anon_inode_getfile("[npumem-engine]", &attachment_fops, att, O_RDWR);
}
