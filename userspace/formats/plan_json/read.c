// SPDX-License-Identifier: MIT
/*
 * Plan JSON, read. Every field is checked by name: one that is missing, unknown,
 * of the wrong type or beyond its range is an error that names it.
 */
#include <stdlib.h>
#include <string.h>

#include "output/piece.h"
#include "get.h"

#define HOST_SLOT_ALIGN 64

/* What the schedule says of a step's accesses must be what the graph says. */
static int check_accesses(struct plan_json_reader *r, const json_t *entry, const char *field,
			  uint32_t step, uint32_t mode)
{
	json_t *said = json_object_get(entry, field), *expected;
	bool same;

	if (!said)
		return 0;
	expected = npuplan_json_accesses(r->graph, step, mode);
	same = json_equal(said, expected);
	json_decref(expected);
	return same ? 0 : plan_json_fail(r, field, "not what the graph's step accesses");
}

static int read_step(struct plan_json_reader *r, const json_t *entry,
		     struct npumem_position *position)
{
	static const char *const op_fields[] = { "op", "tile", "reads", "writes", NULL };
	static const char *const step_fields[] = { "step", NULL };
	const json_t *op = json_object_get(entry, "op");
	uint64_t index, tile = 0;
	int err;

	position->kind = NPUMEM_POSITION_STEP;
	position->placement = NPUMEM_NONE;
	if (!op) {
		err = plan_json_fields(r, entry, step_fields);
		if (!err)
			err = plan_json_get(r, entry, "step", true, UINT32_MAX, &index);
		if (!err && index >= r->graph->step_count)
			err = plan_json_fail(r, "step", "graph %s has %u steps", r->graph->name,
					     r->graph->step_count);
		position->index = err ? 0 : index;
		return err;
	}
	err = plan_json_fields(r, entry, op_fields);
	if (!err)
		err = plan_json_get(r, entry, "tile", false, UINT32_MAX, &tile);
	if (err)
		return err;
	if (!json_is_integer(op))
		return plan_json_fail(r, "op", "expected an operator's id");
	position->index = npuplan_ids_step(&r->ids, json_integer_value(op), tile);
	if (position->index == NPUMEM_NONE)
		return plan_json_fail(r, "op",
				      "graph %s has no tile %llu of an operator with id %lld",
				      r->graph->name, (unsigned long long)tile,
				      (long long)json_integer_value(op));
	err = check_accesses(r, entry, "reads", position->index, NPUMEM_ACCESS_READ);
	if (!err)
		err = check_accesses(r, entry, "writes", position->index, NPUMEM_ACCESS_WRITE);
	return err;
}

/* Placement of a transfer that does not name it: the one valid at its position. */
static int default_placement(struct plan_json_reader *r, uint32_t index, uint32_t tensor,
			     uint32_t *out)
{
	for (uint32_t i = 0; i < r->plan->placement_count; i++) {
		const struct npumem_placement *placement = &r->plan->placements[i];

		if (placement->tensor == tensor && placement->from <= index &&
		    placement->to >= index) {
			*out = i;
			return 0;
		}
	}
	return plan_json_fail(r, "placement",
			      "missing, and none of the tensor holds at position %u", index);
}

static int read_transfer(struct plan_json_reader *r, const json_t *entry, uint32_t index,
			 uint32_t kind, struct npumem_position *position)
{
	const char *const known[] = {
		npuplan_transfer_names[kind], "placement", "first", "length", "host_offset", NULL
	};
	uint64_t first = 0, length, host, end;
	const json_t *placement = json_object_get(entry, "placement");
	int err;

	position->kind = kind;
	position->placement = NPUMEM_NONE;
	err = plan_json_fields(r, entry, known);
	if (!err)
		err = plan_json_tensor(r, entry, known[0], &position->index);
	if (!err && placement &&
	    (!json_is_integer(placement) || json_integer_value(placement) < -1 ||
	     json_integer_value(placement) >= r->plan->placement_count))
		err = plan_json_fail(r, "placement", "expected one of the %u placements, or -1",
				     r->plan->placement_count);
	if (err)
		return err;
	if (!placement && kind != NPUMEM_POSITION_DROP)
		err = default_placement(r, index, position->index, &position->placement);
	else if (placement && json_integer_value(placement) >= 0)
		position->placement = json_integer_value(placement);
	if (!err)
		err = plan_json_get(r, entry, "first", false, INT64_MAX, &first);
	if (err)
		return err;
	length = r->graph->tensors[position->index].size;
	length = first < length ? length - first : 0;
	err = plan_json_get(r, entry, "length", false, INT64_MAX, &length);
	if (err)
		return err;
	/* What is dropped goes nowhere. */
	host = kind == NPUMEM_POSITION_DROP ? 0 : r->host[position->index];
	if (host == UINT64_MAX) {
		host = (r->plan->info.host_size + HOST_SLOT_ALIGN - 1) & -(uint64_t)HOST_SLOT_ALIGN;
		r->host[position->index] = host;
	}
	if (kind != NPUMEM_POSITION_DROP)
		host += first;
	err = plan_json_get(r, entry, "host_offset", false, INT64_MAX, &host);
	if (err)
		return err;
	position->first = first;
	position->length = length;
	position->host_offset = host;
	if (__builtin_add_overflow(host, length, &end) || end > INT64_MAX)
		return plan_json_fail(r, "host_offset", "beyond 2^63 bytes");
	if (kind != NPUMEM_POSITION_DROP && r->plan->info.host_size < end)
		r->plan->info.host_size = end;
	return 0;
}

static int read_schedule(struct plan_json_reader *r, const json_t *list)
{
	size_t count = json_array_size(list);
	int err = 0;

	r->plan->positions = calloc(count + 1, sizeof(*r->plan->positions));
	r->host = malloc((size_t)r->graph->tensor_count * sizeof(*r->host) + 1);
	if (!r->plan->positions || !r->host)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < r->graph->tensor_count; i++)
		r->host[i] = UINT64_MAX;
	for (size_t i = 0; i < count && !err; i++) {
		const json_t *entry = json_array_get(list, i);
		uint32_t kind = NPUMEM_POSITION_STORE;

		snprintf(r->path, sizeof(r->path), "schedule[%zu]", i);
		while (kind && !json_object_get(entry, npuplan_transfer_names[kind]))
			kind--;
		if (kind)
			err = read_transfer(r, entry, i, kind, &r->plan->positions[i]);
		else
			err = read_step(r, entry, &r->plan->positions[i]);
		r->plan->position_count = i + 1;
	}
	return err;
}

static int read_region(struct plan_json_reader *r, const json_t *entry,
		       struct npumem_placement *placement)
{
	static const char *const known[] = { "offset", "length", "count", "stride", NULL };
	const json_t *object = json_object_get(entry, "region");
	uint64_t count[NPUMEM_REGION_DIMS], stride[NPUMEM_REGION_DIMS], offset, length;
	char path[sizeof(r->path)];
	int err;

	err = plan_json_list(r, entry, "stride", NPUMEM_REGION_DIMS, INT64_MAX, stride);
	if (err)
		return err;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		placement->stride[d] = stride[d];
	memcpy(path, r->path, sizeof(path));
	snprintf(r->path, sizeof(r->path), "%.36s.region", path);
	err = plan_json_fields(r, object, known);
	if (!err)
		err = plan_json_get(r, object, "offset", true, INT64_MAX, &offset);
	if (!err)
		err = plan_json_get(r, object, "length", true, INT64_MAX, &length);
	if (!err)
		err = plan_json_list(r, object, "count", NPUMEM_REGION_DIMS, UINT32_MAX, count);
	if (!err)
		err = plan_json_list(r, object, "stride", NPUMEM_REGION_DIMS, INT64_MAX, stride);
	memcpy(r->path, path, sizeof(path));
	if (err)
		return err;
	placement->region.offset = offset;
	placement->region.length = length;
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		placement->region.count[d] = count[d];
		placement->region.stride[d] = stride[d];
	}
	return 0;
}

static int read_piece(struct plan_json_reader *r, const json_t *entry,
		      struct npumem_placement *placement)
{
	uint64_t rows[2], channels[2], row_stride = 0, ring = placement->ring;
	struct npuplan_spatial spatial;
	struct npuplan_piece piece;
	int err;

	if (!npuplan_spatial(r->graph, placement->tensor, &spatial))
		return plan_json_fail(r, "rows", "the tensor's shape has no rows");
	channels[0] = 0;
	channels[1] = spatial.channels;
	rows[0] = 0;
	rows[1] = spatial.rows;
	err = json_object_get(entry, "rows") ?
		      plan_json_list(r, entry, "rows", 2, INT64_MAX, rows) :
		      0;
	if (!err && json_object_get(entry, "channels"))
		err = plan_json_list(r, entry, "channels", 2, INT64_MAX, channels);
	if (!err)
		err = plan_json_get(r, entry, "row_stride", false, INT64_MAX, &row_stride);
	if (err)
		return err;
	piece = (struct npuplan_piece){
		.rows = { rows[0], rows[1] },
		.channels = { channels[0], channels[1] },
		.row_stride = row_stride,
		.ring = ring,
	};
	err = npuplan_piece_set(&spatial, &piece, placement);
	if (err == -EOPNOTSUPP) {
		plan_json_fail(r, "rows",
			       "not one placement in this layout; say it as region and stride");
		return err;
	}
	return err ? plan_json_fail(r, "rows",
				    "not in the tensor, or row_stride is less than a row") :
		     0;
}

/* @last: position; @blocks: instances of blocks */
static int read_placement(struct plan_json_reader *r, const json_t *entry, uint64_t last,
			  uint64_t blocks, struct npumem_placement *placement)
{
	static const char *const known[] = { "tensor", "offset",   "from",	 "to",
					     "rows",   "channels", "row_stride", "ring",
					     "region", "stride",   "block",	 NULL };
	bool rows = json_object_get(entry, "rows") || json_object_get(entry, "channels") ||
		    json_object_get(entry, "row_stride");
	uint64_t offset, from, to, ring = 0, block = 0;
	int err;

	err = plan_json_fields(r, entry, known);
	if (!err)
		err = plan_json_tensor(r, entry, "tensor", &placement->tensor);
	if (!err)
		err = plan_json_get(r, entry, "offset", true, INT64_MAX, &offset);
	if (!err)
		err = plan_json_get(r, entry, "from", true, last, &from);
	if (!err)
		err = plan_json_get(r, entry, "to", true, last, &to);
	if (!err && from > to)
		err = plan_json_fail(r, "from", "%llu is after to, %llu", (unsigned long long)from,
				     (unsigned long long)to);
	if (!err)
		err = plan_json_get(r, entry, "ring", false, UINT32_MAX, &ring);
	if (!err)
		err = plan_json_get(r, entry, "block", false, blocks ? blocks - 1 : 0, &block);
	if (err)
		return err;
	placement->offset = offset;
	placement->from = from;
	placement->to = to;
	placement->ring = ring;
	placement->block = block;
	placement->region = (struct npumem_region){
		.length = r->graph->tensors[placement->tensor].size,
		.count = { 1, 1, 1 },
	};
	if (json_object_get(entry, "region")) {
		if (rows)
			return plan_json_fail(r, "region",
					      "and rows or channels exclude each other");
		return read_region(r, entry, placement);
	}
	if (json_object_get(entry, "stride"))
		return plan_json_fail(r, "stride", "without a region");
	return rows || ring ? read_piece(r, entry, placement) : 0;
}

static int read_placements(struct plan_json_reader *r, const json_t *list, size_t positions,
			   const json_t *blocks)
{
	size_t count = json_array_size(list);
	/* An instance without positions, the last one, stands behind all of them. */
	uint64_t last = positions && !json_array_size(blocks) ? positions - 1 : positions;
	int err = 0;

	r->plan->placements = calloc(count + 1, sizeof(*r->plan->placements));
	if (!r->plan->placements)
		return npuplan_fail(r->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count && !err; i++) {
		snprintf(r->path, sizeof(r->path), "placements[%zu]", i);
		err = read_placement(r, json_array_get(list, i), last, json_array_size(blocks),
				     &r->plan->placements[i]);
		r->plan->placement_count = i + 1;
	}
	return err;
}

static int read_traffic(struct plan_json_reader *r, const json_t *object)
{
	static const char *const known[] = { "spill", "fill", "compulsory", "lower_bound", NULL };
	struct npumem_plan_info *info = &r->plan->info;
	uint64_t numbers[4] = { 0 };
	int err = 0;

	if (!object)
		return 0;
	snprintf(r->path, sizeof(r->path), "traffic");
	err = plan_json_fields(r, object, known);
	for (int i = 0; i < 4 && !err; i++)
		err = plan_json_get(r, object, known[i], false, INT64_MAX, &numbers[i]);
	r->path[0] = '\0';
	info->spill_bytes = numbers[0];
	info->fill_bytes = numbers[1];
	info->load_bytes = numbers[2];
	r->plan->traffic_bound = numbers[3];
	if (numbers[3])
		r->plan->claims |= NPUPLAN_CLAIM_TRAFFIC_BOUND;
	return err;
}

static int read_banks(struct plan_json_reader *r, const json_t *list)
{
	static const char *const known[] = { "size", "bandwidth", NULL };
	int err = 0;

	if (!list)
		return 0;
	if (json_array_size(list) != NPUPLAN_BANKS)
		return plan_json_fail(r, "banks", "expected an array of %d", NPUPLAN_BANKS);
	for (int b = 0; b < NPUPLAN_BANKS && !err; b++) {
		const json_t *entry = json_array_get(list, b);
		struct npuplan_bank *bank = &r->plan->banks[b];

		snprintf(r->path, sizeof(r->path), "banks[%d]", b);
		err = plan_json_fields(r, entry, known);
		if (!err)
			err = plan_json_get(r, entry, "size", true, INT64_MAX, &bank->size);
		if (!err)
			err = plan_json_get(r, entry, "bandwidth", true, INT64_MAX,
					    &bank->bandwidth);
		if (!err && (!bank->size || !bank->bandwidth))
			err = plan_json_fail(r, bank->size ? "bandwidth" : "size", "0 is none");
	}
	r->path[0] = '\0';
	return err;
}

/* No placement lies in both banks: whoever reads one address twice finds one speed. */
static int check_banks(struct plan_json_reader *r)
{
	const struct npuplan_plan *plan = r->plan;
	uint64_t end = plan->banks[0].size;

	for (uint32_t i = 0; i < plan->placement_count && end; i++) {
		const struct npumem_placement *placement = &plan->placements[i];

		if (placement->offset < end && placement->region.length > end - placement->offset)
			return plan_json_fail(r, "banks", "placements[%u] lies in both of them", i);
	}
	if (end && plan->info.arena_size > end && plan->info.arena_size - end > plan->banks[1].size)
		return plan_json_fail(r, "banks", "the arena is larger than both of them");
	return 0;
}

static int read_info(struct plan_json_reader *r, const json_t *root)
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
	const json_t *name = json_object_get(root, "graph");
	const json_t *planner = json_object_get(root, "planner");
	const json_t *status = json_object_get(root, "status");
	uint64_t arena, alignment = 1, bound = 0, work = 0;
	int err;

	if (!json_is_string(name))
		return plan_json_fail(r, "graph", name ? "expected a string" : "missing");
	if (planner &&
	    (!json_is_string(planner) || json_string_length(planner) >= sizeof(info->planner)))
		return plan_json_fail(r, "planner", "expected a string of at most %zu bytes",
				      sizeof(info->planner) - 1);
	if (planner)
		snprintf(info->planner, sizeof(info->planner), "%s", json_string_value(planner));
	if (status) {
		const char *text = json_string_value(status);

		info->status = 0;
		while (text && info->status < 4 && strcmp(text, npuplan_status_names[info->status]))
			info->status++;
		if (!text || info->status == 4)
			return plan_json_fail(r, "status",
					      "expected optimal, feasible, infeasible or unknown");
	}
	err = plan_json_get(r, root, "arena", true, INT64_MAX, &arena);
	if (!err)
		err = plan_json_get(r, root, "alignment", false, 65536, &alignment);
	if (!err && (!alignment || (alignment & (alignment - 1))))
		err = plan_json_fail(r, "alignment", "%llu is not a power of two",
				     (unsigned long long)alignment);
	if (!err)
		err = plan_json_get(r, root, "lower_bound", false, INT64_MAX, &bound);
	if (!err)
		err = plan_json_get(r, root, "work", false, INT64_MAX, &work);
	if (err)
		return err;
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		if (json_object_get(root, claims[i].field))
			r->plan->claims |= claims[i].claim;
	info->arena_size = arena;
	info->alignment = alignment;
	info->lower_bound = bound;
	info->work = work;
	return read_traffic(r, json_object_get(root, "traffic"));
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
static int check_graph(struct plan_json_reader *r, const json_t *root)
{
	const char *name = json_string_value(json_object_get(root, "graph"));
	const json_t *digest = json_object_get(root, "digest");
	const char *text = json_string_value(digest);
	struct npuplan_digest_text own;

	r->plan->unbound = !digest;
	if (!digest && strcmp(name, r->graph->name))
		return plan_json_fail(r, "graph",
				      "the plan is for %s, the graph is %s, and the plan has no "
				      "digest that says more than names",
				      name, r->graph->name);
	if (!digest)
		return 0;
	if (!is_digest(text))
		return plan_json_fail(r, "digest",
				      "expected \"" DIGEST_PREFIX
				      "\" and %d small hexadecimal digits",
				      2 * NPUPLAN_DIGEST_SIZE);
	own = npuplan_digest_text(r->graph);
	if (strcmp(text, own.s))
		return plan_json_fail(r, "digest",
				      "the plan is for %.100s, %.19s, the graph at hand is %.100s, "
				      "%.19s",
				      name, text, r->graph->name, own.s);
	return 0;
}

/* What the plan says of the graph must be so. */
static int read_rest(struct plan_json_reader *r, const json_t *root)
{
	const json_t *external;
	const json_t *seconds = json_object_get(root, "seconds");
	uint64_t host = r->plan->info.host_size;
	uint32_t count = 0, tensor;
	int err;

	if (seconds && (!json_is_number(seconds) || json_number_value(seconds) < 0))
		return plan_json_fail(r, "seconds", "expected a number of 0 or more");
	err = plan_json_array(r, root, "external", false, &external);
	if (err)
		return err;
	for (uint32_t i = 0; external && i < r->graph->tensor_count; i++)
		count += !!(r->graph->tensors[i].flags & NPUMEM_TENSOR_EXTERNAL);
	if (external && json_array_size(external) != count)
		return plan_json_fail(r, "external", "graph %s has %u external tensors",
				      r->graph->name, count);
	for (size_t i = 0; i < json_array_size(external); i++) {
		const json_t *id = json_array_get(external, i);

		tensor = json_is_integer(id) ? npuplan_ids_tensor(&r->ids, json_integer_value(id)) :
					       NPUMEM_NONE;
		if (tensor == NPUMEM_NONE ||
		    !(r->graph->tensors[tensor].flags & NPUMEM_TENSOR_EXTERNAL))
			return plan_json_fail(r, "external", "entry %zu is no external tensor", i);
	}
	err = plan_json_get(r, root, "host", false, INT64_MAX, &host);
	if (!err && host < r->plan->info.host_size)
		err = plan_json_fail(r, "host", "transfers need %llu bytes",
				     (unsigned long long)r->plan->info.host_size);
	r->plan->info.host_size = host;
	return err;
}

static int read_root(struct plan_json_reader *r, const json_t *root)
{
	static const char *const known[] = {
		"digest",   "graph", "planner", "status",  "arena", "alignment", "lower_bound",
		"traffic",  "work",  "host",	"tiling",  "banks", "schedule",	 "placements",
		"external", "views", "blocks",	"seconds", NULL,
	};
	const json_t *schedule, *placements;
	int err;

	err = plan_json_fields(r, root, known);
	if (!err)
		err = read_info(r, root);
	if (!err)
		err = plan_json_check_tiling(r, root);
	if (!err)
		err = check_graph(r, root);
	if (!err)
		err = read_banks(r, json_object_get(root, "banks"));
	if (!err)
		err = plan_json_array(r, root, "schedule", true, &schedule);
	if (!err)
		err = plan_json_array(r, root, "placements", true, &placements);
	if (err)
		return err;
	/* Placements first: transfers speak of them. */
	err = read_placements(r, placements, json_array_size(schedule),
			      json_object_get(root, "blocks"));
	if (!err)
		err = read_schedule(r, schedule);
	r->path[0] = '\0';
	if (!err)
		err = plan_json_read_flow(r, root);
	if (!err)
		err = check_banks(r);
	return err ? err : read_rest(r, root);
}

static json_t *load(const char *text, size_t size, struct npuplan_error *error)
{
	json_error_t where;
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);

	if (!root)
		npuplan_fail(error, -EBADMSG, "not JSON: line %d, column %d: %s", where.line,
			     where.column, where.text);
	return root;
}

int npuplan_json_tiling(const struct npuplan_graph *graph, const char *text, size_t size,
			struct npuplan_tiling *tiling, struct npuplan_error *error)
{
	struct plan_json_reader r = { .graph = graph, .error = error };
	json_t *root = load(text, size, error);
	int err;

	*tiling = (struct npuplan_tiling){ 0 };
	if (!root)
		return -EBADMSG;
	err = json_is_object(root) ? plan_json_read_tiling(&r, root, tiling) :
				     npuplan_fail(error, -EINVAL, "expected an object");
	json_decref(root);
	return err;
}

int npuplan_json_external(struct npuplan_graph *graph, const char *text, size_t size,
			  struct npuplan_error *error)
{
	json_t *root = load(text, size, error);
	const json_t *external = json_object_get(root, "external");
	struct npuplan_ids ids;
	int err;

	if (!root)
		return -EBADMSG;
	err = npuplan_ids_init(&ids, graph, error);
	for (size_t i = 0; !err && i < json_array_size(external); i++) {
		const json_t *id = json_array_get(external, i);
		uint32_t tensor = NPUMEM_NONE;

		if (json_is_integer(id))
			tensor = npuplan_ids_tensor(&ids, json_integer_value(id));
		if (tensor != NPUMEM_NONE &&
		    !(graph->tensors[tensor].flags & (NPUMEM_TENSOR_ALIAS | NPUMEM_TENSOR_FIXED)))
			graph->tensors[tensor].flags |= NPUMEM_TENSOR_EXTERNAL;
	}
	npuplan_ids_fini(&ids);
	json_decref(root);
	return err;
}

int npuplan_plan_from_json(const struct npuplan_graph *graph, const char *text, size_t size,
			   struct npuplan_plan **out, struct npuplan_error *error)
{
	struct plan_json_reader r = { .graph = graph, .error = error };
	json_t *root = load(text, size, error);
	int err;

	if (!root)
		return -EBADMSG;
	err = npuplan_ids_init(&r.ids, graph, error);
	if (!err) {
		r.plan = calloc(1, sizeof(*r.plan));
		if (!r.plan)
			err = npuplan_fail(error, -ENOMEM, "out of memory");
	}
	if (!err)
		err = read_root(&r, root);
	json_decref(root);
	npuplan_ids_fini(&r.ids);
	free(r.host);
	if (err) {
		npuplan_plan_free(r.plan);
		return err;
	}
	r.plan->peak_position = NPUMEM_NONE;
	*out = r.plan;
	return 0;
}
