// SPDX-License-Identifier: GPL-2.0-only
/*
 * An exporter of dma-bufs that is as awkward as exporters may be: vmap is I/O memory, CPU
 * and device see different bytes until an access is announced, nothing but reading, or
 * nothing at all, is allowed, DMA mappings are short or take their time. It counts what
 * importers do. And a file to be mapped whose pages never come.
 */
#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "npumem_test_exporter.h"

/*
 * struct exporter - one open file and its dma-buf
 * @ref: the file and the dma-buf hold one each
 * @lock: guards the following
 * @buf: or NULL; referenced
 * @held: the mapping of EXPORTER_VMAPPED
 * @flags: of EXPORTER_CREATE
 * @device: bytes as a device sees them
 * @cpu: bytes as the CPU sees them
 * @readers, @writers: accesses under way
 * @counts: see there
 * @go: of EXPORTER_GO; not guarded
 */
struct exporter {
	struct kref ref;
	struct mutex lock;
	struct dma_buf *buf;
	struct iosys_map held;
	u32 flags;
	u8 *device;
	u8 *cpu;
	int readers, writers;
	struct exporter_counts counts;
	struct completion go;
};

static void exporter_release(struct kref *ref)
{
	struct exporter *exporter = container_of(ref, struct exporter, ref);

	vfree(exporter->device);
	vfree(exporter->cpu);
	kfree(exporter);
}

static struct sg_table *exporter_table(const struct exporter *exporter)
{
	u32 size = exporter->flags & EXPORTER_SHORT ? PAGE_SIZE : EXPORTER_SIZE;
	struct page *pages[DIV_ROUND_UP(EXPORTER_SIZE, PAGE_SIZE)];
	struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	unsigned int i, count = DIV_ROUND_UP(size, PAGE_SIZE);
	int err;

	if (!table)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < count; i++)
		pages[i] = vmalloc_to_page(exporter->device + i * PAGE_SIZE);
	err = sg_alloc_table_from_pages(table, pages, count, 0, size, GFP_KERNEL);
	if (!err)
		return table;
	kfree(table);
	return ERR_PTR(err);
}

static void exporter_table_free(struct sg_table *table)
{
	sg_free_table(table);
	kfree(table);
}

static struct sg_table *exporter_map(struct dma_buf_attachment *attach,
				     enum dma_data_direction direction)
{
	struct exporter *exporter = attach->dmabuf->priv;
	struct sg_table *table;
	int err;

	mutex_lock(&exporter->lock);
	exporter->counts.maps++;
	mutex_unlock(&exporter->lock);
	if (exporter->flags & EXPORTER_NO_MAP)
		return ERR_PTR(-(long)(exporter->flags / EXPORTER_ERRNO(1)));
	if (direction != DMA_TO_DEVICE && exporter->flags & EXPORTER_READ_ONLY)
		return ERR_PTR(-EACCES);
	if (exporter->flags & EXPORTER_SLOW && wait_for_completion_killable(&exporter->go))
		return ERR_PTR(-EINTR);
	table = exporter_table(exporter);
	if (IS_ERR(table))
		return table;
	err = dma_map_sgtable(attach->dev, table, direction, 0);
	if (!err)
		return table;
	exporter_table_free(table);
	return ERR_PTR(err);
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			   enum dma_data_direction direction)
{
	struct exporter *exporter = attach->dmabuf->priv;

	mutex_lock(&exporter->lock);
	exporter->counts.unmaps++;
	mutex_unlock(&exporter->lock);
	dma_unmap_sgtable(attach->dev, table, direction, 0);
	exporter_table_free(table);
}

static int exporter_begin(struct dma_buf *buf, enum dma_data_direction direction)
{
	struct exporter *exporter = buf->priv;
	bool read = direction == DMA_FROM_DEVICE;

	if (exporter->flags & EXPORTER_NO_ACCESS)
		return -(int)(exporter->flags / EXPORTER_ERRNO(1));
	if (!read && exporter->flags & EXPORTER_READ_ONLY)
		return -EACCES;
	mutex_lock(&exporter->lock);
	read ? exporter->counts.begin_read++ : exporter->counts.begin_write++;
	/* Invalidate. */
	if (!exporter->readers && !exporter->writers)
		memcpy(exporter->cpu, exporter->device, EXPORTER_SIZE);
	read ? exporter->readers++ : exporter->writers++;
	mutex_unlock(&exporter->lock);
	return 0;
}

static int exporter_end(struct dma_buf *buf, enum dma_data_direction direction)
{
	struct exporter *exporter = buf->priv;
	bool read = direction == DMA_FROM_DEVICE;

	mutex_lock(&exporter->lock);
	read ? exporter->counts.end_read++ : exporter->counts.end_write++;
	if ((read ? exporter->readers-- : exporter->writers--) <= 0)
		exporter->counts.nested++;
	/* Write back. */
	if (!read)
		memcpy(exporter->device, exporter->cpu, EXPORTER_SIZE);
	mutex_unlock(&exporter->lock);
	return 0;
}

static int exporter_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *exporter = buf->priv;

	exporter->counts.vmaps++;
	if (exporter->flags & EXPORTER_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem __force *)exporter->cpu);
	else
		iosys_map_set_vaddr(map, exporter->cpu);
	return 0;
}

static void exporter_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *exporter = buf->priv;

	exporter->counts.vunmaps++;
}

static void exporter_free(struct dma_buf *buf)
{
	struct exporter *exporter = buf->priv;

	kref_put(&exporter->ref, exporter_release);
}

static const struct dma_buf_ops exporter_ops = {
	.map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap,
	.begin_cpu_access = exporter_begin,
	.end_cpu_access = exporter_end,
	.vmap = exporter_vmap,
	.vunmap = exporter_vunmap,
	.release = exporter_free,
};

static int exporter_export(struct exporter *exporter, u32 flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;
	int err;

	info.ops = &exporter_ops;
	info.size = EXPORTER_SIZE;
	info.flags = flags & EXPORTER_READ_ONLY ? O_RDONLY : O_RDWR;
	info.priv = exporter;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	kref_get(&exporter->ref);
	exporter->flags = flags;
	if (flags & EXPORTER_VMAPPED) {
		err = dma_buf_vmap_unlocked(buf, &exporter->held);
		if (err) {
			dma_buf_put(buf);
			return err;
		}
	}
	get_dma_buf(buf);
	exporter->buf = buf;
	return dma_buf_fd(buf, O_CLOEXEC);
}

static long exporter_create(struct exporter *exporter, u32 __user *arg)
{
	u32 flags;
	int fd;

	if (get_user(flags, arg))
		return -EFAULT;
	mutex_lock(&exporter->lock);
	fd = exporter->buf ? -EBUSY : exporter_export(exporter, flags);
	mutex_unlock(&exporter->lock);
	return fd < 0 ? fd : put_user(fd, arg);
}

static long exporter_tell(struct exporter *exporter, void __user *arg)
{
	struct exporter_counts counts;

	mutex_lock(&exporter->lock);
	counts = exporter->counts;
	counts.vmapping_counter = exporter->buf ? exporter->buf->vmapping_counter : 0;
	mutex_unlock(&exporter->lock);
	return copy_to_user(arg, &counts, sizeof(counts)) ? -EFAULT : 0;
}

static long exporter_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case EXPORTER_CREATE:
		return exporter_create(file->private_data, (u32 __user *)arg);
	case EXPORTER_COUNTS:
		return exporter_tell(file->private_data, (void __user *)arg);
	case EXPORTER_GO:
		complete_all(&((struct exporter *)file->private_data)->go);
		return 0;
	default:
		return -ENOTTY;
	}
}

static ssize_t exporter_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	struct exporter *exporter = file->private_data;

	return simple_read_from_buffer(to, size, pos, exporter->device, EXPORTER_SIZE);
}

static ssize_t exporter_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	struct exporter *exporter = file->private_data;

	return simple_write_to_buffer(exporter->device, EXPORTER_SIZE, pos, from, size);
}

/* As of a file system whose server is gone: only death ends it. */
static vm_fault_t exporter_fault(struct vm_fault *vmf)
{
	struct exporter *exporter = vmf->vma->vm_file->private_data;

	mutex_lock(&exporter->lock);
	exporter->counts.faults++;
	mutex_unlock(&exporter->lock);
	while (!fatal_signal_pending(current))
		schedule_timeout_killable(MAX_SCHEDULE_TIMEOUT);
	return VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct exporter_vm_ops = {
	.fault = exporter_fault,
};

static int exporter_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &exporter_vm_ops;
	return 0;
}

static int exporter_open(struct inode *inode, struct file *file)
{
	struct exporter *exporter = kzalloc(sizeof(*exporter), GFP_KERNEL);

	if (!exporter)
		return -ENOMEM;
	kref_init(&exporter->ref);
	mutex_init(&exporter->lock);
	init_completion(&exporter->go);
	exporter->device = vzalloc(EXPORTER_SIZE);
	exporter->cpu = vzalloc(EXPORTER_SIZE);
	file->private_data = exporter;
	if (exporter->device && exporter->cpu)
		return 0;
	kref_put(&exporter->ref, exporter_release);
	return -ENOMEM;
}

static int exporter_close(struct inode *inode, struct file *file)
{
	struct exporter *exporter = file->private_data;

	if (exporter->buf) {
		if (exporter->flags & EXPORTER_VMAPPED)
			dma_buf_vunmap_unlocked(exporter->buf, &exporter->held);
		dma_buf_put(exporter->buf);
	}
	kref_put(&exporter->ref, exporter_release);
	return 0;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.open = exporter_open,
	.release = exporter_close,
	.read = exporter_read,
	.write = exporter_write,
	.llseek = default_llseek,
	.mmap = exporter_mmap,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "npumem_test_exporter",
	.fops = &exporter_fops,
};
module_misc_device(exporter_device);

/* Not MODULE_IMPORT_NS(), whose argument became a string. */
MODULE_INFO(import_ns, "DMA_BUF");
MODULE_DESCRIPTION("dma-buf exporter of npumem's tests");
MODULE_LICENSE("GPL");
