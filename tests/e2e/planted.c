// SPDX-License-Identifier: MIT
/*
 * planted - a fault on the way of a real model: what memory that is merely reused makes of it, and
 * what npumem does.
 *
 * usage: npumem_planted overlap|order RUNTIME MODEL [KEY=VALUE]...
 *
 *   overlap  a planner that puts a tensor onto one that is still needed
 *   order    a delegate that runs an operator before the one whose output it reads
 *
 * Each fault is tried everywhere in the model: with every two tensors of which one is born while
 * the other lives, or with every two operators that follow each other. Merely reused is an arena
 * of the same plan in which nobody is asked; KEY and VALUE are the delegate's options for the
 * other one. Exit 0: what would have been wrong was refused, in all cases, and a correct inference
 * after it has the right outputs.
 */
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"
#include "npuplan.h"
#include "tflite/tflite_runtime.h"

#define MAX_OPTIONS 8
#define SEED	    20261126

/*
 * struct tally - how the cases went
 * @cases: how many there were
 * @wrong: of them, merely reused memory gave other outputs, and no error
 * @refused: of them, npumem has refused
 * @missed: npumem has let pass what gave other outputs
 */
struct tally {
	unsigned int cases;
	unsigned int wrong;
	unsigned int refused;
	unsigned int missed;
};

/* struct outputs - of an interpreter, one behind the other */
struct outputs {
	uint8_t *data;
	size_t size;
};

static void *model;
static char *keys[MAX_OPTIONS], *values[MAX_OPTIONS];
static size_t option_count;

/* ---------------------------------------------------------------------- outputs */

static struct outputs outputs_of(const void *interpreter)
{
	struct outputs o = { 0 };

	for (int32_t i = 0; i < tfl.output_count(interpreter); i++) {
		const struct tfl_tensor *t = tfl.output(interpreter, i);

		o.data = realloc(o.data, o.size + t->bytes + 1);
		if (!o.data)
			errx(2, "out of memory");
		memcpy(o.data + o.size, t->data.raw, t->bytes);
		o.size += t->bytes;
	}
	return o;
}

/* Bytes of an interpreter's outputs that are not those. */
static size_t differing(const void *interpreter, const struct outputs *right)
{
	struct outputs o = outputs_of(interpreter);
	size_t count = 0;

	if (o.size != right->size)
		errx(2, "outputs of another size");
	for (size_t i = 0; i < o.size; i++)
		count += o.data[i] != right->data[i];
	free(o.data);
	return count;
}

/* What the plain runtime computes for a seed. */
static struct outputs right_outputs(uint64_t seed)
{
	void *plain = tfl_interpreter(model, NULL);
	struct outputs right;

	if (!plain)
		errx(2, "the runtime does not take the model");
	tfl_draw_inputs(plain, seed);
	if (tfl.invoke(plain) != TFL_OK)
		errx(2, "the runtime does not run the model");
	right = outputs_of(plain);
	tfl.interpreter_free(plain);
	return right;
}

/* ------------------------------------------------- memory that is merely reused */

/* The plan that the next delegates get, whoever would have planned; NULL: their own. */
static struct npuplan_plan *given;

/* struct enforced - an arena, and nothing that would be asked */
struct enforced {
	uint8_t *arena;
};

static int give_plan(struct enforcer *enforcer, struct blobs *blobs, struct why *why)
{
	struct npuplan_error error;

	if (npuplan_plan_write(given, &blobs->plan, &blobs->plan_size, &error))
		errx(2, "%s", error.text);
	return 0;
}

static int start_reuse(struct enforcer *enforcer, const struct blobs *blobs,
		       struct enforced **enforced, struct npumem_maps *maps, struct why *why)
{
	struct enforced *e = calloc(1, sizeof(*e));

	if (e)
		e->arena = aligned_alloc(65536, (given->info.arena_size / 65536 + 1) * 65536);
	if (!e || !e->arena)
		errx(2, "out of memory");
	memset(e->arena, 0, given->info.arena_size);
	*enforced = e;
	*maps = (struct npumem_maps){ .arena = e->arena };
	return 0;
}

static int begin_reuse(struct enforced *enforced, struct why *why)
{
	return 0;
}

static int step_reuse(struct enforced *enforced, uint32_t position, struct why *why)
{
	return 0;
}

static void stop_reuse(struct enforced *enforced)
{
	free(enforced->arena);
	free(enforced);
}

static void free_reuse(struct enforcer *enforcer)
{
	free(enforcer);
}

static const struct enforcer_ops reuse_ops = {
	.name = "nobody",
	.plan = give_plan,
	.start = start_reuse,
	.begin = begin_reuse,
	.step = step_reuse,
	.stop = stop_reuse,
	.free = free_reuse,
};

/* -------------------------------------------------------------------- delegates */

/*
 * struct tried - an interpreter with a delegate
 * @interpreter: NULL: it was refused, tfl_said says why
 * @ops: as they were before the plan was changed
 */
struct tried {
	struct delegate *delegate;
	void *interpreter;
	struct enforcer_ops ops;
};

static struct enforcer *open_enforcer(struct options *options, bool reused)
{
	struct enforcer *enforcer;
	struct why why;

	if (options_read(options, keys, values, option_count, &why))
		errx(2, "%s", why.text);
	if (reused) {
		enforcer = calloc(1, sizeof(*enforcer));
		if (!enforcer)
			errx(2, "out of memory");
		enforcer->ops = &reuse_ops;
		return enforcer;
	}
	if (enforcer_open(options, &enforcer, &why) || !enforcer)
		errx(2, "%s", why.text);
	return enforcer;
}

/* @reused: merely; otherwise as the options say, but with the plan that is given. */
static void try(struct tried *t, bool reused)
{
	struct options options;
	struct enforcer *enforcer = open_enforcer(&options, reused);

	t->ops = *enforcer->ops;
	if (given)
		t->ops.plan = give_plan;
	enforcer->ops = &t->ops;
	t->delegate = delegate_new(&options, enforcer);
	if (!t->delegate)
		errx(2, "out of memory");
	*tfl_said = '\0';
	t->interpreter = tfl_interpreter(model, t->delegate);
}

static void end(struct tried *t)
{
	if (t->interpreter)
		tfl.interpreter_free(t->interpreter);
	delegate_free(t->delegate);
}

/* The one plan of the model. */
static struct partition *partition_of(const struct tried *t)
{
	struct partition *p = t->delegate->partitions;

	if (!p || p->next || !p->memory)
		errx(2, "not all operators of the model are in one plan");
	return p;
}

/* A correct inference; how many bytes of its outputs are not right. */
static size_t infer(const struct tried *t, uint64_t seed, const struct outputs *right)
{
	if (!t->interpreter)
		errx(2, "the delegate does not take the model: %s", tfl_said);
	tfl_draw_inputs(t->interpreter, seed);
	if (tfl.invoke(t->interpreter) != TFL_OK)
		errx(2, "the delegate does not run the model: %s", tfl_said);
	return differing(t->interpreter, right);
}

/* The graph, and the plan that is made for it without a fault: @given from now on. */
static struct npuplan_graph *plan_rightly(const struct outputs *right)
{
	struct npuplan_graph *graph;
	struct npuplan_error error;
	const struct blobs *blobs;
	struct tried t;

	try(&t, false);
	if (infer(&t, SEED, right))
		errx(1, "without a fault the outputs are not right");
	blobs = &partition_of(&t)->memory->blobs;
	if (npuplan_graph_read(blobs->graph, blobs->graph_size, &graph, &error) ||
	    npuplan_plan_read(blobs->plan, blobs->plan_size, &given, &error))
		errx(2, "%s", error.text);
	printf("%u operators, arena %" PRIu64
	       " bytes, planner %.31s, enforced by %s: outputs right\n",
	       partition_of(&t)->op_count, (uint64_t)given->info.arena_size, given->info.planner,
	       t.delegate->enforcer->ops->name);
	end(&t);
	return graph;
}

/* The first case of which something is to be seen is told in full. */
static void count(struct tally *tally, const char *what, size_t wrong, size_t size,
		  const char *refusal)
{
	tally->cases++;
	tally->wrong += wrong != 0;
	tally->refused += refusal != NULL;
	tally->missed += wrong && !refusal;
	if (!wrong || (refusal && tally->wrong > 1))
		return;
	printf("%s\n  merely reused: no error, and %zu of %zu bytes of the outputs are wrong\n"
	       "  npumem: %s\n",
	       what, wrong, size, refusal ? refusal : "NOT REFUSED");
}

static int judge(const struct tally *tally)
{
	printf("%u such faults: %u give wrong outputs and no error where memory is merely reused; "
	       "npumem refuses %u, and of the wrong ones it lets pass %u\n",
	       tally->cases, tally->wrong, tally->refused, tally->missed);
	return tally->wrong && !tally->missed ? 0 : 1;
}

/* ---------------------------------------------------------------------- overlap */

/* struct life - the positions of the plan from the first access to the last */
struct life {
	uint32_t first;
	uint32_t last;
	bool lives;
};

static struct life life_of(const struct npuplan_graph *graph, uint32_t tensor)
{
	struct life life = { 0 };

	for (uint32_t i = 0; i < given->position_count; i++) {
		const struct npuplan_step *step = &graph->steps[given->positions[i].index];

		for (uint32_t a = 0; a < step->access_count; a++) {
			uint32_t tile = graph->accesses[step->first_access + a].tile;

			if (graph->tiles[tile].tensor != tensor)
				continue;
			if (!life.lives)
				life.first = i;
			life.last = i;
			life.lives = true;
		}
	}
	return life;
}

/* What the delegate has told the runtime, without who says it. */
static const char *reason(void)
{
	static const char prefix[] = "npumem: ";
	const size_t length = sizeof(prefix) - 1;

	return strncmp(tfl_said, prefix, length) ? tfl_said : tfl_said + length;
}

/* The plan as it is given now, in both kinds of memory. */
static void overlap_case(struct tally *tally, const char *what, const struct outputs *right)
{
	struct tried reused, ours;
	size_t wrong;

	try(&reused, true);
	wrong = infer(&reused, SEED, right);
	end(&reused);
	try(&ours, false);
	if (ours.interpreter && infer(&ours, SEED, right) != wrong)
		errx(1, "%s: a plan that was verified gives other outputs", what);
	count(tally, what, wrong, right->size, ours.interpreter ? NULL : reason());
	end(&ours);
}

static int overlap(void)
{
	struct outputs right = right_outputs(SEED);
	struct npuplan_graph *graph = plan_rightly(&right);
	struct tally tally = { 0 };
	char what[600];

	for (uint32_t i = 0; i < given->placement_count; i++) {
		const struct npumem_placement *a = &given->placements[i];
		struct life old = life_of(graph, a->tensor);

		for (uint32_t j = 0; j < given->placement_count; j++) {
			struct npumem_placement *b = &given->placements[j];
			struct life young = life_of(graph, b->tensor);
			uint64_t offset = b->offset;

			if (!old.lives || !young.lives || young.first <= old.first ||
			    young.first > old.last || a->offset == offset ||
			    a->offset + b->region.length > given->info.arena_size)
				continue;
			snprintf(what, sizeof(what),
				 "tensor %u \"%.60s\" is put onto tensor %u \"%.60s\", at byte "
				 "%" PRIu64 " of the arena",
				 b->tensor, graph->tensors[b->tensor].name, a->tensor,
				 graph->tensors[a->tensor].name, (uint64_t)a->offset);
			b->offset = a->offset;
			overlap_case(&tally, what, &right);
			b->offset = offset;
		}
	}
	free(right.data);
	npuplan_graph_free(graph);
	return judge(&tally);
}

/* ------------------------------------------------------------------------ order */

/*
 * An inference in which the positions @early and the one before it have changed places
 *
 * True: it went to its end. False: it was refused, as @why says.
 */
static bool run_swapped(const struct tried *t, uint32_t early, uint64_t seed, struct why *why)
{
	struct partition *p = partition_of(t);
	struct tfl_context *context = t->delegate->context;
	int status, err;

	tfl_draw_inputs(t->interpreter, seed);
	err = p->memory->enforcer->ops->begin(p->memory->enforced, why);
	for (uint32_t i = 0; !err && i < p->memory->step_count; i++) {
		uint32_t position = i == early - 1 ? early : i == early ? early - 1 : i;

		err = partition_step(context, p, position, why, &status);
	}
	return !err;
}

static void order_case(struct tally *tally, const struct tried *reused, const struct tried *ours,
		       uint32_t early, const struct outputs *right)
{
	const struct partition *p = partition_of(ours);
	const struct op *first = &p->ops[p->op_of[p->memory->steps[early - 1]]];
	const struct op *second = &p->ops[p->op_of[p->memory->steps[early]]];
	struct why refusal, why;
	char what[200];
	size_t wrong;
	bool passed;

	snprintf(what, sizeof(what), "%s runs before %s", second->name, first->name);
	if (!run_swapped(reused, early, SEED + early, &why))
		errx(2, "%s", why.text);
	wrong = differing(reused->interpreter, right);
	passed = run_swapped(ours, early, SEED + early, &refusal);
	if (passed && differing(ours->interpreter, right) != wrong)
		errx(1, "%s: what was let pass gives other outputs", what);
	count(tally, what, wrong, right->size, passed ? NULL : refusal.text);
	/* The next inference is as good as ever. */
	if (infer(ours, SEED + early, right))
		errx(1, "%s: the inference after it is not right", what);
}

static int order(void)
{
	struct outputs right = right_outputs(SEED);
	struct npuplan_graph *graph = plan_rightly(&right);
	struct tally tally = { 0 };
	struct tried reused, ours;
	uint32_t count;

	try(&reused, true);
	try(&ours, false);
	/* Of an inference before there is something left in memory, as there always is. */
	if (infer(&reused, SEED, &right) || infer(&ours, SEED, &right))
		errx(1, "without a fault the outputs are not right");
	free(right.data);
	count = partition_of(&ours)->memory->step_count;
	for (uint32_t early = 1; early < count; early++) {
		right = right_outputs(SEED + early);
		order_case(&tally, &reused, &ours, early, &right);
		free(right.data);
	}
	end(&reused);
	end(&ours);
	npuplan_graph_free(graph);
	return judge(&tally);
}

int main(int argc, char **argv)
{
	bool is_order;
	int code;

	if (argc < 4 || argc > 4 + MAX_OPTIONS)
		errx(2, "usage: npumem_planted overlap|order RUNTIME MODEL [KEY=VALUE]...");
	is_order = strcmp(argv[1], "order") == 0;
	if (!is_order && strcmp(argv[1], "overlap") != 0)
		errx(2, "%s: not overlap or order", argv[1]);
	for (int i = 4; i < argc; i++) {
		keys[option_count] = strtok(argv[i], "=");
		values[option_count++] = strtok(NULL, "");
	}
	tfl_load(argv[2]);
	model = tfl.model_new(argv[3]);
	if (!model)
		errx(2, "%s: not a model that TensorFlow Lite reads", argv[3]);
	code = is_order ? order() : overlap();
	npuplan_plan_free(given);
	tfl.model_free(model);
	return code;
}
