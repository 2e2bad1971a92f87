// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "report.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * struct column - figures of one interpreter: nanoseconds and bytes, -1 where there is none
 * @arena: of all tensors, as it was planned
 * @left: what TensorFlow Lite has beside for the operators that the delegate has not
 * @sum: of all sizes of tensors, as if no two shared memory
 * @bound: less is no plan's
 */
struct column {
	const char *name;
	int64_t prepare;
	int64_t planning;
	struct times_summary times;
	int64_t arena;
	int64_t left;
	int64_t sum;
	int64_t bound;
	int64_t spilled;
};

static struct column plain_column(struct runner *runner)
{
	struct arena arena = runner_arena(runner);

	return (struct column){
		.name = "plain",
		.prepare = runner->prepare,
		.planning = -1,
		.times = times_summary(&runner->times),
		.arena = arena.known ? (int64_t)arena.bytes : -1,
		.left = -1,
		.sum = arena.known ? (int64_t)arena.sum : -1,
		.bound = -1,
		.spilled = -1,
	};
}

static struct column our_column(const struct report *report)
{
	const struct npumem_tflite_stats *stats = &report->stats;
	struct arena left = runner_arena(report->work->ours);
	bool has = report->has_stats;

	return (struct column){
		.name = has ? "npumem" : "delegate",
		.prepare = report->work->ours->prepare,
		.planning = has ? (int64_t)stats->plan_ns : -1,
		.times = times_summary(&report->work->ours->times),
		.arena = has ? (int64_t)stats->arena_bytes : -1,
		.left = left.known ? (int64_t)left.bytes : -1,
		.sum = has ? (int64_t)(stats->tensor_bytes + left.sum) : -1,
		.bound = has ? (int64_t)stats->lower_bound : -1,
		.spilled = has ? (int64_t)stats->spilled_bytes : -1,
	};
}

/* One column or two: what was asked for, and the plain interpreter if it was. */
static size_t columns_of(const struct report *report, struct column columns[2])
{
	size_t count = 0;

	if (report->delegate)
		columns[count++] = our_column(report);
	else
		columns[count++] = plain_column(report->work->ours);
	if (report->work->plain)
		columns[count++] = plain_column(report->work->plain);
	return count;
}

static const char *enforced_by(const struct npumem_tflite_stats *stats)
{
	return stats->enforced_by == 1 ? "driver" : stats->enforced_by == 2 ? "process" : "nobody";
}

int report_check(const struct report *report, struct refusal *why)
{
	const struct work *work = report->work;
	const struct shape *shape = work->output_count ? &work->outputs[0].shape : NULL;
	struct label_score best[LABELS_BEST];
	size_t count;

	if (!report->labels.count)
		return 0;
	if (!shape || labels_best(shape, work->outputs[0].data, best, &count))
		return refuse(why, -EOPNOTSUPP, "the model has no output of numbers to label");
	if (shape_values(shape) != report->labels.count)
		return refuse(why, -EINVAL, "%zu labels, and output '%s' has %zu values",
			      report->labels.count, shape->name, shape_values(shape));
	return 0;
}

static void print_inputs(const struct work *work)
{
	for (size_t i = 0; i < work->input_count; i++) {
		const struct input *input = &work->inputs[i];
		char path[256];

		printf("input %zu '%s' %s: ", i, input->shape.name, shape_text(&input->shape).s);
		if (!input->path) {
			printf("random, seed %" PRIu64, work->seed);
			if (work->runs > 1)
				printf(" to %" PRIu64, work->seed + work->runs - 1);
		} else {
			printf("%s", plain_line(path, sizeof(path), input->path));
		}
		if (input->samples)
			printf(", %zu samples of %zu", input->samples, shape_values(&input->shape));
		puts("");
	}
	for (size_t i = 0; i < work->output_count; i++)
		printf("output %zu '%s' %s\n", i, work->outputs[i].shape.name,
		       shape_text(&work->outputs[i].shape).s);
}

/* A line of the table; without a figure it has "-". */
static void print_ms(const char *what, const int64_t *ns, size_t count)
{
	printf("%-18s", what);
	for (size_t i = 0; i < count; i++)
		if (ns[i] < 0)
			printf(" %14s", "-");
		else
			printf(" %11.3f ms", 1e-6 * (double)ns[i]);
	puts("");
}

static void print_bytes(const char *what, const int64_t *bytes, size_t count)
{
	printf("%-18s", what);
	for (size_t i = 0; i < count; i++)
		if (bytes[i] < 0)
			printf(" %14s", "-");
		else
			printf(" %12" PRId64 " B", bytes[i]);
	puts("");
}

#define ROW(print, what, field)                    \
	do {                                       \
		int64_t row[2] = { 0 };            \
		for (size_t i = 0; i < count; i++) \
			row[i] = columns[i].field; \
		print(what, row, count);           \
	} while (0)

static void print_table(struct report *report)
{
	struct column columns[2];
	size_t count = columns_of(report, columns);

	printf("%-18s", "");
	for (size_t i = 0; i < count; i++)
		printf(" %14s", columns[i].name);
	puts("");
	printf("%-18s %11.3f ms\n", "load", 1e-6 * (double)report->load);
	ROW(print_ms, "prepare", prepare);
	ROW(print_ms, "  of it, plan", planning);
	ROW(print_ms, "first inference", times.first);
	ROW(print_ms, "median", times.median);
	ROW(print_ms, "99 of 100 within", times.p99);
	ROW(print_bytes, "tensors, sum", sum);
	ROW(print_bytes, "arena", arena);
	if (columns[0].left > 0)
		ROW(print_bytes, "  beside, TFLite's", left);
	ROW(print_bytes, "lower bound", bound);
	ROW(print_bytes, "spilled", spilled);
}

static void print_best(const struct report *report)
{
	const struct work *work = report->work;
	struct label_score best[LABELS_BEST];
	size_t count;
	char name[128];

	if (!report->labels.count ||
	    labels_best(&work->outputs[0].shape, work->outputs[0].data, best, &count))
		return;
	for (size_t i = 0; i < count; i++)
		printf("%8.4f  %s\n", best[i].score,
		       plain_line(name, sizeof(name), report->labels.names[best[i].index]));
}

void report_text(struct report *report)
{
	const struct work *work = report->work;
	const struct npumem_tflite_stats *stats = &report->stats;
	char path[256];

	printf("%s: TensorFlow Lite %s", plain_line(path, sizeof(path), report->model),
	       work->ours->tflite->TfLiteVersion());
	if (report->has_stats)
		printf("; npumem has %u of %u operators in %u partitions, enforced by %s%s",
		       stats->claimed, stats->operators, stats->partitions, enforced_by(stats),
		       stats->cached ? ", plan from the cache" : "");
	if (report->has_stats && stats->swaps)
		printf(", %u better plans taken meanwhile", stats->swaps);
	puts("");
	print_inputs(work);
	print_table(report);
	print_best(report);
	if (work->plain && *work->difference)
		printf("%s\n", work->difference);
	else if (work->plain)
		printf("%u inferences equal those of the plain runtime, byte for byte\n",
		       work->runs);
}

/* -------------------------------------------------------------------------- JSON */

static json_t *shape_json(const struct shape *shape)
{
	json_t *dims = json_array();

	for (uint32_t i = 0; i < shape->dim_count; i++)
		json_array_append_new(dims, json_integer(shape->dims[i]));
	return json_pack("{s:s, s:s, s:o, s:I}", "name", shape->name, "type",
			 shape_type_name(shape->type), "shape", dims, "bytes",
			 (json_int_t)shape->bytes);
}

static json_t *inputs_json(const struct work *work)
{
	json_t *list = json_array();

	for (size_t i = 0; i < work->input_count; i++) {
		json_t *input = shape_json(&work->inputs[i].shape);

		/* Names of files may be no UTF-8. */
		json_object_set_new(input, "random", json_boolean(!work->inputs[i].path));
		if (work->inputs[i].samples)
			json_object_set_new(input, "samples",
					    json_integer((json_int_t)work->inputs[i].samples));
		json_array_append_new(list, input);
	}
	return list;
}

static json_t *outputs_json(const struct work *work)
{
	json_t *list = json_array();

	for (size_t i = 0; i < work->output_count; i++)
		json_array_append_new(list, shape_json(&work->outputs[i].shape));
	return list;
}

static json_t *column_json(const struct column *c)
{
	const struct {
		const char *key;
		int64_t value;
	} fields[] = {
		{ "prepare_ns", c->prepare },	 { "plan_ns", c->planning },
		{ "first_ns", c->times.first },	 { "median_ns", c->times.median },
		{ "p99_ns", c->times.p99 },	 { "tensor_bytes", c->sum },
		{ "arena_bytes", c->arena },	 { "lower_bound", c->bound },
		{ "spilled_bytes", c->spilled }, { "runtime_bytes", c->left },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < COUNT(fields); i++)
		if (fields[i].value >= 0)
			json_object_set_new(object, fields[i].key, json_integer(fields[i].value));
	return object;
}

static void add_stats(json_t *object, const struct npumem_tflite_stats *stats)
{
	json_object_set_new(object, "operators", json_integer(stats->operators));
	json_object_set_new(object, "claimed", json_integer(stats->claimed));
	json_object_set_new(object, "partitions", json_integer(stats->partitions));
	json_object_set_new(object, "enforced_by", json_string(enforced_by(stats)));
	json_object_set_new(object, "cached", json_boolean(stats->cached));
	json_object_set_new(object, "swaps", json_integer(stats->swaps));
}

static void add_best(json_t *object, const struct report *report)
{
	const struct work *work = report->work;
	struct label_score best[LABELS_BEST];
	json_t *list = json_array();
	char name[128];
	size_t count;

	if (!labels_best(&work->outputs[0].shape, work->outputs[0].data, best, &count))
		for (size_t i = 0; i < count; i++)
			json_array_append_new(
				list, json_pack("{s:I, s:s, s:f}", "index",
						(json_int_t)best[i].index, "label",
						plain_line(name, sizeof(name),
							   report->labels.names[best[i].index]),
						"score", best[i].score));
	json_object_set_new(object, "best", list);
}

bool report_json(struct report *report)
{
	const struct work *work = report->work;
	struct column columns[2];
	size_t count = columns_of(report, columns);
	char path[256];
	json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "model",
				   plain_line(path, sizeof(path), report->model), "runtime",
				   work->ours->tflite->TfLiteVersion(), "seed",
				   (json_int_t)work->seed, "runs",
				   (json_int_t)work->ours->times.count, "load_ns",
				   (json_int_t)report->load, "inputs", inputs_json(work), "outputs",
				   outputs_json(work));

	if (!object)
		return false;
	if (report->has_stats)
		add_stats(object, &report->stats);
	for (size_t i = 0; i < count; i++)
		json_object_set_new(object, columns[i].name, column_json(&columns[i]));
	if (report->labels.count)
		add_best(object, report);
	if (work->plain) {
		json_object_set_new(object, "equal", json_boolean(!*work->difference));
		if (*work->difference)
			json_object_set_new(object, "difference", json_string(work->difference));
	}
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	puts("");
	json_decref(object);
	return true;
}
