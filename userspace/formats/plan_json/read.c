// SPDX-License-Identifier: MIT
/*
 * Plan JSON, read. Every field is checked by name: one that is missing, unknown,
 * of the wrong type or beyond its range is an error that names it.
 */
#include <stdlib.h>
#include <string.h>

#include "output/names.h"
#include "output/piece.h"
#include "plan_json.h"

#define HOST_SLOT_ALIGN 64

uint32_t plan_json_tensor(struct plan_json_reader *r, const json_t *object, const char *field)
{
	int64_t id = npujson_int(r->json, object, field, INT64_MIN, INT64_MAX);
	uint32_t tensor = npuplan_ids_tensor(&r->ids, json_object_get(object, field));

	if (tensor == NPUMEM_NONE)
		npujson_fail(r->json, field, "graph %s has no tensor with id %lld", r->graph->name,
			     (long long)id);
	return r->json->err ? 0 : tensor;
}

/* The schedule repeats the accesses of each step; they must be the graph's. */
static void check_accesses(struct plan_json_reader *r, const json_t *entry, const char *field,
			   uint32_t step, uint32_t mode)
{
	json_t *said = json_object_get(entry, field), *expected;

	if (!said)
		return;
	expected = npuplan_json_accesses(r->graph, step, mode);
	if (!json_equal(said, expected))
		npujson_fail(r->json, field, "not what the graph's step accesses");
	json_decref(expected);
}

static void read_step(struct plan_json_reader *r, json_t *entry, struct npumem_position *position)
{
	static const char *const op_fields[] = { "op", "tile", "reads", "writes", NULL };
	static const char *const step_fields[] = { "step", NULL };
	uint32_t tile;
	int64_t op;

	position->kind = NPUMEM_POSITION_STEP;
	position->placement = NPUMEM_NONE;
	if (!json_object_get(entry, "op")) {
		npujson_object(r->json, entry, step_fields);
		position->index = npujson_int(r->json, entry, "step", 0, UINT32_MAX);
		if (position->index >= r->graph->step_count)
			npujson_fail(r->json, "step", "graph %s has %u steps", r->graph->name,
				     r->graph->step_count);
		return;
	}
	npujson_object(r->json, entry, op_fields);
	tile = npujson_int_or(r->json, entry, "tile", 0, UINT32_MAX, 0);
	op = npujson_int(r->json, entry, "op", INT64_MIN, INT64_MAX);
	position->index = npujson_find(r->ids.steps, r->ids.step_count, op, tile);
	if (position->index == NPUMEM_NONE)
		npujson_fail(r->json, "op", "graph %s has no tile %u of an operator with id %lld",
			     r->graph->name, tile, (long long)op);
	if (r->json->err)
		return;
	check_accesses(r, entry, "reads", position->index, NPUMEM_ACCESS_READ);
	check_accesses(r, entry, "writes", position->index, NPUMEM_ACCESS_WRITE);
}

/* Placement of a transfer that does not name it: the one valid at its position. */
static uint32_t default_placement(struct plan_json_reader *r, uint32_t index, uint32_t tensor)
{
	for (uint32_t i = 0; i < r->plan->placement_count; i++) {
		const struct npumem_placement *placement = &r->plan->placements[i];

		if (placement->tensor == tensor && placement->from <= index &&
		    placement->to >= index)
			return i;
	}
	npujson_fail(r->json, "placement", "missing, and none of the tensor holds at position %u",
		     index);
	return NPUMEM_NONE;
}

static void read_transfer(struct plan_json_reader *r, json_t *entry, uint32_t index, uint32_t kind,
			  struct npumem_position *position)
{
	const char *const known[] = {
		npuplan_transfer_names[kind], "placement", "first", "length", "host_offset", NULL
	};
	bool drop = kind == NPUMEM_POSITION_DROP;
	uint64_t length, host, end;
	int64_t placement;

	npujson_object(r->json, entry, known);
	*position = (struct npumem_position){
		.kind = kind,
		.index = plan_json_tensor(r, entry, known[0]),
		.placement = NPUMEM_NONE,
	};
	placement = npujson_int_or(r->json, entry, "placement", -1,
				   (int64_t)r->plan->placement_count - 1, -1);
	if (r->json->err)
		return;
	if (placement >= 0)
		position->placement = placement;
	else if (!drop && !json_object_get(entry, "placement"))
		position->placement = default_placement(r, index, position->index);
	position->first = npujson_int_or(r->json, entry, "first", 0, INT64_MAX, 0);
	length = r->graph->tensors[position->index].size;
	length = position->first < length ? length - position->first : 0;
	length = npujson_int_or(r->json, entry, "length", 0, INT64_MAX, length);
	if (r->json->err)
		return;
	/* What is dropped goes nowhere. */
	host = drop ? 0 : r->host[position->index];
	if (host == UINT64_MAX) {
		host = (r->plan->info.host_size + HOST_SLOT_ALIGN - 1) & -(uint64_t)HOST_SLOT_ALIGN;
		r->host[position->index] = host;
	}
	if (!drop)
		host += position->first;
	host = npujson_int_or(r->json, entry, "host_offset", 0, INT64_MAX, host);
	position->length = length;
	position->host_offset = host;
	if (__builtin_add_overflow(host, length, &end) || end > INT64_MAX)
		npujson_fail(r->json, "host_offset", "beyond 2^63 bytes");
	else if (!drop && r->plan->info.host_size < end)
		r->plan->info.host_size = end;
}

static void read_schedule(struct plan_json_reader *r, const json_t *list)
{
	struct npujson_walk walk = npujson_walk(r->json, list, "schedule");
	struct npuplan_plan *plan = r->plan;
	json_t *entry;

	plan->positions = npujson_alloc(r->json, json_array_size(list), sizeof(*plan->positions));
	r->host = npujson_alloc(r->json, r->graph->tensor_count, sizeof(*r->host));
	for (uint32_t i = 0; i < r->graph->tensor_count && !r->json->err; i++)
		r->host[i] = UINT64_MAX;
	while ((entry = npujson_next(&walk))) {
		uint32_t kind = NPUMEM_POSITION_STORE, index = plan->position_count++;

		while (kind && !json_object_get(entry, npuplan_transfer_names[kind]))
			kind--;
		if (kind)
			read_transfer(r, entry, index, kind, &plan->positions[index]);
		else
			read_step(r, entry, &plan->positions[index]);
	}
}

/* Array of one integer for each dimension of a region. */
static void read_dims(struct plan_json_reader *r, const json_t *object, const char *field,
		      int64_t max, int64_t dims[NPUMEM_REGION_DIMS])
{
	npujson_ints(r->json, object, field, true, NPUMEM_REGION_DIMS, NPUMEM_REGION_DIMS, 0, max,
		     dims);
}

static void read_region(struct plan_json_reader *r, const json_t *entry,
			struct npumem_placement *placement)
{
	static const char *const known[] = { "offset", "length", "count", "stride", NULL };
	json_t *object = json_object_get(entry, "region");
	int64_t apart[NPUMEM_REGION_DIMS] = { 0 }, count[NPUMEM_REGION_DIMS] = { 0 };
	int64_t stride[NPUMEM_REGION_DIMS] = { 0 };
	size_t outside;

	read_dims(r, entry, "stride", INT64_MAX, apart);
	outside = npujson_enter(r->json, ".region");
	npujson_object(r->json, object, known);
	placement->region.offset = npujson_int(r->json, object, "offset", 0, INT64_MAX);
	placement->region.length = npujson_int(r->json, object, "length", 0, INT64_MAX);
	read_dims(r, object, "count", UINT32_MAX, count);
	read_dims(r, object, "stride", INT64_MAX, stride);
	npujson_leave(r->json, outside);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		placement->stride[d] = apart[d];
		placement->region.count[d] = count[d];
		placement->region.stride[d] = stride[d];
	}
}

static void read_piece(struct plan_json_reader *r, const json_t *entry,
		       struct npumem_placement *placement)
{
	int64_t rows[2] = { 0 }, channels[2] = { 0 };
	struct npuplan_spatial spatial;
	struct npuplan_piece piece;
	int err;

	if (!npuplan_spatial(r->graph, placement->tensor, &spatial)) {
		npujson_fail(r->json, "rows", "the tensor's shape has no rows");
		return;
	}
	rows[1] = spatial.rows;
	channels[1] = spatial.channels;
	npujson_ints(r->json, entry, "rows", false, 2, 2, 0, INT64_MAX, rows);
	npujson_ints(r->json, entry, "channels", false, 2, 2, 0, INT64_MAX, channels);
	piece = (struct npuplan_piece){
		.rows = { rows[0], rows[1] },
		.channels = { channels[0], channels[1] },
		.row_stride = npujson_int_or(r->json, entry, "row_stride", 0, INT64_MAX, 0),
		.ring = placement->ring,
	};
	if (r->json->err)
		return;
	err = npuplan_piece_set(&spatial, &piece, placement);
	if (err == -EOPNOTSUPP) {
		npujson_fail(r->json, "rows",
			     "not one placement in this layout; say it as region and stride");
		r->json->err = err;
	} else if (err) {
		npujson_fail(r->json, "rows",
			     "not in the tensor, or row_stride is less than a row");
	}
}

/* @last: position; @blocks: instances of blocks */
static void read_placement(struct plan_json_reader *r, json_t *entry, int64_t last, int64_t blocks,
			   struct npumem_placement *placement)
{
	static const char *const known[] = { "tensor", "offset",   "from",	 "to",
					     "rows",   "channels", "row_stride", "ring",
					     "region", "stride",   "block",	 NULL };
	bool rows = json_object_get(entry, "rows") || json_object_get(entry, "channels") ||
		    json_object_get(entry, "row_stride");

	npujson_object(r->json, entry, known);
	placement->tensor = plan_json_tensor(r, entry, "tensor");
	placement->offset = npujson_int(r->json, entry, "offset", 0, INT64_MAX);
	placement->from = npujson_int(r->json, entry, "from", 0, last);
	placement->to = npujson_int(r->json, entry, "to", 0, last);
	if (placement->from > placement->to)
		npujson_fail(r->json, "from", "%u is after to, %u", placement->from, placement->to);
	placement->ring = npujson_int_or(r->json, entry, "ring", 0, UINT32_MAX, 0);
	placement->block = npujson_int_or(r->json, entry, "block", 0, blocks ? blocks - 1 : 0, 0);
	if (r->json->err)
		return;
	placement->region = (struct npumem_region){
		.length = r->graph->tensors[placement->tensor].size,
		.count = { 1, 1, 1 },
	};
	if (json_object_get(entry, "region") && rows)
		npujson_fail(r->json, "region", "and rows or channels exclude each other");
	else if (json_object_get(entry, "region"))
		read_region(r, entry, placement);
	else if (json_object_get(entry, "stride"))
		npujson_fail(r->json, "stride", "without a region");
	else if (rows || placement->ring)
		read_piece(r, entry, placement);
}

static void read_placements(struct plan_json_reader *r, const json_t *list, size_t positions,
			    const json_t *blocks)
{
	struct npujson_walk walk = npujson_walk(r->json, list, "placements");
	/* An instance without positions, the last one, stands behind all of them. */
	uint64_t last = positions && !json_array_size(blocks) ? positions - 1 : positions;
	struct npuplan_plan *plan = r->plan;
	json_t *entry;

	plan->placements = npujson_alloc(r->json, json_array_size(list), sizeof(*plan->placements));
	while ((entry = npujson_next(&walk)))
		read_placement(r, entry, last, json_array_size(blocks),
			       &plan->placements[plan->placement_count++]);
}

/*
 * The figures of planner cosma, which the plan gets with the first one that is read. NULL: out of
 * memory.
 */
static struct npuplan_cosma_result *cosma_result(struct plan_json_reader *r)
{
	if (!r->plan->cosma)
		r->plan->cosma = npujson_alloc(r->json, 1, sizeof(*r->plan->cosma));
	return r->plan->cosma;
}

static void read_traffic(struct plan_json_reader *r, json_t *object)
{
	static const char *const known[] = { "spill", "fill", "compulsory", "lower_bound", NULL };
	struct npumem_plan_info *info = &r->plan->info;
	uint64_t bound;
	size_t outside;

	if (!object)
		return;
	outside = npujson_enter(r->json, "traffic");
	npujson_object(r->json, object, known);
	info->spill_bytes = npujson_int_or(r->json, object, "spill", 0, INT64_MAX, 0);
	info->fill_bytes = npujson_int_or(r->json, object, "fill", 0, INT64_MAX, 0);
	info->load_bytes = npujson_int_or(r->json, object, "compulsory", 0, INT64_MAX, 0);
	bound = npujson_int_or(r->json, object, "lower_bound", 0, INT64_MAX, 0);
	if (bound && cosma_result(r)) {
		r->plan->cosma->traffic_bound = bound;
		r->plan->claims |= NPUPLAN_CLAIM_TRAFFIC_BOUND;
	}
	npujson_leave(r->json, outside);
}

static void read_banks(struct plan_json_reader *r, const json_t *list)
{
	static const char *const known[] = { "size", "bandwidth", NULL };
	struct npujson_walk walk = npujson_walk(r->json, list, "banks");
	struct npuplan_bank *bank;
	json_t *entry;

	if (list && json_array_size(list) != NPUPLAN_BANKS)
		npujson_fail(r->json, "banks", "must be a list of %d", NPUPLAN_BANKS);
	if (!list || !cosma_result(r))
		return;
	for (bank = r->plan->cosma->banks; (entry = npujson_next(&walk)); bank++) {
		npujson_object(r->json, entry, known);
		bank->size = npujson_int(r->json, entry, "size", 1, INT64_MAX);
		bank->bandwidth = npujson_int(r->json, entry, "bandwidth", 1, INT64_MAX);
	}
}

/* Bytes of the arena from the first of a placement to its last, or as many as fit 64 bits. */
static uint64_t extent(const struct npumem_placement *placement)
{
	uint64_t bytes = placement->region.length, more;

	for (int d = 0; d < 3; d++)
		if (placement->region.count[d] &&
		    (__builtin_mul_overflow(placement->region.count[d] - 1, placement->stride[d],
					    &more) ||
		     __builtin_add_overflow(bytes, more, &bytes)))
			return UINT64_MAX;
	return bytes;
}

/* No placement lies in both banks: whoever reads one address twice finds one speed. */
static void check_banks(struct plan_json_reader *r)
{
	const struct npuplan_plan *plan = r->plan;
	uint64_t end = plan->cosma ? plan->cosma->banks[0].size : 0;

	if (!end)
		return;
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *placement = &plan->placements[i];

		if (placement->offset < end && extent(placement) > end - placement->offset)
			npujson_fail(r->json, "banks", "placements[%u] lies in both of them", i);
	}
	if (plan->info.arena_size > end && plan->info.arena_size - end > plan->cosma->banks[1].size)
		npujson_fail(r->json, "banks", "the arena is larger than both of them");
}

static void read_cores(struct plan_json_reader *r, const json_t *list)
{
	static const char *const known[] = { "name", "size", NULL };
	struct npujson_walk walk = npujson_walk(r->json, list, "cores");
	json_t *entry;

	if (list && (!json_array_size(list) || json_array_size(list) > NPUPLAN_CORES))
		npujson_fail(r->json, "cores", "must be a list of 1 to %d", NPUPLAN_CORES);
	if (!list || !cosma_result(r))
		return;
	while ((entry = npujson_next(&walk))) {
		struct npuplan_core *core = &r->plan->cosma->cores[walk.count - 1].core;
		const char *name;

		npujson_object(r->json, entry, known);
		name = npujson_text(r->json, entry, "name", NULL);
		if (!*name || strlen(name) >= sizeof(core->name))
			npujson_fail(r->json, "name", "must have 1 to %zu bytes",
				     sizeof(core->name) - 1);
		else
			snprintf(core->name, sizeof(core->name), "%s", name);
		core->size = npujson_int(r->json, entry, "size", 1, (1ll << 60) - 1);
		r->plan->cosma->core_count = (uint32_t)walk.count;
	}
}

/* No placement lies in two cores. Which of them runs an operator is not said, and not asked. */
static void check_cores(struct plan_json_reader *r)
{
	const struct npuplan_plan *plan = r->plan;
	uint32_t count = plan->cosma ? plan->cosma->core_count : 0;
	uint64_t end = 0;

	for (uint32_t c = 0; c < count; c++) {
		end += plan->cosma->cores[c].core.size;
		for (uint32_t i = 0; i < plan->placement_count; i++) {
			const struct npumem_placement *placement = &plan->placements[i];

			if (placement->offset < end && extent(placement) > end - placement->offset)
				npujson_fail(r->json, "cores",
					     "placements[%u] is not in one of them", i);
		}
	}
	for (uint32_t c = 0; c < count; c++)
		for (uint32_t b = 0; b < c; b++)
			if (!strcmp(plan->cosma->cores[b].core.name,
				    plan->cosma->cores[c].core.name))
				npujson_fail(r->json, "cores", "there are two cores '%s'",
					     plan->cosma->cores[c].core.name);
	if (count && plan->cosma->banks[0].size)
		npujson_fail(r->json, "cores", "excludes banks");
	if (count && plan->info.arena_size > end)
		npujson_fail(r->json, "cores", "the arena is larger than all of them");
}

static void read_info(struct plan_json_reader *r, const json_t *root)
{
	static const struct {
		const char *field;
		uint32_t claim;
	} claims[] = {
		{ "lower_bound", NPUPLAN_CLAIM_LOWER_BOUND },
		{ "status", NPUPLAN_CLAIM_STATUS },
		{ "traffic", NPUPLAN_CLAIM_TRAFFIC },
		{ "alignment", NPUPLAN_CLAIM_ALIGNMENT },
	};
	struct npumem_plan_info *info = &r->plan->info;
	const char *planner;

	npujson_text(r->json, root, "graph", NULL);
	planner = npujson_text(r->json, root, "planner", "");
	if (strlen(planner) >= sizeof(info->planner))
		npujson_fail(r->json, "planner", "must be a string of at most %zu bytes",
			     sizeof(info->planner) - 1);
	snprintf(info->planner, sizeof(info->planner), "%s", planner);
	info->status = npujson_choice(r->json, root, "status", false, npuplan_status_names, 0);
	info->arena_size = npujson_int(r->json, root, "arena", 0, INT64_MAX);
	info->alignment = npujson_int_or(r->json, root, "alignment", 0, 65536, 1);
	if (!info->alignment || (info->alignment & (info->alignment - 1)))
		npujson_fail(r->json, "alignment", "%u is not a power of two", info->alignment);
	info->lower_bound = npujson_int_or(r->json, root, "lower_bound", 0, INT64_MAX, 0);
	info->work = npujson_int_or(r->json, root, "work", 0, INT64_MAX, 0);
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		if (json_object_get(root, claims[i].field))
			r->plan->claims |= claims[i].claim;
	read_traffic(r, json_object_get(root, "traffic"));
}

#define DIGEST_PREFIX "sha256:"

/* "sha256:" and 64 small hexadecimal digits. */
static bool is_digest(const char *text)
{
	size_t prefix = strlen(DIGEST_PREFIX), digits = 2 * NPUPLAN_DIGEST_SIZE;

	return text && !strncmp(text, DIGEST_PREFIX, prefix) &&
	       strspn(text + prefix, "0123456789abcdef") == digits && !text[prefix + digits];
}

/* Whether the plan is of this very graph; names are for people where a digest says so. */
static void check_graph(struct plan_json_reader *r, const json_t *root)
{
	const char *name = npujson_text(r->json, root, "graph", NULL);
	const char *text = json_string_value(json_object_get(root, "digest"));
	struct npuplan_digest_text own;

	r->plan->unbound = !json_object_get(root, "digest");
	if (r->plan->unbound) {
		if (strcmp(name, r->graph->name))
			npujson_fail(r->json, "graph",
				     "the plan is for %s, the graph is %s, and the plan has no "
				     "digest that says more than names",
				     name, r->graph->name);
		return;
	}
	if (!is_digest(text)) {
		npujson_fail(r->json, "digest",
			     "must be \"" DIGEST_PREFIX "\" and %d small hexadecimal digits",
			     2 * NPUPLAN_DIGEST_SIZE);
		return;
	}
	own = npuplan_digest_text(r->graph);
	if (strcmp(text, own.s))
		npujson_fail(r->json, "digest",
			     "the plan is for %.100s, %.19s, the graph at hand is %.100s, %.19s",
			     name, text, r->graph->name, own.s);
}

/* Fields in which the plan repeats what the graph says must agree with it. */
static void read_rest(struct plan_json_reader *r, const json_t *root)
{
	const json_t *seconds = json_object_get(root, "seconds");
	uint64_t needed = r->plan->info.host_size;
	json_t *external, *id;
	uint32_t count = 0;
	size_t i;

	if (seconds && (!json_is_number(seconds) || json_number_value(seconds) < 0))
		npujson_fail(r->json, "seconds", "must be a number of 0 or more");
	external = npujson_list(r->json, root, "external", false);
	for (uint32_t t = 0; external && t < r->graph->tensor_count; t++)
		count += !!(r->graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_EXTERNAL);
	if (external && json_array_size(external) != count)
		npujson_fail(r->json, "external", "graph %s has %u external tensors",
			     r->graph->name, count);
	json_array_foreach(external, i, id) {
		uint32_t tensor = npuplan_ids_tensor(&r->ids, id);

		if (tensor == NPUMEM_NONE ||
		    !(r->graph->tensors[tensor].flags & NPUMEM_TENSOR_FLAG_EXTERNAL))
			npujson_fail(r->json, "external", "entry %zu is no external tensor", i);
	}
	r->plan->info.host_size = npujson_int_or(r->json, root, "host", 0, INT64_MAX, needed);
	if (r->plan->info.host_size < needed)
		npujson_fail(r->json, "host", "transfers need %llu bytes",
			     (unsigned long long)needed);
}

static void read_root(struct plan_json_reader *r, json_t *root)
{
	static const char *const known[] = {
		"digest",    "graph",	    "planner", "status",   "arena",
		"alignment", "lower_bound", "traffic", "work",	   "host",
		"tiling",    "banks",	    "cores",   "schedule", "placements",
		"external",  "views",	    "blocks",  "seconds",  NULL,
	};
	const json_t *schedule, *placements;

	npujson_object(r->json, root, known);
	read_info(r, root);
	plan_json_check_tiling(r, root);
	check_graph(r, root);
	read_banks(r, json_object_get(root, "banks"));
	read_cores(r, json_object_get(root, "cores"));
	schedule = npujson_list(r->json, root, "schedule", true);
	placements = npujson_list(r->json, root, "placements", true);
	/* Placements first: transfers speak of them. */
	read_placements(r, placements, json_array_size(schedule), json_object_get(root, "blocks"));
	read_schedule(r, schedule);
	plan_json_read_flow(r, root);
	check_banks(r);
	check_cores(r);
	read_rest(r, root);
}

static json_t *load(const char *text, size_t size, struct npujson *json)
{
	json_error_t where;
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);

	if (!root)
		json->err = npuplan_fail(json->error, -EBADMSG, "not JSON: line %d, column %d: %s",
					 where.line, where.column, where.text);
	return root;
}

int npuplan_json_tiling(const struct npuplan_graph *graph, const char *text, size_t size,
			struct npuplan_tiling *tiling, struct npuplan_error *error)
{
	struct npujson json = { .error = error };
	struct plan_json_reader r = { .graph = graph, .json = &json };
	json_t *root = load(text, size, &json);

	*tiling = (struct npuplan_tiling){ 0 };
	if (root && !json_is_object(root))
		npujson_fail(&json, NULL, "must be an object");
	plan_json_read_tiling(&r, root, tiling);
	json_decref(root);
	return json.err;
}

int npuplan_json_external(struct npuplan_graph *graph, const char *text, size_t size,
			  struct npuplan_error *error)
{
	struct npujson json = { .error = error };
	json_t *root = load(text, size, &json);
	const json_t *external = json_object_get(root, "external");
	struct npuplan_ids ids;
	int err;

	if (!root)
		return json.err;
	err = npuplan_ids_init(&ids, graph, error);
	for (size_t i = 0; !err && i < json_array_size(external); i++) {
		uint32_t tensor = npuplan_ids_tensor(&ids, json_array_get(external, i));

		if (tensor != NPUMEM_NONE &&
		    !(graph->tensors[tensor].flags &
		      (NPUMEM_TENSOR_FLAG_ALIAS | NPUMEM_TENSOR_FLAG_FIXED)))
			graph->tensors[tensor].flags |= NPUMEM_TENSOR_FLAG_EXTERNAL;
	}
	npuplan_ids_fini(&ids);
	json_decref(root);
	return err;
}

int npuplan_plan_from_json(const struct npuplan_graph *graph, const char *text, size_t size,
			   struct npuplan_plan **out, struct npuplan_error *error)
{
	struct npujson json = { .error = error };
	struct plan_json_reader r = { .graph = graph, .json = &json };
	json_t *root = load(text, size, &json);

	if (!root)
		return json.err;
	json.err = npuplan_ids_init(&r.ids, graph, error);
	r.plan = npujson_alloc(&json, 1, sizeof(*r.plan));
	if (!json.err)
		read_root(&r, root);
	json_decref(root);
	npuplan_ids_fini(&r.ids);
	free(r.host);
	if (json.err) {
		npuplan_plan_free(r.plan);
		return json.err;
	}
	r.plan->peak_position = NPUMEM_NONE;
	*out = r.plan;
	return 0;
}
