// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares of an engine's time, see job/fairq.c.
 */
#include "fair.h"

static void fair_init(struct npu_fair_node *n)
{
	RB_CLEAR_NODE(&n->node);
}

void npumem_fair_user_init(struct npu_fair_user *user)
{
	fair_init(&user->base);
	user->clients.tree = RB_ROOT_CACHED;
}

void npumem_fair_client_init(struct npu_fair_client *client, struct npu_fair_user *user)
{
	fair_init(&client->base);
	client->user = user;
	INIT_LIST_HEAD(&client->jobs);
}

void npumem_fairq_init(struct npu_fairq *q, u32 index, u32 depth)
{
	u32 level;

	spin_lock_init(&q->lock);
	for (level = 0; level < NPU_LEVELS; level++)
		q->users[level].tree = RB_ROOT_CACHED;
	q->index = index;
	q->depth = depth;
}

bool npumem_fairq_owes(struct npu_fairq *q, const struct npu_fair_user levels[NPU_LEVELS])
{
	unsigned long flags;
	bool owes = false;
	u32 level;

	spin_lock_irqsave(&q->lock, flags);
	for (level = 0; level < NPU_LEVELS; level++)
		owes |= levels[level].base.vtime > q->users[level].min_vtime;
	spin_unlock_irqrestore(&q->lock, flags);
	return owes;
}
