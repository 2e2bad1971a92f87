/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * npumem driver: the device, the open file, and what the files share.
 *
 * Files stand in folders, each of which uses those named before it. base/: client.c
 * (shares), fair.c (shares of engine time), fence.c, uarray.c (arrays and blobs of user
 * memory), engine.h, compat.h, tracepoints. memory/: carveout.c (banks), bo.c, dma.c, shared.c
 * (arenas that runs take turns with). object/: graph.c, plan.c. upcall/: upcall.c (requests),
 * queue.c, fd.c, netlink.c. job/: run.c, turn.c (of runs with a shared arena), bind.c (external
 * tensors), access.c (CPU access to imported ones), transfer.c (the host BO and what goes there
 * and back), job.c, order.c (which job waits for which), range.c (what jobs access), submit.c,
 * gate.c (others' fences), engine.c, fairq.c (whose turn it is), fault.c. process/: engines in a
 * process. Then drv.c (probe, ioctl table), query.c, plan_ioctl.c, debugfs.c, uapi_check.c; sim/;
 * and module.c. edu/ is a module of its own.
 *
 * Locking. Objects are reference counted; handles live in the file's xarrays,
 * and a lookup takes a reference under the xarray's lock. A run's states and
 * bindings are under run->lock. Lock order: run->lock, then dma_resv, then upcall's lock.
 * The lock of a shared arena is taken under mmap_lock or runs_lock, and under no other.
 *
 * Lifetimes. A run in flight keeps the DRM device; the DRM device keeps banks
 * and engines (drmm); the platform device keeps what maps the carveout (devm),
 * so bytes of it are touched between drm_dev_enter() and drm_dev_exit() only.
 * Nothing of that pins the module once files are closed, so module exit waits
 * for the last DRM device to go.
 */
#ifndef NPUMEM_DRV_H
#define NPUMEM_DRV_H

#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "npumem_drm.h"
#include "verify/verify.h"

#define NPUMEM_MAX_BANKS	   8
#define NPUMEM_MAX_ENGINES	   8
/* Jobs that an engine is given at a time: what others wait for whose turn is next. */
#define NPUMEM_MAX_DEPTH	   16
#define NPUMEM_MAX_LOG		   (1u << 20)
#define NPUMEM_MAX_JOBS		   1024
/* The most jobs that have not ended, of one open file, and of all files of a user. */
#define NPUMEM_MAX_CLIENT_JOBS	   2048
#define NPUMEM_MAX_USER_JOBS	   4096
/* The most bytes of commands that one job has. */
#define NPUMEM_MAX_COMMANDS	   SZ_64K
#define NPUMEM_MAX_RELOCATIONS	   (NPUMEM_MAX_COMMANDS / 8)
/* The most bytes of commands that all jobs of one SUBMIT have together. */
#define NPUMEM_MAX_SUBMIT_COMMANDS SZ_4M
/* The most units of work of one SUBMIT (npumem_drm.h): about as much as a verification. */
#define NPUMEM_MAX_SUBMIT_WORK	   (1ull << 24)
#define NPUMEM_MAX_SYNCS	   256
#define NPUMEM_MAX_REQUESTS	   16	 /* not settled, of one open file */
#define NPUMEM_MAX_USER_REQUESTS   64	 /* of one user, beyond one of each file */
#define NPUMEM_MAX_HANDLES	   65536 /* of each kind, per open file */

struct npu_bank;
struct npu_client;
struct npu_engine;
struct npu_faults;
struct npu_requester;

/**
 * struct npu_device - one NPU and its carveout
 * @drm: base
 * @banks: carveout banks, @bank_count of them
 * @bank_sizes: bytes of each
 * @engines: the device's engines, @engine_count of them, fixed after probe
 * @bank_count: number of @banks
 * @dma_banks: those of them that are mapped for the device
 * @addresses: bits of enum npu_address that its engines use
 * @kernel_addresses: those of engines that are not a process
 * @engine_count: number of @engines
 * @dmas_lock: guards @dmas
 * @dmas: of struct npu_dma: BOs that are mapped for the device
 * @dmas_unplug: held by who undoes one mapping, and alone by who undoes all
 * @runs_lock: guards @runs
 * @runs: of struct npu_run, for debugfs, under @runs_lock
 * @users_lock: guards @users
 * @users: of struct npu_user, under @users_lock
 * @clients: of struct npu_client, by their numbers
 * @next_client: where the search for a number goes on; under the lock of @clients
 * @faults: the last faults
 */
struct npu_device {
	struct drm_device drm;
	struct npu_bank *banks[NPUMEM_MAX_BANKS];
	u64 bank_sizes[NPUMEM_MAX_BANKS];
	struct npu_engine *engines[NPUMEM_MAX_ENGINES];
	u32 bank_count;
	u32 engine_count;
	u32 dma_banks;
	u32 addresses;
	u32 kernel_addresses;
	struct mutex dmas_lock;
	struct list_head dmas;
	struct rw_semaphore dmas_unplug;
	struct mutex runs_lock;
	struct list_head runs;
	struct mutex users_lock;
	struct list_head users;
	struct xarray clients;
	u32 next_client;
	struct npu_faults *faults;
};

static inline struct npu_device *to_npumem(struct drm_device *drm)
{
	return container_of(drm, struct npu_device, drm);
}

/**
 * struct npu_file - handles of one open file; nothing is shared but by PRIME
 * @dev: the device that it was opened on
 * @client: is charged for what the handles stand for; referenced
 * @graphs: of struct npu_graph
 * @plans: of struct npu_plan
 * @runs: of struct npu_run
 * @bo_handles: number of GEM handles
 * @requester: the file's share of plan requests
 * @gone: page that its mappings of carveout BOs have once the device is gone, or NULL (bo.c)
 */
struct npu_file {
	struct npu_device *dev;
	struct npu_client *client;
	struct xarray graphs;
	struct xarray plans;
	struct xarray runs;
	atomic_t bo_handles;
	struct npu_requester *requester;
	struct page *gone;
};

/*
 * Log a mistake that user space made as a debug message, and evaluate to its errno. The
 * message is never louder, since any client could fill the log.
 */
#define npumem_refuse(drm, error, fmt, ...)                         \
	({                                                          \
		drm_dbg(drm, fmt ": %d\n", ##__VA_ARGS__, (error)); \
		(error);                                            \
	})

/*
 * Make a handle for an object, or reserve one if the object is NULL. -EMFILE: the file has
 * NPUMEM_MAX_HANDLES of this kind; -ENOMEM.
 */
static inline int npumem_handle_alloc(struct xarray *handles, void *object, u32 *handle)
{
	int err = xa_alloc(handles, handle, object, XA_LIMIT(1, NPUMEM_MAX_HANDLES),
			   GFP_KERNEL_ACCOUNT);

	return err == -EBUSY ? -EMFILE : err;
}

/*
 * Make an object visible by a new handle, which is written to @own before anybody can look
 * the object up. The object may be gone on return. Errors are npumem_handle_alloc()'s.
 */
static inline int npumem_handle_publish(struct xarray *handles, void *object, u32 *own, u32 *handle)
{
	int err = npumem_handle_alloc(handles, NULL, handle);

	if (err) {
		*handle = 0;
		return err;
	}
	*own = *handle;
	/* Storing needs no memory where a handle is reserved. */
	xa_store(handles, *handle, object, GFP_KERNEL_ACCOUNT);
	return 0;
}

/*
 * Look up the object of a handle, or NULL, and take a reference on it. The object has to
 * begin with its reference count.
 */
static inline void *npumem_handle_get(struct xarray *handles, u32 handle)
{
	struct kref *object;

	xa_lock(handles);
	object = xa_load(handles, handle);
	if (object)
		kref_get(object);
	xa_unlock(handles);
	return object;
}

/*
 * Remove a handle, for ioctl NAME_DESTROY, and return its object with the reference that
 * the handle had. ERR_PTR: -EINVAL, -ENOENT. xa_erase() would not do, since it also
 * removes a handle that another thread has only reserved.
 */
static inline void *npumem_handle_remove(struct drm_device *drm, struct xarray *handles,
					 const struct drm_npumem_handle *args, const char *name,
					 const char *kind)
{
	void *object;

	if (args->pad)
		return ERR_PTR(npumem_refuse(drm, -EINVAL, "%s_DESTROY: pad is not zero", name));
	xa_lock(handles);
	object = xa_load(handles, args->handle);
	if (object)
		__xa_erase(handles, args->handle);
	xa_unlock(handles);
	return object ?:
			ERR_PTR(npumem_refuse(drm, -ENOENT, "%s_DESTROY: no %s %u", name, kind,
					      args->handle));
}

/* uarray.c: arrays of user memory that carry their stride, and the log. */

/*
 * Copy the records of a user's array (npumem_drm.h) into a kvmalloc'ed array of records of
 * size bytes. NULL if there are none. -EINVAL: stride or ptr are wrong, even if there are
 * none. -E2BIG: there are more than max_count, they are longer than 4096 bytes, or their
 * end, which this driver does not know, is not zero.
 */
void *npumem_array_copy(const struct drm_npumem_array *array, size_t size, u32 max_count);
/* For bytes that are read. -EINVAL: there is no address; -E2BIG: more than max of them. */
int npumem_buffer_check(const struct drm_npumem_buffer *buffer, u64 max);
/* For room that is written to; without an address there is none. -E2BIG. */
int npumem_room_check(struct drm_npumem_buffer *buffer, u64 max);
/*
 * Write bytes, or a text (NULL: an empty one), to a buffer that was checked, and their true
 * size into it; see npumem_drm.h. -EFAULT.
 */
int npumem_buffer_give(struct drm_npumem_buffer *buffer, const void *data, u64 size);
int npumem_text_give(struct drm_npumem_buffer *buffer, const char *text);
/* Copy a blob of user memory, once. ERR_PTR on error; kvfree() it. */
void *npumem_blob_copy(const struct drm_npumem_buffer *user);

/**
 * struct npu_verdict_user - verdict on its way to user memory
 * @verdict: where the rules write it
 * @ptr: user address, or zero
 * @room: bytes there
 * @fault: -EFAULT if they cannot be written, else zero
 *
 * npumem_verdict_begin() checks the ioctl's buffer, makes it all zero and says the true
 * size there; npumem_verdict_end() writes the verdict of a refusal. -EFAULT never hides an
 * errno: end() returns it only for a call that would have succeeded. A call that cannot be
 * undone by then looks at @fault before.
 */
struct npu_verdict_user {
	struct npumem_verdict verdict;
	u64 ptr;
	u64 room;
	int fault;
};

int npumem_verdict_begin(struct npu_verdict_user *v, struct drm_npumem_buffer *user);
int npumem_verdict_end(struct npu_verdict_user *v, int err);

/**
 * struct npu_log_user - verifier log on its way to user memory
 * @user: the ioctl's buffer for it
 * @log: where the verifier writes its text
 *
 * npumem_log_begin() checks the ioctl's log fields and allocates; npumem_log_end()
 * copies the text out, says its true size and frees. -EFAULT never hides an errno.
 */
struct npu_log_user {
	struct drm_npumem_buffer *user;
	struct npuv_log log;
};

int npumem_log_begin(struct npu_log_user *log, struct drm_npumem_log *user);
int npumem_log_end(struct npu_log_user *log, int err);

#endif /* NPUMEM_DRV_H */
