// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another driver's fence, which signals when its maker says so or never:
 * /dev/npumem_test_fence has one per open file, given out as sync_file by read(), and
 * signalled when the file is closed.
 */
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

/* The module is held by whoever has one: it need not outlive it. */
struct test_fence {
	struct dma_fence base;
	spinlock_t lock;
};

static const char *test_fence_name(struct dma_fence *fence)
{
	return "npumem_test_fence";
}

static void test_fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops test_fence_ops = {
	.get_driver_name = test_fence_name,
	.get_timeline_name = test_fence_name,
	.release = test_fence_release,
};

static int fence_open(struct inode *inode, struct file *file)
{
	struct test_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return -ENOMEM;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &test_fence_ops, &fence->lock, dma_fence_context_alloc(1), 1);
	file->private_data = &fence->base;
	return 0;
}

static int fence_close(struct inode *inode, struct file *file)
{
	struct dma_fence *fence = file->private_data;

	dma_fence_signal(fence);
	dma_fence_put(fence);
	return 0;
}

static ssize_t fence_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct sync_file *sync;

	if (fd < 0)
		return fd;
	sync = sync_file_create(file->private_data);
	if (!sync || size != sizeof(fd) || copy_to_user(to, &fd, sizeof(fd))) {
		put_unused_fd(fd);
		if (sync)
			fput(sync->file);
		return sync ? -EINVAL : -ENOMEM;
	}
	fd_install(fd, sync->file);
	return sizeof(fd);
}

static const struct file_operations fence_fops = {
	.owner = THIS_MODULE,
	.open = fence_open,
	.release = fence_close,
	.read = fence_read,
	.llseek = noop_llseek,
};

static struct miscdevice fence_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "npumem_test_fence",
	.fops = &fence_fops,
};
module_misc_device(fence_device);

MODULE_DESCRIPTION("Foreign fences of npumem's tests");
MODULE_LICENSE("GPL");
