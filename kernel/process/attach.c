// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attachments: from ENGINE_ATTACH until the descriptor is closed, the device goes, or the engine
 * does not come back.
 *
 * The window is a system BO of the process's, which maps it as it does others. It is mapped
 * into the kernel, and so stays in memory, from the beginning. Its bytes count as
 * kernel memory of the user's, since they cannot be swapped out.
 *
 * An engine that serves one file alone can do no more to its runs than their client
 * can, so whoever has the file open may attach one. A shared one sees tiles of all clients,
 * and what it computes is what they get: that takes CAP_SYS_ADMIN.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "base/client.h"
#include "base/compat.h"
#include "base/work.h"
#include "job/engine.h"
#include "process.h"

#define MAX_WINDOW SZ_256M

/* ------------------------------------------------------------------------ life */

static void attachment_release_work(struct work_struct *work)
{
	struct npu_attachment *att = container_of(work, struct npu_attachment, release);
	struct npu_device *dev = att->dev;

	drm_gem_vunmap(&att->window->shmem.base, &att->map);
	atomic_set(&att->window->host, 0);
	npumem_bo_put(att->window);
	npumem_client_uncharge(att->client, NPUMEM_RESOURCE_MEMORY, att->size);
	npumem_client_uncharge(att->client, NPUMEM_RESOURCE_ENGINES, 1);
	npumem_client_put(att->client);
	npumem_slot_put(att->slot);
	kfree(att);
	drm_dev_put(&dev->drm);
}

/* The work of a slot drops references where a fence waits for it. */
static void attachment_release(struct kref *ref)
{
	queue_work(npumem_wq, &container_of(ref, struct npu_attachment, ref)->release);
}

void npumem_attachment_put(struct npu_attachment *att)
{
	kref_put(&att->ref, attachment_release);
}

void npumem_attachment_detach(struct npu_attachment *att)
{
	struct npu_slot *slot = att->slot;
	bool attached;

	spin_lock(&slot->lock);
	attached = npumem_attachment_attached(att);
	list_del_init(&att->node);
	spin_unlock(&slot->lock);
	if (!attached)
		return;
	wake_up_all(&att->wait);
	wake_up_all(&slot->wait);
	npumem_attachment_put(att);
}

static struct npu_attachment *attachment_of(struct npu_slot *slot, const struct npu_file *file)
{
	struct npu_attachment *att;

	list_for_each_entry(att, &slot->attachments, node)
		if (att->file == file)
			return att;
	return NULL;
}

struct npu_attachment *npumem_attachment_for(struct npu_slot *slot, const struct npu_file *file)
{
	return attachment_of(slot, file) ?: attachment_of(slot, NULL);
}

struct npu_attachment *npumem_attachment_get(struct npu_slot *slot, u64 id)
{
	struct npu_attachment *att, *found = NULL;

	spin_lock(&slot->lock);
	list_for_each_entry(att, &slot->attachments, node)
		if (att->id == id)
			found = att;
	if (found)
		kref_get(&found->ref);
	spin_unlock(&slot->lock);
	return found;
}

static struct npu_attachment *attachment_any(struct npu_slot *slot, const struct npu_file *file)
{
	struct npu_attachment *att;

	spin_lock(&slot->lock);
	if (file)
		att = attachment_of(slot, file);
	else
		att = list_first_entry_or_null(&slot->attachments, struct npu_attachment, node);
	if (att)
		kref_get(&att->ref);
	spin_unlock(&slot->lock);
	return att;
}

void npumem_attachments_detach(struct npu_slot *slot, const struct npu_file *file)
{
	struct npu_attachment *att;

	while ((att = attachment_any(slot, file))) {
		npumem_attachment_detach(att);
		npumem_attachment_put(att);
	}
}

void npumem_process_release_file(struct npu_file *file)
{
	struct npu_device *dev = file->dev;
	struct npu_slot *slot;
	u32 i;
	int idx;

	/* Or they are detached, and the slots may be gone. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return;
	for (i = 0; i < dev->engine_count; i++) {
		slot = npumem_slot_of(dev->engines[i]);
		if (slot)
			npumem_attachments_detach(slot, file);
	}
	drm_dev_exit(idx);
}

/* ---------------------------------------------------------------------- attach */

static int check_args(struct drm_device *drm, const struct drm_npumem_engine_attach *args)
{
	size_t length = strnlen(args->name, sizeof(args->name));

	if (args->flags & ~NPUMEM_ATTACH_SHARED)
		return npumem_refuse(drm, -EINVAL, "ENGINE_ATTACH: flags %#x", args->flags);
	if (!length || length == sizeof(args->name))
		return npumem_refuse(drm, -EINVAL, "ENGINE_ATTACH: no name");
	if (!args->hang_ms || args->hang_ms > NPUMEM_ENGINE_JOB_MS)
		return npumem_refuse(drm, -EINVAL, "ENGINE_ATTACH: hang limit of %u ms",
				     args->hang_ms);
	if (args->flags & NPUMEM_ATTACH_SHARED && !capable(CAP_SYS_ADMIN))
		return npumem_refuse(drm, -EPERM, "ENGINE_ATTACH: shared");
	return 0;
}

static int window_check(struct drm_device *drm, const struct npu_file *file, struct npu_bo *bo)
{
	if (bo->bank || bo->shmem.base.import_attach)
		return npumem_refuse(drm, -EINVAL, "ENGINE_ATTACH: the window is no system BO");
	if (npumem_bo_read_only(bo, file))
		return npumem_refuse(drm, -EACCES, "ENGINE_ATTACH: the window is shared read-only");
	if (bo->shmem.base.size > MAX_WINDOW)
		return npumem_refuse(drm, -E2BIG, "ENGINE_ATTACH: window of %zu bytes",
				     bo->shmem.base.size);
	return 0;
}

/* The window: nobody else's, and mapped. Takes over the BO's reference if it succeeds. */
static int window_init(struct npu_file *file, struct npu_attachment *att, struct npu_bo *bo)
{
	struct drm_device *drm = &file->dev->drm;
	int err = window_check(drm, file, bo);

	if (err)
		return err;
	if (atomic_cmpxchg(&bo->host, 0, 1))
		return npumem_refuse(drm, -EBUSY, "ENGINE_ATTACH: the window is in use");
	err = npumem_client_charge(att->client, NPUMEM_RESOURCE_MEMORY, bo->shmem.base.size);
	if (err)
		goto err_host;
	err = drm_gem_vmap(&bo->shmem.base, &att->map);
	if (err)
		goto err_charge;
	att->window = bo;
	att->size = bo->shmem.base.size;
	return 0;

err_charge:
	npumem_client_uncharge(att->client, NPUMEM_RESOURCE_MEMORY, bo->shmem.base.size);
err_host:
	atomic_set(&bo->host, 0);
	return npumem_refuse(drm, err, "ENGINE_ATTACH: window of %zu bytes", bo->shmem.base.size);
}

static struct npu_attachment *attachment_create(struct npu_slot *slot, struct drm_file *drm_file,
						const struct drm_npumem_engine_attach *args)
{
	static atomic64_t last = ATOMIC64_INIT(0);
	struct npu_file *file = drm_file->driver_priv;
	struct drm_device *drm = &file->dev->drm;
	struct drm_gem_object *obj;
	struct npu_attachment *att;
	int err;

	att = kzalloc(sizeof(*att), GFP_KERNEL_ACCOUNT);
	if (!att)
		return ERR_PTR(-ENOMEM);
	kref_init(&att->ref);
	INIT_LIST_HEAD(&att->node);
	INIT_WORK(&att->release, attachment_release_work);
	init_waitqueue_head(&att->wait);
	att->slot = slot;
	att->dev = file->dev;
	att->file = args->flags & NPUMEM_ATTACH_SHARED ? NULL : file;
	att->client = file->client;
	att->id = atomic64_inc_return(&last);
	att->version = args->version;
	att->hang_ms = args->hang_ms;
	strscpy(att->name, args->name, sizeof(att->name));
	err = npumem_client_charge(att->client, NPUMEM_RESOURCE_ENGINES, 1);
	if (err)
		goto err_att;
	err = -ENOENT;
	obj = drm_gem_object_lookup(drm_file, args->window);
	if (!obj)
		goto err_charge;
	err = window_init(file, att, to_npumem_bo(obj));
	if (err)
		goto err_bo;
	npumem_client_get(att->client);
	kref_get(&slot->ref);
	drm_dev_get(drm);
	return att;

err_bo:
	drm_gem_object_put(obj);
err_charge:
	npumem_client_uncharge(att->client, NPUMEM_RESOURCE_ENGINES, 1);
err_att:
	kfree(att);
	return ERR_PTR(err);
}

/* In the slot's list, which takes a reference. */
static int attachment_add(struct npu_attachment *att)
{
	struct npu_slot *slot = att->slot;
	int err = 0;

	spin_lock(&slot->lock);
	if (slot->gone) {
		err = -ENODEV;
	} else if (attachment_of(slot, att->file)) {
		err = -EBUSY;
	} else {
		kref_get(&att->ref);
		list_add_tail(&att->node, &slot->attachments);
	}
	spin_unlock(&slot->lock);
	return err;
}

static int slot_attach(struct npu_slot *slot, struct drm_file *drm_file,
		       struct drm_npumem_engine_attach *args)
{
	struct npu_attachment *att = attachment_create(slot, drm_file, args);
	struct file *file;
	int err, fd;

	if (IS_ERR(att))
		return PTR_ERR(att);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		npumem_attachment_put(att);
		return fd;
	}
	file = npumem_attachment_file(att);
	if (IS_ERR(file)) {
		npumem_attachment_put(att);
		err = PTR_ERR(file);
		goto err_fd;
	}
	err = attachment_add(att);
	if (err) {
		fput(file);
		goto err_fd;
	}
	args->fd = fd;
	fd_install(fd, file);
	return 0;

err_fd:
	put_unused_fd(fd);
	return err;
}

int npumem_ioctl_engine_attach(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npumem_engine_attach *args = data;
	struct npu_engine *engine;
	struct npu_slot *slot;
	int err, idx;

	args->fd = -1;
	err = check_args(drm, args);
	if (err)
		return err;
	engine = npumem_engine_lookup(to_npumem(drm), args->engine);
	if (!engine || !(engine->flags & NPUMEM_ENGINE_PROCESS))
		return npumem_refuse(drm, -EINVAL, "ENGINE_ATTACH: engine %u is no slot",
				     args->engine);
	/* The engine's slot is there until then. */
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	slot = npumem_slot_of(engine);
	err = slot_attach(slot, file, args);
	drm_dev_exit(idx);
	return err ? npumem_refuse(drm, err, "ENGINE_ATTACH: %.*s, window %u",
				   (int)sizeof(args->name), args->name, args->window) :
		     0;
}
