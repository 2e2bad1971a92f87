// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: clients and their shares
 *
 * A device's resources are finite, and one client could take all of them: the carveout,
 * which others would then find full, and kernel memory, which graphs and plans keep and
 * which the OOM killer cannot see in any process. So the driver counts what each user
 * keeps, and limits the share of an unprivileged one:
 *
 *  - of each carveout bank, carveout_share per cent (module parameter, 50);
 *  - of kernel memory for graphs, plans and runs, memory_mib MiB (module parameter;
 *    the default is an eighth of the machine's memory);
 *  - NPUMEM_MAX_USER_JOBS jobs that have not ended;
 *  - as many fences of others for these to wait for as the module parameter waits says;
 *  - MAX_BINDINGS external tensors bound at a time, and four times the GEM handles that
 *    one file may have;
 *  - MAX_ATTACHED engines in a process.
 *
 * The user is the one who opened the file: opening the device twice, or forking, makes no
 * second share, and a process that is handed the file spends the opener's share. A user
 * who had CAP_SYS_RESOURCE when the file was opened has no limits, as with setrlimit(2)
 * and disk quotas. Several users can still fill a device together. Memory cgroups limit
 * that, since the same memory is charged to them, and so does the dmem controller, to
 * which carveout is charged (memory/carveout.c).
 *
 * A user cannot flood those who listen to events either: EVENTS_BURST of its mistakes are
 * multicast in EVENTS_INTERVAL, and the others are counted ("events_suppressed" in
 * debugfs).
 *
 * Engine time is shared as well, among all users alike (job/fairq.c).
 *
 * Shares belong to users. The driver also knows what each open file holds, and tells it in
 * fdinfo. Plan requests cost the daemon's time and have a queue of their own
 * (upcall/queue.c).
 *
 * Life. A user is found by its uid in the device's list. It lives as long as one of its
 * clients, and a client lives as long as anything is charged to it. A user that has
 * clients keeps the DRM device. One that has none any more stays in the list while it
 * owes engine time, so that it cannot be rid of the debt by coming back; but it stays no
 * longer than KEPT_NS.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "npumem_netlink.h"

#include "client.h"
#include "engine.h"

/* At most EVENTS_BURST mistakes of one user are multicast in EVENTS_INTERVAL jiffies. */
#define EVENTS_BURST	64
#define EVENTS_INTERVAL (5 * HZ)

/* A binding keeps a kernel mapping and a reference on a BO. Honest clients have far fewer. */
#define MAX_BINDINGS 16384

/* An engine in a process keeps a little memory, and a window, which is charged. */
#define MAX_ATTACHED 64

/* A user owes one job's time at most, and every job takes less than this. */
#define KEPT_NS (60ull * NSEC_PER_SEC)

static unsigned int carveout_share = 50;
module_param(carveout_share, uint, 0644);
MODULE_PARM_DESC(carveout_share,
		 "per cent of each carveout bank that an unprivileged user may have (default: 50)");

static unsigned int memory_mib;
module_param(memory_mib, uint, 0644);
MODULE_PARM_DESC(
	memory_mib,
	"MiB of kernel memory that graphs, plans and runs of an unprivileged user may keep (default: 0, an eighth of the memory)");

/*
 * A fence to wait for is memory, and time under locks that others want, when it is added and when
 * a file is closed. Honest jobs wait for a few.
 */
static unsigned int waits = 65536;
module_param(waits, uint, 0644);
MODULE_PARM_DESC(
	waits,
	"fences of others that jobs of an unprivileged user may wait for at a time (default: 65536)");

/**
 * struct npu_user - user of a device, who has a share of it
 * @ref: each of its clients holds one; zero of a user that only owes
 * @left_at: CLOCK_MONOTONIC nanoseconds, when @ref became zero
 * @node: in &npu_device.users
 * @dev: referenced, unless @ref is zero
 * @uid: the user's
 * @unlimited: it has CAP_SYS_RESOURCE. The same uid without it is another user
 * @used: amount of each resource that all its clients hold together
 * @verify: held while a blob of this user is verified
 * @events: limits how many of its mistakes are multicast
 * @events_suppressed: number of its mistakes that were not multicast
 * @engines: share of each engine's time, at each level
 */
struct npu_user {
	struct kref ref;
	u64 left_at;
	struct list_head node;
	struct npu_device *dev;
	kuid_t uid;
	bool unlimited;
	atomic64_t used[NPUMEM_RESOURCES];
	struct mutex verify;
	struct ratelimit_state events;
	atomic64_t events_suppressed;
	struct npu_fair_user engines[NPUMEM_MAX_ENGINES][NPU_LEVELS];
};

static const int resource_errno[] = {
	[NPUMEM_RESOURCE_MEMORY] = -EDQUOT,
	[NPUMEM_RESOURCE_HANDLES] = -EMFILE,
	[NPUMEM_RESOURCE_BINDINGS] = -EMFILE,
	[NPUMEM_RESOURCE_JOBS] = -EBUSY,
	[NPUMEM_RESOURCE_WAITS] = -EBUSY,
	[NPUMEM_RESOURCE_ENGINES] = -EMFILE,
	[NPUMEM_RESOURCE_CARVEOUT... NPUMEM_RESOURCES - 1] = -ENOSPC,
};

/* ------------------------------------------------------------------- users */

static void user_free(struct npu_user *user)
{
	list_del(&user->node);
	mutex_destroy(&user->verify);
	kfree(user);
}

static bool user_owes(const struct npu_user *user)
{
	struct npu_device *dev = user->dev;
	u32 i;

	for (i = 0; i < dev->engine_count; i++)
		if (npumem_fairq_owes(&dev->engines[i]->queue, user->engines[i]))
			return true;
	return false;
}

/* Free the users that have no clients and owe no engine time any more. */
static void users_forget(struct npu_device *dev)
{
	u64 now = ktime_get_ns();
	struct npu_user *user, *next;

	lockdep_assert_held(&dev->users_lock);
	list_for_each_entry_safe(user, next, &dev->users, node)
		if (!kref_read(&user->ref) && (now - user->left_at > KEPT_NS || !user_owes(user)))
			user_free(user);
}

static struct npu_user *user_find(struct npu_device *dev, kuid_t uid, bool unlimited)
{
	struct npu_user *user;

	list_for_each_entry(user, &dev->users, node)
		if (uid_eq(user->uid, uid) && user->unlimited == unlimited)
			return user;
	return NULL;
}

static struct npu_user *user_create(struct npu_device *dev, kuid_t uid, bool unlimited)
{
	struct npu_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!user)
		return NULL;
	mutex_init(&user->verify);
	ratelimit_state_init(&user->events, EVENTS_INTERVAL, EVENTS_BURST);
	/* We tell ourselves what was suppressed, and not in the kernel log. */
	ratelimit_set_flags(&user->events, RATELIMIT_MSG_ON_RELEASE);
	user->uid = uid;
	user->unlimited = unlimited;
	user->dev = dev;
	for (i = 0; i < NPUMEM_MAX_ENGINES * NPU_LEVELS; i++)
		npumem_fair_user_init(&user->engines[i / NPU_LEVELS][i % NPU_LEVELS]);
	list_add_tail(&user->node, &dev->users);
	return user;
}

static struct npu_user *user_get(struct npu_device *dev)
{
	bool unlimited = capable(CAP_SYS_RESOURCE);
	kuid_t uid = current_euid();
	struct npu_user *user;

	guard(mutex)(&dev->users_lock);
	users_forget(dev);
	user = user_find(dev, uid, unlimited);
	if (user && kref_get_unless_zero(&user->ref))
		return user;
	if (!user)
		user = user_create(dev, uid, unlimited);
	if (user) {
		kref_init(&user->ref);
		drm_dev_get(&dev->drm);
	}
	return user;
}

/* Under the lock of the list, so whoever finds the user sees that it has no client. */
static void user_release(struct kref *ref)
{
	struct npu_user *user = container_of(ref, struct npu_user, ref);
	struct npu_device *dev = user->dev;

	user->left_at = ktime_get_ns();
	users_forget(dev);
	mutex_unlock(&dev->users_lock);
	drm_dev_put(&dev->drm);
}

static void user_put(struct npu_user *user)
{
	kref_put_mutex(&user->ref, user_release, &user->dev->users_lock);
}

/* ----------------------------------------------------------------- clients */

/*
 * The path of the calling process's control group: kmalloc'ed, or NULL where there is none.
 * ERR_PTR: -ENOMEM. One that is longer is cut behind its first bytes, which say in whose part
 * of the hierarchy it is.
 */
static char *current_cgroup(void)
{
#ifdef CONFIG_CGROUPS
	char *path = kmalloc(NPUMEM_MAX_CGROUP + 1, GFP_KERNEL_ACCOUNT);

	if (!path)
		return ERR_PTR(-ENOMEM);
	*path = '\0';
	rcu_read_lock();
	cgroup_path(task_dfl_cgroup(current), path, NPUMEM_MAX_CGROUP + 1);
	rcu_read_unlock();
	return path;
#else
	return NULL;
#endif
}

static void client_free(struct npu_client *client)
{
	kfree(client->cgroup);
	kfree(client);
}

struct npu_client *npumem_client_create(struct npu_device *dev)
{
	struct npu_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	u32 i;
	int err;

	if (!client)
		return ERR_PTR(-ENOMEM);
	kref_init(&client->ref);
	client->cgroup = current_cgroup();
	if (IS_ERR(client->cgroup)) {
		kfree(client);
		return ERR_PTR(-ENOMEM);
	}
	client->user = user_get(dev);
	if (!client->user) {
		client_free(client);
		return ERR_PTR(-ENOMEM);
	}
	client->gid = current_egid();
	client->pid = get_pid(task_tgid(current));
	get_task_comm(client->comm, current->group_leader);
	for (i = 0; i < NPUMEM_MAX_ENGINES * NPU_LEVELS; i++)
		npumem_fair_client_init(&client->engines[i / NPU_LEVELS][i % NPU_LEVELS],
					&client->user->engines[i / NPU_LEVELS][i % NPU_LEVELS]);
	/* From here on it is found. */
	err = xa_alloc_cyclic(&dev->clients, &client->number, client, xa_limit_32b,
			      &dev->next_client, GFP_KERNEL_ACCOUNT);
	if (err < 0) {
		put_pid(client->pid);
		user_put(client->user);
		client_free(client);
		return ERR_PTR(err);
	}
	return client;
}

struct npu_client *npumem_client_next(struct npu_device *dev, unsigned long *number)
{
	struct npu_client *client;

	/* One that is being released is in the table until it has left it under the lock. */
	xa_lock(&dev->clients);
	client = xa_find(&dev->clients, number, ULONG_MAX, XA_PRESENT);
	while (client && !kref_get_unless_zero(&client->ref))
		client = xa_find_after(&dev->clients, number, ULONG_MAX, XA_PRESENT);
	xa_unlock(&dev->clients);
	return client;
}

struct npu_client *npumem_client_get(struct npu_client *client)
{
	kref_get(&client->ref);
	return client;
}

static void client_release(struct kref *ref)
{
	struct npu_client *client = container_of(ref, struct npu_client, ref);
	u32 i;

	xa_erase(&client->user->dev->clients, client->number);
	put_pid(client->pid);
	for (i = 0; i < NPUMEM_RESOURCES; i++)
		WARN_ON_ONCE(atomic64_read(&client->used[i]));
	user_put(client->user);
	client_free(client);
}

void npumem_client_put(struct npu_client *client)
{
	if (client)
		kref_put(&client->ref, client_release);
}

/* ------------------------------------------------------------------ shares */

static u64 share_of_memory(void)
{
	unsigned int mib = READ_ONCE(memory_mib);

	return mib ? (u64)mib << 20 : ((u64)totalram_pages() << PAGE_SHIFT) / 8;
}

static u64 user_limit(const struct npu_user *user, unsigned int resource)
{
	u32 bank;

	if (user->unlimited)
		return U64_MAX;
	switch (resource) {
	case NPUMEM_RESOURCE_MEMORY:
		return share_of_memory();
	case NPUMEM_RESOURCE_HANDLES:
		return 4 * NPUMEM_MAX_HANDLES;
	case NPUMEM_RESOURCE_BINDINGS:
		return MAX_BINDINGS;
	case NPUMEM_RESOURCE_JOBS:
		return NPUMEM_MAX_USER_JOBS;
	case NPUMEM_RESOURCE_WAITS:
		return READ_ONCE(waits);
	case NPUMEM_RESOURCE_ENGINES:
		return MAX_ATTACHED;
	default:
		bank = resource - NPUMEM_RESOURCE_CARVEOUT;
		if (bank >= user->dev->bank_count)
			return 0;
		return mul_u64_u32_div(user->dev->bank_sizes[bank],
				       min(READ_ONCE(carveout_share), 100u), 100);
	}
}

u64 npumem_client_limit(const struct npu_client *client, unsigned int resource)
{
	return user_limit(client->user, resource);
}

kuid_t npumem_client_uid(const struct npu_client *client)
{
	return client->user->uid;
}

int npumem_client_charge(struct npu_client *client, unsigned int resource, u64 amount)
{
	struct npu_user *user = client->user;
	u64 limit = user_limit(user, resource);
	s64 used = atomic64_read(&user->used[resource]);

	if (amount > S64_MAX)
		return resource_errno[resource];
	do {
		if (limit != U64_MAX && ((u64)used > limit || amount > limit - used))
			return resource_errno[resource];
	} while (!atomic64_try_cmpxchg(&user->used[resource], &used, used + amount));
	/* It may have held none before. Amounts of carveout are never zero. */
	if (atomic64_add_return(amount, &client->used[resource]) == amount &&
	    resource >= NPUMEM_RESOURCE_CARVEOUT)
		WRITE_ONCE(client->since_ns[resource - NPUMEM_RESOURCE_CARVEOUT], ktime_get_ns());
	return 0;
}

void npumem_client_uncharge(struct npu_client *client, unsigned int resource, u64 amount)
{
	atomic64_sub(amount, &client->used[resource]);
	atomic64_sub(amount, &client->user->used[resource]);
}

bool npumem_client_may_tell(struct npu_client *client)
{
	struct npu_user *user = client->user;

	if (user->unlimited || __ratelimit(&user->events))
		return true;
	atomic64_inc(&user->events_suppressed);
	return false;
}

int npumem_client_begin_verify(struct npu_client *client)
{
	if (client->user->unlimited)
		return 0;
	return mutex_lock_killable(&client->user->verify);
}

void npumem_client_end_verify(struct npu_client *client)
{
	if (!client->user->unlimited)
		mutex_unlock(&client->user->verify);
}

/* ------------------------------------------------------------------ device */

static void users_fini(struct drm_device *drm, void *unused)
{
	struct npu_user *user, *next;

	/* Nobody has a client any more, or there would be the device. */
	list_for_each_entry_safe(user, next, &to_npumem(drm)->users, node)
		user_free(user);
	xa_destroy(&to_npumem(drm)->clients);
}

struct npu_use npumem_client_use(struct npu_device *dev, const struct npu_client *client, u32 index)
{
	struct npu_fairq *q = &dev->engines[index]->queue;
	struct npu_use use;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	use = client->use[index];
	spin_unlock_irqrestore(&q->lock, flags);
	return use;
}

int npumem_clients_init(struct npu_device *dev)
{
	INIT_LIST_HEAD(&dev->users);
	xa_init_flags(&dev->clients, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	return drmm_add_action_or_reset(&dev->drm, users_fini, NULL);
}

static void user_show(const struct npu_user *user, struct seq_file *m)
{
	u32 i;

	seq_printf(
		m,
		"uid=%u unlimited=%d memory=%lld/%llu handles=%lld bindings=%lld jobs=%lld waits=%lld events_suppressed=%lld",
		from_kuid(&init_user_ns, user->uid), user->unlimited,
		atomic64_read(&user->used[NPUMEM_RESOURCE_MEMORY]),
		user_limit(user, NPUMEM_RESOURCE_MEMORY),
		atomic64_read(&user->used[NPUMEM_RESOURCE_HANDLES]),
		atomic64_read(&user->used[NPUMEM_RESOURCE_BINDINGS]),
		atomic64_read(&user->used[NPUMEM_RESOURCE_JOBS]),
		atomic64_read(&user->used[NPUMEM_RESOURCE_WAITS]),
		atomic64_read(&user->events_suppressed));
	for (i = 0; i < user->dev->bank_count; i++)
		seq_printf(m, " bank%u=%lld/%llu", i,
			   atomic64_read(&user->used[NPUMEM_RESOURCE_CARVEOUT + i]),
			   user_limit(user, NPUMEM_RESOURCE_CARVEOUT + i));
	seq_putc(m, '\n');
}

void npumem_clients_show(struct npu_device *dev, struct seq_file *m)
{
	struct npu_user *user;

	guard(mutex)(&dev->users_lock);
	list_for_each_entry(user, &dev->users, node)
		user_show(user, m);
}
