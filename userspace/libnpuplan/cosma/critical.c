// SPDX-License-Identifier: MIT
/* Critical operators: those over which more must be kept than fits. */
#include <stdlib.h>
#include <string.h>

#include "critical.h"

/* Pairs of critical operator and tensor that are kept, at most. */
#define MAX_PAIRS (1u << 20)

enum cosma_relation cosma_relation_of(const struct cosma_model *model, uint32_t x, uint32_t v)
{
	uint32_t from = model->producer[x];
	bool after = false, before = model->flags[x] & COSMA_ENTRY;

	if (from == v)
		return COSMA_APART;
	for
		cosma_each(k, model->consumers, x)
		{
			uint32_t user = model->consumers.item[k];

			if (user == v)
				return COSMA_APART;
			after |= cosma_before(model, v, user);
			before |= cosma_before(model, user, v);
		}
	if (!after || (from != NPUMEM_NONE && cosma_before(model, v, from)))
		return COSMA_APART;
	if (from != NPUMEM_NONE)
		return cosma_before(model, from, v) ? COSMA_MEMBER : COSMA_ADDER;
	return before ? COSMA_MEMBER : COSMA_ADDER;
}

static int keep(struct cosma_bounds *bounds, uint32_t v, const uint32_t *members, uint32_t count,
		int64_t excess)
{
	struct cosma_critical *critical;

	if (npuplan_grow(&bounds->critical, bounds->critical_count, sizeof(*bounds->critical)))
		return -ENOMEM;
	critical = &bounds->critical[bounds->critical_count];
	*critical = (struct cosma_critical){
		.op = v,
		.group = NPUMEM_NONE,
		.member_count = count,
		.member = malloc((count + 1) * sizeof(*critical->member)),
		.unit = calloc(count + 1, sizeof(*critical->unit)),
		.excess = excess,
	};
	bounds->critical_count++;
	if (!critical->member || !critical->unit)
		return -ENOMEM;
	memcpy(critical->member, members, count * sizeof(*members));
	return 0;
}

static int append(struct cosma_list *list, uint32_t *count, uint32_t value)
{
	if (npuplan_grow(&list->item, *count, sizeof(*list->item)))
		return -ENOMEM;
	list->item[(*count)++] = value;
	return 0;
}

/* The same by tensor. */
static int list_by_tensor(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	uint32_t members = 0, adders = 0;

	bounds->of_member.first = calloc(model->tensor_count + 1, sizeof(uint32_t));
	bounds->of_adder.first = calloc(model->tensor_count + 1, sizeof(uint32_t));
	if (!bounds->of_member.first || !bounds->of_adder.first)
		return -ENOMEM;
	for (uint32_t x = 0; x < model->tensor_count; x++) {
		for (uint32_t i = 0; i < bounds->critical_count; i++) {
			enum cosma_relation is =
				cosma_relation_of(model, x, bounds->critical[i].op);
			int err = 0;

			if (is == COSMA_MEMBER)
				err = append(&bounds->of_member, &members, i);
			else if (is == COSMA_ADDER)
				err = append(&bounds->of_adder, &adders, i);
			if (err)
				return err;
		}
		bounds->of_member.first[x + 1] = members;
		bounds->of_adder.first[x + 1] = adders;
	}
	return 0;
}

int cosma_critical_find(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	uint32_t *members = malloc(((size_t)model->tensor_count + 1) * sizeof(*members));
	uint64_t pairs = 0;
	int err = members ? 0 : -ENOMEM;

	for (uint32_t v = 0; v < model->op_count && !err; v++) {
		int64_t excess = model->need[v] - bounds->budget, more = 0;
		uint32_t count = 0, adders = 0;

		for (uint32_t x = 0; x < model->tensor_count; x++) {
			enum cosma_relation is = cosma_relation_of(model, x, v);

			if (is == COSMA_MEMBER) {
				members[count++] = x;
				excess += model->size[x];
			} else if (is == COSMA_ADDER) {
				more += model->size[x];
				adders++;
			}
		}
		bounds->work += model->tensor_count;
		/* Bounds get weaker without the rest, not wrong. */
		if (excess + more <= 0 || pairs + count + adders > MAX_PAIRS)
			continue;
		pairs += count + adders;
		err = keep(bounds, v, members, count, excess);
	}
	free(members);
	return err ? err : list_by_tensor(bounds);
}
