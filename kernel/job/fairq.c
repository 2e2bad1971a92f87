// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: fair queueing
 *
 * drm_sched runs jobs in the order in which they were submitted, so the client that submits
 * most would have the engine. Therefore the scheduler only waits for dependencies, and a job
 * that has no more of them asks here, in prepare_job(), for its turn: the turn is a fence,
 * the job's last dependency. As many jobs have their turn at a time as the engine takes: one,
 * or a few, so that the engine never waits for the next.
 *
 * The turn goes to the user (uid) that has had the least engine time, of this user's
 * clients (open files) to the one that has had the least, and of its jobs to the one that
 * has waited longest. A user or client that was idle begins at the time of the one that had
 * the last turn: idle time is not saved up. So a client that comes to a busy engine is next
 * after the job in flight (and after others that came like it), however much the others
 * have queued; and those that always have jobs waiting share the time equally. Jobs are not
 * preempted: engines bound how long one takes. The time of a user that closes all its files
 * is remembered for as long as it matters (base/client.c), or coming back would be a way
 * not to wait.
 *
 * Jobs of a run that failed, or whose file was closed, need no engine to end: they end at
 * once, but after the job of the same run that is in flight, since a run's fences signal in
 * their order.
 *
 * An engine that takes several is charged for by what it executes one after the other: a job
 * from when it had its turn, or the one before ended. That is known at its end, and until then it
 * has what a job takes on average, or the same client would fill the engine's queue.
 *
 * Levels. Who waits at a higher one goes first, however much it has had; each level has its own
 * shares. A run's level is its priority, and the highest is for the privileged.
 *
 * All of this is on the way to the signal of a fence: nothing is allocated here.
 */
#include <linux/dma-fence.h>

#include "base/client.h"
#include "base/fence.h"
#include "job.h"
#include "run.h"

static bool fair_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct npu_fair_node, node)->vtime <
	       rb_entry(b, struct npu_fair_node, node)->vtime;
}

static bool fair_waits(const struct npu_fair_node *n)
{
	return !RB_EMPTY_NODE(&n->node);
}

static void fair_insert(struct npu_fair_set *set, struct npu_fair_node *n)
{
	rb_add_cached(&n->node, &set->tree, fair_less);
}

static void fair_remove(struct npu_fair_set *set, struct npu_fair_node *n)
{
	rb_erase_cached(&n->node, &set->tree);
	RB_CLEAR_NODE(&n->node);
}

/* A user or client has jobs again. It has been idle, and the time it did not use is lost. */
static void fair_begin(struct npu_fair_set *set, struct npu_fair_node *n)
{
	n->vtime = max(n->vtime, set->min_vtime);
}

/* Less than nothing is given back, of what it was charged with before. */
static void fair_charge(struct npu_fair_set *set, struct npu_fair_node *n, s64 ns)
{
	bool waits = fair_waits(n);

	if (waits)
		fair_remove(set, n);
	n->vtime += ns;
	if (waits)
		fair_insert(set, n);
}

static struct npu_fair_node *fair_first(const struct npu_fair_set *set)
{
	return rb_entry_safe(rb_first_cached(&set->tree), struct npu_fair_node, node);
}

static struct npu_fair_client *fair_client(const struct npu_fairq *q, const struct npu_job *job)
{
	return &job->run->client->engines[q->index][job->run->level];
}

static void charge(struct npu_fairq *q, const struct npu_job *job, s64 ns)
{
	struct npu_fair_client *client = fair_client(q, job);

	fair_charge(&client->user->clients, &client->base, ns);
	fair_charge(&q->users[job->run->level], &client->user->base, ns);
}

/* --------------------------------------------------- under the queue's lock */

static void enqueue(struct npu_fairq *q, struct npu_job *job)
{
	struct npu_fair_client *client = fair_client(q, job);
	struct npu_fair_user *user = client->user;

	if (!fair_waits(&user->base)) {
		fair_begin(&q->users[job->run->level], &user->base);
		fair_insert(&q->users[job->run->level], &user->base);
	}
	if (!fair_waits(&client->base)) {
		fair_begin(&user->clients, &client->base);
		fair_insert(&user->clients, &client->base);
	}
	list_add_tail(&job->queued, &client->jobs);
	job->run->waiting[q->index] = job;
	job->turn_state = NPUMEM_TURN_WAITING;
}

static void dequeue(struct npu_fairq *q, struct npu_job *job)
{
	struct npu_fair_client *client = fair_client(q, job);
	struct npu_fair_user *user = client->user;

	list_del(&job->queued);
	if (list_empty(&client->jobs))
		fair_remove(&user->clients, &client->base);
	if (!fair_first(&user->clients))
		fair_remove(&q->users[job->run->level], &user->base);
	job->run->waiting[q->index] = NULL;
}

static void take(struct npu_fairq *q, struct npu_job *job)
{
	struct npu_fair_client *client = fair_client(q, job);
	struct npu_fair_set *users = &q->users[job->run->level];
	struct npu_fair_user *user = client->user;

	users->min_vtime = max(users->min_vtime, user->base.vtime);
	user->clients.min_vtime = max(user->clients.min_vtime, client->base.vtime);
	q->running++;
	job->run->running[q->index]++;
	job->turn_state = NPUMEM_TURN_ITS;
	job->turn_at = ktime_get();
	/* One at a time is charged when the next is chosen. */
	job->charged_ns = q->depth > 1 ? q->average_ns : 0;
	charge(q, job, job->charged_ns);
}

/* Give the turn to the next job. Returns the fence of it that is to be signalled, or NULL. */
static struct dma_fence *take_next(struct npu_fairq *q)
{
	struct npu_fair_node *first = NULL;
	struct npu_fair_client *client;
	struct npu_fair_user *user;
	struct npu_job *job;
	u32 level;

	for (level = 0; !first && level < NPU_LEVELS; level++)
		first = fair_first(&q->users[level]);
	if (!first)
		return NULL;
	user = container_of(first, struct npu_fair_user, base);
	client = container_of(fair_first(&user->clients), struct npu_fair_client, base);
	job = list_first_entry(&client->jobs, struct npu_job, queued);
	dequeue(q, job);
	take(q, job);
	return dma_fence_get(job->turn);
}

/* Let the run's job that waits end without the engine, if no job of the run is ahead of it. */
static struct dma_fence *cancel(struct npu_fairq *q, struct npu_run *run)
{
	struct npu_job *job = run->waiting[q->index];

	if (!job || run->running[q->index])
		return NULL;
	dequeue(q, job);
	job->turn_state = NPUMEM_TURN_OVER;
	return dma_fence_get(job->turn);
}

/* ------------------------------------------------------------------------- */

bool npumem_fairq_ask(struct npu_fairq *q, struct npu_job *job)
{
	unsigned long flags;
	bool go;

	spin_lock_irqsave(&q->lock, flags);
	if (job->turn_state == NPUMEM_TURN_NONE) {
		enqueue(q, job);
		if (npumem_run_error(job->run))
			dma_fence_put(cancel(q, job->run));
		else if (q->running < q->depth)
			dma_fence_put(take_next(q));
	}
	go = job->turn_state != NPUMEM_TURN_WAITING;
	spin_unlock_irqrestore(&q->lock, flags);
	return go;
}

void npumem_fairq_end(struct npu_fairq *q, struct npu_job *job, struct npu_fairq_wake *wake)
{
	ktime_t now = ktime_get();
	unsigned long flags;
	struct npu_use *use;
	ktime_t since;
	u64 ns;

	*wake = (struct npu_fairq_wake){};
	spin_lock_irqsave(&q->lock, flags);
	if (job->turn_state == NPUMEM_TURN_ITS) {
		since = ktime_after(job->turn_at, q->ended_at) ? job->turn_at : q->ended_at;
		/*
		 * Each job costs some time, so that clients take turns however short their
		 * jobs are.
		 */
		ns = max_t(s64, ktime_to_ns(ktime_sub(now, since)), 0) + 1;
		charge(q, job, ns - job->charged_ns);
		use = &job->run->client->use[q->index];
		use->ns += ns;
		use->jobs++;
		q->average_ns = q->average_ns - q->average_ns / 8 + ns / 8;
		q->ended_at = now;
		q->running--;
		job->run->running[q->index]--;
		job->turn_state = NPUMEM_TURN_OVER;
		if (npumem_run_error(job->run))
			wake->cancelled = cancel(q, job->run);
		wake->next = take_next(q);
	}
	spin_unlock_irqrestore(&q->lock, flags);
}

static void wake_one(struct dma_fence *fence)
{
	if (!fence)
		return;
	npumem_fence_signal(fence, 0);
	dma_fence_put(fence);
}

void npumem_fairq_wake(const struct npu_fairq_wake *wake)
{
	wake_one(wake->cancelled);
	wake_one(wake->next);
}

void npumem_fairq_cancel(struct npu_fairq *q, struct npu_run *run)
{
	struct dma_fence *fence;
	unsigned long flags;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	spin_lock_irqsave(&q->lock, flags);
	fence = cancel(q, run);
	spin_unlock_irqrestore(&q->lock, flags);
	wake_one(fence);
	dma_fence_end_signalling(cookie);
}
