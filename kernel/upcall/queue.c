// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of plan requests: which one comes next, and how many a client may have.
 *
 * Planning takes the daemon's time. Users share it equally, and the open files of one user
 * share that user's part. ACCEPT takes users in turns, of a user's files again in turns,
 * and of a file's requests the oldest. So a client that asks for many plans delays another
 * client's request by one of its own, not by all of them.
 *
 * One client's requests do not take another's place either. A file has at most
 * NPUMEM_MAX_REQUESTS that are not settled and a user NPUMEM_MAX_USER_REQUESTS, but each
 * file may have one whatever the other files of its user do. There is no limit for all
 * users together, since somebody could use it up: a request is charged to its requester's
 * memory cgroup.
 *
 * A file counts as its opener's, as in all of DRM, even if it is handed to others.
 */
#include <linux/slab.h>

#include "request.h"

/**
 * struct npu_queue_user - all open files of one user
 * @uid: the user's
 * @files: number of its open files
 * @count: their requests that are not yet claimed
 * @link: in the list of users
 * @turn: in the list of turns, while one of its requests waits
 * @requesters: its files with a request that waits, in the order of their turns
 */
struct npu_queue_user {
	kuid_t uid;
	u32 files;
	u32 count;
	struct list_head link;
	struct list_head turn;
	struct list_head requesters;
};

/**
 * struct npu_requester - one open file
 * @user: its opener
 * @count: requests not yet claimed
 * @turn: in the user's list, while one of the requests waits
 * @waiting: requests that wait, oldest first
 */
struct npu_requester {
	struct npu_queue_user *user;
	u32 count;
	struct list_head turn;
	struct list_head waiting;
};

static LIST_HEAD(npumem_queue_users);
static LIST_HEAD(npumem_queue_turns); /* of users with a request that waits */

int npumem_queue_admit(const struct npu_requester *requester)
{
	if (!requester->count)
		return 0;
	if (requester->count >= NPUMEM_MAX_REQUESTS)
		return -EBUSY;
	return requester->user->count >= NPUMEM_MAX_USER_REQUESTS ? -EBUSY : 0;
}

void npumem_queue_add(struct npu_request *req, struct npu_requester *requester)
{
	req->requester = requester;
	requester->count++;
	requester->user->count++;
	list_add_tail(&req->waiting, &requester->waiting);
	if (list_empty(&requester->turn))
		list_add_tail(&requester->turn, &requester->user->requesters);
	if (list_empty(&requester->user->turn))
		list_add_tail(&requester->user->turn, &npumem_queue_turns);
}

/*
 * The request does not wait any more. If it was the last one that did, its requester, and
 * perhaps the user, is given no more turns.
 */
static void queue_unlink(struct npu_request *req)
{
	struct npu_requester *requester = req->requester;

	list_del_init(&req->waiting);
	if (list_empty(&requester->waiting))
		list_del_init(&requester->turn);
	if (list_empty(&requester->user->requesters))
		list_del_init(&requester->user->turn);
}

struct npu_request *npumem_queue_next(void)
{
	struct npu_requester *requester;
	struct npu_request *req;
	struct npu_queue_user *user;

	user = list_first_entry_or_null(&npumem_queue_turns, struct npu_queue_user, turn);
	if (!user)
		return NULL;
	requester = list_first_entry(&user->requesters, struct npu_requester, turn);
	req = list_first_entry(&requester->waiting, struct npu_request, waiting);
	list_move_tail(&user->turn, &npumem_queue_turns);
	list_move_tail(&requester->turn, &user->requesters);
	queue_unlink(req);
	return req;
}

void npumem_queue_return(struct npu_request *req)
{
	struct npu_requester *requester = req->requester;

	list_add(&req->waiting, &requester->waiting);
	list_move(&requester->turn, &requester->user->requesters);
	list_move(&requester->user->turn, &npumem_queue_turns);
}

void npumem_queue_remove(struct npu_request *req)
{
	if (!list_empty(&req->waiting))
		queue_unlink(req);
	req->requester->user->count--;
	req->requester->count--;
	req->requester = NULL;
}

static struct npu_queue_user *queue_user_find(kuid_t uid)
{
	struct npu_queue_user *user;

	list_for_each_entry(user, &npumem_queue_users, link)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

struct npu_requester *npumem_requester_alloc(kuid_t uid)
{
	struct npu_requester *requester __free(kfree) =
		kzalloc(sizeof(*requester), GFP_KERNEL_ACCOUNT);

	if (!requester)
		return NULL;
	requester->user = kzalloc(sizeof(*requester->user), GFP_KERNEL_ACCOUNT);
	if (!requester->user)
		return NULL;
	requester->user->uid = uid;
	INIT_LIST_HEAD(&requester->user->turn);
	INIT_LIST_HEAD(&requester->user->requesters);
	INIT_LIST_HEAD(&requester->turn);
	INIT_LIST_HEAD(&requester->waiting);
	return_ptr(requester);
}

struct npu_queue_user *npumem_queue_join(struct npu_requester *requester)
{
	struct npu_queue_user *own = requester->user;
	struct npu_queue_user *user = queue_user_find(own->uid);

	if (!user) {
		list_add(&own->link, &npumem_queue_users);
		user = own;
		own = NULL;
	}
	user->files++;
	requester->user = user;
	return own;
}

struct npu_queue_user *npumem_queue_leave(struct npu_requester *requester)
{
	struct npu_queue_user *user = requester->user;

	WARN_ON(requester->count);
	if (--user->files)
		return NULL;
	list_del(&user->link);
	return user;
}
