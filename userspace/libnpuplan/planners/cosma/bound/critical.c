// SPDX-License-Identifier: MIT
/* Critical operators: those over which more must be kept than fits. */
#include <stdlib.h>
#include <string.h>

#include "critical.h"

/* Pairs of critical operator and tensor that are kept, at most. */
#define MAX_PAIRS (1u << 20)

/*
 * Operators that use the tensor, and whose output may take its bytes, but which others
 * use after them: so it is kept over them, or leaves with them to come back.
 */
static void cosma_yielding(const struct cosma_model *model, uint32_t x, uint64_t *members)
{
	cosma_for_each(k, model->consumers, x) {
		uint32_t v = model->consumers.item[k];
		bool later = false;

		if (model->staged[v] || !cosma_gives_way(model, v, x))
			continue;
		cosma_for_each(j, model->consumers, x)
			later |= cosma_before(model, v, model->consumers.item[j]);
		if (later)
			cosma_set(members, v);
	}
}

void cosma_relations(const struct cosma_model *model, uint32_t x, uint64_t *members,
		     uint64_t *adders)
{
	uint32_t from = model->producer[x], words = model->words;

	/* All that run before some use of it, but for those that touch it or come before it. */
	memset(adders, 0, words * sizeof(*adders));
	memset(members, 0, words * sizeof(*members));
	cosma_for_each(k, model->consumers, x) {
		const uint64_t *row = model->ancestors + (size_t)model->consumers.item[k] * words;

		for (uint32_t w = 0; w < words; w++)
			adders[w] |= row[w];
	}
	cosma_for_each(k, model->consumers, x)
		cosma_clear(adders, model->consumers.item[k]);
	cosma_yielding(model, x, members);
	if (from != NPUMEM_NONE) {
		const uint64_t *row = model->ancestors + (size_t)from * words;

		for (uint32_t w = 0; w < words; w++)
			adders[w] &= ~row[w];
		cosma_clear(adders, from);
	}
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t bits = adders[w]; bits; bits &= bits - 1) {
			uint32_t v = w * 64 + (uint32_t)__builtin_ctzll(bits);
			bool before = from == NPUMEM_NONE ? model->flags[x] & COSMA_ENTRY :
							    cosma_before(model, from, v);

			for (uint32_t k = model->consumers.first[x];
			     from == NPUMEM_NONE && k < model->consumers.first[x + 1] && !before;
			     k++)
				before = cosma_before(model, model->consumers.item[k], v);
			if (before)
				cosma_set(members, v);
		}
	for (uint32_t w = 0; w < words; w++)
		adders[w] &= ~members[w];
}

/**
 * struct finding - critical operators in the making
 * @members, @adders: of the tensor that is looked at, bits of operators
 * @critical: bits of operators; @number: of each one
 * @sum: per operator, of its members, and @more of its adders; @count, @adder_count
 */
struct finding {
	struct cosma_bounds *bounds;
	uint64_t *members;
	uint64_t *adders;
	uint64_t *critical;
	uint32_t *number;
	int64_t *sum;
	int64_t *more;
	uint32_t *count;
	uint32_t *adder_count;
};

static void add_up(struct finding *finding)
{
	const struct cosma_model *model = finding->bounds->model;

	for (uint32_t x = 0; x < model->tensor_count; x++) {
		cosma_relations(model, x, finding->members, finding->adders);
		for (uint32_t w = 0; w < model->words; w++) {
			for (uint64_t bits = finding->members[w]; bits; bits &= bits - 1) {
				uint32_t v = w * 64 + (uint32_t)__builtin_ctzll(bits);

				finding->sum[v] += model->size[x];
				finding->count[v]++;
			}
			for (uint64_t bits = finding->adders[w]; bits; bits &= bits - 1) {
				uint32_t v = w * 64 + (uint32_t)__builtin_ctzll(bits);

				finding->more[v] += model->size[x];
				finding->adder_count[v]++;
			}
		}
		finding->bounds->work += model->words;
	}
}

static int keep(struct finding *finding, uint32_t v, int64_t excess)
{
	struct cosma_bounds *bounds = finding->bounds;
	struct cosma_critical *critical;
	size_t room = (size_t)finding->count[v] + 1;

	if (npuplan_grow(&bounds->critical, bounds->critical_count, sizeof(*bounds->critical)))
		return -ENOMEM;
	critical = &bounds->critical[bounds->critical_count];
	*critical = (struct cosma_critical){
		.op = v,
		.group = NPUMEM_NONE,
		.member = malloc(room * sizeof(*critical->member)),
		.first = malloc(room * sizeof(*critical->first)),
		.bytes = malloc(room * sizeof(*critical->bytes)),
		.unit = calloc(room, sizeof(*critical->unit)),
		.excess = excess,
	};
	finding->number[v] = bounds->critical_count++;
	cosma_set(finding->critical, v);
	bounds->bytes +=
		sizeof(*critical) + room * (sizeof(*critical->member) + sizeof(*critical->unit));
	return critical->member && critical->unit ? 0 : -ENOMEM;
}

static int choose(struct finding *finding)
{
	struct cosma_bounds *bounds = finding->bounds;
	const struct cosma_model *model = bounds->model;
	uint64_t pairs = 0;
	int err = 0;

	for (uint32_t v = 0; v < model->op_count && !err; v++) {
		int64_t excess = model->need[v] - bounds->budget + finding->sum[v];
		uint64_t more = (uint64_t)finding->count[v] + finding->adder_count[v];

		/* Bounds get weaker without the rest, not wrong. */
		if (excess + finding->more[v] <= 0 || pairs + more > MAX_PAIRS)
			continue;
		pairs += more;
		err = keep(finding, v, excess);
	}
	bounds->bytes += pairs * sizeof(uint32_t);
	return err;
}

static int append(struct cosma_list *list, uint32_t *count, uint32_t value)
{
	if (npuplan_grow(&list->item, *count, sizeof(*list->item)))
		return -ENOMEM;
	list->item[(*count)++] = value;
	return 0;
}

/* Members by operator and by tensor, adders by tensor. */
static int list_pairs(struct finding *finding)
{
	struct cosma_bounds *bounds = finding->bounds;
	const struct cosma_model *model = bounds->model;
	uint32_t members = 0, adders = 0;
	int err = 0;

	bounds->of_member.first = calloc((size_t)model->tensor_count + 1, sizeof(uint32_t));
	bounds->of_adder.first = calloc((size_t)model->tensor_count + 1, sizeof(uint32_t));
	if (!bounds->of_member.first || !bounds->of_adder.first)
		return -ENOMEM;
	for (uint32_t x = 0; x < model->tensor_count && !err; x++) {
		if (bounds->critical_count)
			cosma_relations(model, x, finding->members, finding->adders);
		for (uint32_t w = 0; w < model->words && bounds->critical_count; w++) {
			uint64_t member = finding->members[w] & finding->critical[w];
			uint64_t adder = finding->adders[w] & finding->critical[w];

			for (; member && !err; member &= member - 1) {
				uint32_t i =
					finding->number[w * 64 + (uint32_t)__builtin_ctzll(member)];
				struct cosma_critical *critical = &bounds->critical[i];

				critical->first[critical->member_count] = NPUMEM_NONE;
				critical->bytes[critical->member_count] = model->size[x];
				critical->member[critical->member_count++] = x;
				err = append(&bounds->of_member, &members, i);
			}
			for (; adder && !err; adder &= adder - 1)
				err = append(
					&bounds->of_adder, &adders,
					finding->number[w * 64 + (uint32_t)__builtin_ctzll(adder)]);
		}
		bounds->of_member.first[x + 1] = members;
		bounds->of_adder.first[x + 1] = adders;
	}
	return err;
}

int cosma_critical_find(struct cosma_bounds *bounds)
{
	const struct cosma_model *model = bounds->model;
	size_t ops = (size_t)model->op_count + 1, words = (size_t)model->words + 1;
	struct finding finding = {
		.bounds = bounds,
		.members = malloc(words * sizeof(uint64_t)),
		.adders = malloc(words * sizeof(uint64_t)),
		.critical = calloc(words, sizeof(uint64_t)),
		.number = malloc(ops * sizeof(uint32_t)),
		.sum = calloc(ops, sizeof(int64_t)),
		.more = calloc(ops, sizeof(int64_t)),
		.count = calloc(ops, sizeof(uint32_t)),
		.adder_count = calloc(ops, sizeof(uint32_t)),
	};
	int err = -ENOMEM;

	if (finding.members && finding.adders && finding.critical && finding.number &&
	    finding.sum && finding.more && finding.count && finding.adder_count) {
		add_up(&finding);
		err = choose(&finding);
		err = err ? err : list_pairs(&finding);
	}
	free(finding.members);
	free(finding.adders);
	free(finding.critical);
	free(finding.number);
	free(finding.sum);
	free(finding.more);
	free(finding.count);
	free(finding.adder_count);
	return err;
}
