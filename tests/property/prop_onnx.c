// SPDX-License-Identifier: MIT
/*
 * If, Loop and Scan of ONNX: random models, with these in each other, are computed twice: by what
 * ONNX says of names, states and outputs, and block by block in the graph that the importer makes.
 * Values are hashes of the operator and of what it reads, so that any other tensor, order or carry
 * makes other outputs. Both take the same ways: which branch, and whether a loop goes on, is drawn.
 * Then the graph is planned, and the kernel's verifier has to accept the plan.
 *
 * Names are drawn of few: graphs beside each other have the same ones, and states of a body hide
 * names outside.
 *
 * usage: prop_onnx [SEED [CASES]]
 */
#include <errno.h>
#include <string.h>

#include "base/region.h"
#include "npuimport.h"
#include "npuplan.h"
#include "onnx_build.h"
#include "property.h"

#define VALUES	  400
#define BODIES	  60
#define NODES	  10
#define LISTED	  3
#define MOST_DEEP 3
/* Ways to go until each loop is left, and each second branch taken. */
#define LONGEST	  60
#define TEXT	  65536

enum kind { OPERATOR, IDENTITY, BRANCH, KNOWN_BRANCH, LOOP, SCAN, KINDS };

/*
 * struct value - a name of a model
 * @is_constant: an initializer
 * @is_stack: what iterations append to; no operator reads it here
 * @now: its hash
 */
struct value {
	char name[8];
	bool is_constant;
	bool is_stack;
	uint64_t now;
};

/*
 * struct node
 * @arms: bodies that it runs: of a loop the first one
 * @known: of KNOWN_BRANCH, which arm
 */
struct node {
	enum kind kind;
	const char *type;
	struct value *inputs[LISTED];
	struct value *outputs[LISTED];
	uint32_t input_count;
	uint32_t output_count;
	struct body *arms[2];
	uint32_t known;
};

/*
 * struct body - a graph of the model
 * @states: inputs that a loop hands on; @slice: of a Scan
 * @values: all that have been defined in it so far
 */
struct body {
	const struct body *outer;
	uint32_t number;
	struct value *states[LISTED];
	uint32_t state_count;
	struct value *slice;
	struct value *values[VALUES];
	uint32_t value_count;
	struct node nodes[NODES];
	uint32_t node_count;
	struct value *outputs[LISTED];
	uint32_t output_count;
};

static struct value values[VALUES];
static struct body bodies[BODIES];
static uint32_t value_count, body_count, constants;
static struct value *sequence;
static char text[TEXT];
static size_t used;

static struct {
	unsigned long kinds[KINDS];
	unsigned long blocks, ways, not_planned;
} counts;

__attribute__((format(printf, 1, 2))) static void model_text(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	if (used >= sizeof(text))
		fail("the model is too long for this test");
}

/* ------------------------------------------------------------------------ models */

static struct value *find(const struct body *body, const char *name)
{
	for (; body; body = body->outer)
		for (uint32_t i = body->value_count; i-- > 0;)
			if (!strcmp(body->values[i]->name, name))
				return body->values[i];
	return NULL;
}

static struct value *define(struct body *body, const char *name)
{
	struct value *value = &values[value_count++];

	if (value_count == VALUES)
		fail("too many values for this test");
	*value = (struct value){ 0 };
	snprintf(value->name, sizeof(value->name), "%s", name);
	body->values[body->value_count++] = value;
	return value;
}

/* A new one, whose name nothing has that is seen here; but an input may hide one from outside. */
static struct value *new_value(struct body *body, bool may_hide)
{
	const struct body alone = { .value_count = body->value_count };
	char name[8];

	for (uint32_t most = 12;; most++) {
		struct body own = alone;

		memcpy(own.values, body->values, sizeof(own.values));
		snprintf(name, sizeof(name), "n%u", draw(0, most));
		if (!find(may_hide ? &own : body, name))
			return define(body, name);
	}
}

/* One that is seen here; NULL: none of that kind came. */
static struct value *pick(const struct body *body, bool may_be_constant)
{
	for (uint32_t tries = 0; tries < 50; tries++) {
		const struct body *from = body;
		struct value *value;

		for (uint32_t up = draw(0, 3); up && from->outer; up--)
			from = from->outer;
		if (!from->value_count)
			continue;
		value = from->values[draw(0, from->value_count - 1)];
		if (!value->is_stack && (may_be_constant || !value->is_constant) &&
		    find(body, value->name) == value)
			return value;
	}
	return NULL;
}

static struct value *pick_sure(const struct body *body)
{
	struct value *value = pick(body, false);

	/* The model's first input is never hidden: it has another name. */
	return value ? value : &values[0];
}

enum body_kind { ARM, KNOWN_ARM, LOOP_BODY, SCAN_BODY };

static struct body *make_body(const struct body *outer, enum body_kind kind, uint32_t deep,
			      uint32_t states, uint32_t outputs);

static void list(struct value *const *all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		model_text("%s%s", i ? "," : "", all[i]->name);
}

/* Nodes come after the graphs that they run in the text, and so have a text of their own first. */
static void put_node(const struct node *node)
{
	static const char *const names[KINDS] = { [IDENTITY] = "Identity",
						  [BRANCH] = "If",
						  [KNOWN_BRANCH] = "If",
						  [LOOP] = "Loop",
						  [SCAN] = "Scan" };

	model_text("node %s ", node->kind == OPERATOR ? node->type : names[node->kind]);
	if (node->kind == BRANCH)
		model_text("c");
	else if (node->kind == KNOWN_BRANCH)
		model_text("%s", node->known ? "no" : "yes");
	else if (node->kind == LOOP)
		model_text("three,%s", node->input_count ? "," : "");
	list(node->inputs, node->input_count);
	if (node->kind == SCAN)
		model_text("%s%s", node->input_count ? "," : "", sequence->name);
	model_text(" -> ");
	list(node->outputs, node->output_count);
	if (node->kind == BRANCH || node->kind == KNOWN_BRANCH)
		model_text(" then_branch=@g%u else_branch=@g%u", node->arms[0]->number,
			   node->arms[1]->number);
	else if (node->kind == LOOP || node->kind == SCAN)
		model_text(" body=@g%u", node->arms[0]->number);
	if (node->kind == SCAN)
		model_text(" num_scan_inputs=1");
	model_text(";");
}

static void make_operator(struct body *body, struct node *node)
{
	static const char *const types[] = { "Neg", "Relu", "Add", "Mul" };
	uint32_t which = draw(0, 4);

	node->kind = which == 4 ? IDENTITY : OPERATOR;
	node->type = types[which % 4];
	node->inputs[0] = pick_sure(body);
	node->input_count = 1;
	if (which == 2 || which == 3)
		node->inputs[node->input_count++] = pick(body, true) ? pick(body, true) :
								       node->inputs[0];
	for (uint32_t i = 0; i < node->input_count; i++)
		if (!node->inputs[i])
			node->inputs[i] = node->inputs[0];
	node->outputs[0] = new_value(body, false);
	node->output_count = 1;
}

static void make_branch(struct body *body, struct node *node, uint32_t deep)
{
	node->kind = draw(0, 2) ? BRANCH : KNOWN_BRANCH;
	node->known = draw(0, 1);
	node->output_count = draw(1, 2);
	for (int i = 0; i < 2; i++)
		node->arms[i] = make_body(body, node->kind == BRANCH ? ARM : KNOWN_ARM, deep + 1, 0,
					  node->output_count);
	for (uint32_t i = 0; i < node->output_count; i++)
		node->outputs[i] = new_value(body, false);
}

static void make_loop(struct body *body, struct node *node, uint32_t deep)
{
	uint32_t stacks = draw(0, 1);

	node->kind = draw(0, 2) ? LOOP : SCAN;
	/* A loop without any output would be a node that is not there. */
	node->input_count = draw(!stacks, 2);
	for (uint32_t i = 0; i < node->input_count; i++) {
		node->inputs[i] = pick(body, true);
		if (!node->inputs[i])
			node->inputs[i] = &values[0];
	}
	node->output_count = node->input_count + stacks;
	node->arms[0] = make_body(body, node->kind == LOOP ? LOOP_BODY : SCAN_BODY, deep + 1,
				  node->input_count, node->output_count);
	for (uint32_t i = 0; i < node->output_count; i++) {
		node->outputs[i] = new_value(body, false);
		node->outputs[i]->is_stack = i >= node->input_count;
	}
}

static void put_body(const struct body *body, enum body_kind kind)
{
	model_text("graph g%u;", body->number);
	if (kind == LOOP_BODY)
		model_text("in i int64 -; in more bool -;");
	for (uint32_t i = 0; i < body->state_count; i++)
		model_text("in %s float 4;", body->states[i]->name);
	if (body->slice)
		model_text("in %s float 4;", body->slice->name);
	if (kind == LOOP_BODY)
		model_text("out go%u bool -; node Identity more -> go%u;", body->number,
			   body->number);
	for (uint32_t i = 0; i < body->value_count; i++)
		if (body->values[i]->is_constant)
			model_text("init %s float 4;", body->values[i]->name);
	for (uint32_t i = 0; i < body->output_count; i++)
		model_text("out %s;", body->outputs[i]->name);
	for (uint32_t i = 0; i < body->node_count; i++)
		put_node(&body->nodes[i]);
	model_text("end;");
}

static void make_nodes(struct body *body, uint32_t deep, uint32_t most)
{
	for (uint32_t count = draw(1, most); body->node_count < count;) {
		struct node *node = &body->nodes[body->node_count];
		uint32_t which = deep < MOST_DEEP && body_count + 4 < BODIES &&
						 value_count < VALUES / 2 ?
					 draw(0, 9) :
					 0;

		*node = (struct node){ 0 };
		if (which < 5)
			make_operator(body, node);
		else if (which < 7)
			make_branch(body, node, deep);
		else
			make_loop(body, node, deep);
		counts.kinds[node->kind]++;
		body->node_count++;
	}
}

static struct body *make_body(const struct body *outer, enum body_kind kind, uint32_t deep,
			      uint32_t states, uint32_t outputs)
{
	struct body *body = &bodies[body_count];
	char name[8];

	*body = (struct body){ .outer = outer, .number = body_count++ };
	for (; body->state_count < states; body->state_count++)
		body->states[body->state_count] = new_value(body, true);
	if (kind == SCAN_BODY)
		body->slice = new_value(body, true);
	if (draw(0, 1)) {
		snprintf(name, sizeof(name), "w%u", constants++);
		define(body, name)->is_constant = true;
	}
	make_nodes(body, deep, 4);
	for (; body->output_count < outputs; body->output_count++) {
		struct value *value = pick(body, kind != KNOWN_ARM);

		body->outputs[body->output_count] = value ? value : &values[0];
	}
	put_body(body, kind);
	return body;
}

/* The model: its text, and its nodes. */
static struct body *make_model(void)
{
	struct body *model = &bodies[0];

	*model = (struct body){ 0 };
	value_count = body_count = constants = 0;
	used = 0;
	body_count = 1;
	define(model, "x");
	define(model, "k")->is_constant = true;
	sequence = define(model, "seq");
	sequence->is_stack = true;
	make_nodes(model, 0, NODES);
	model_text(
		"in x float 4; in c bool -; in seq float 3x4; init k float 4; int three 3; int one 1;"
		"int zero 0; node Cast one -> yes to=9; node Cast zero -> no to=9;");
	for (uint32_t i = 3; i < model->value_count; i++)
		model_text("out %s;", model->values[i]->name);
	for (uint32_t i = 0; i < model->node_count; i++)
		put_node(&model->nodes[i]);
	return model;
}

/* --------------------------------------------------------------------- computing */

static uint64_t hash_text(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
	return hash;
}

static uint64_t hash_of(const char *type, const uint64_t *inputs, uint32_t count)
{
	uint64_t hash = hash_text(type);

	for (uint32_t i = 0; i < count; i++)
		hash = random_mix(hash + inputs[i] * RANDOM_STEP);
	return hash;
}

/* Which way is gone: the @number-th decision is the same for both. 0: begin, or "then". */
static uint32_t decide(uint32_t number)
{
	return number >= LONGEST || random_mix(property.current + number) % 3 == 0;
}

static void compute(const struct body *body, uint32_t *decisions);

static void compute_loop(const struct node *node, uint32_t *decisions)
{
	const struct body *body = node->arms[0];
	uint64_t now[LISTED];

	for (uint32_t k = 0; k < node->output_count; k++)
		now[k] = k < node->input_count ? node->inputs[k]->now : hash_text("scan_begin");
	while (!decide((*decisions)++)) {
		uint64_t next[LISTED];

		for (uint32_t k = 0; k < body->state_count; k++)
			body->states[k]->now = now[k];
		if (body->slice)
			body->slice->now = hash_of("scan_slice", &sequence->now, 1);
		compute(body, decisions);
		for (uint32_t k = 0; k < node->output_count; k++) {
			const uint64_t stored[] = { now[k], body->outputs[k]->now };

			next[k] = k < node->input_count ? body->outputs[k]->now :
							  hash_of("scan_store", stored, 2);
		}
		memcpy(now, next, sizeof(now));
	}
	for (uint32_t k = 0; k < node->output_count; k++)
		node->outputs[k]->now = now[k];
}

static const char *type_of(const char *operator_name)
{
	static const char *const both[][2] = {
		{ "Neg", "neg" }, { "Relu", "relu" }, { "Add", "add" }, { "Mul", "mul" }
	};

	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
		if (!strcmp(both[i][0], operator_name))
			return both[i][1];
	return "?";
}

static void compute(const struct body *body, uint32_t *decisions)
{
	for (uint32_t i = 0; i < body->value_count; i++)
		if (body->values[i]->is_constant)
			body->values[i]->now = hash_text(body->values[i]->name);
	for (uint32_t i = 0; i < body->node_count; i++) {
		const struct node *node = &body->nodes[i];
		uint64_t in[LISTED];
		uint32_t arm;

		switch (node->kind) {
		case OPERATOR:
		case IDENTITY:
			for (uint32_t k = 0; k < node->input_count; k++)
				in[k] = node->inputs[k]->now;
			node->outputs[0]->now =
				node->kind == IDENTITY ?
					in[0] :
					hash_of(type_of(node->type), in, node->input_count);
			break;
		case BRANCH:
		case KNOWN_BRANCH:
			arm = node->kind == BRANCH ? decide((*decisions)++) : node->known;
			compute(node->arms[arm], decisions);
			for (uint32_t k = 0; k < node->output_count; k++)
				node->outputs[k]->now = node->arms[arm]->outputs[k]->now;
			break;
		default:
			compute_loop(node, decisions);
		}
	}
}

/* ------------------------------------------------------------------- in the graph */

static void execute(const struct npuplan_graph *graph, const struct npuplan_op *op, uint64_t *now)
{
	uint64_t in[LISTED] = { 0 };
	bool is_copy;

	if (op->input_count > LISTED)
		fail("an operator reads %u tensors", op->input_count);
	for (uint32_t i = 0; i < op->input_count; i++)
		in[i] = now[npuplan_base_of(graph, op->inputs[i])];
	is_copy = !strcmp(op->type, "copy") || !strcmp(op->type, "identity");
	for (uint32_t i = 0; i < op->output_count; i++)
		now[npuplan_base_of(graph, op->outputs[i])] =
			is_copy ? in[0] : hash_of(op->type, in, op->input_count);
}

static void cross(const struct npuplan_graph *graph, const struct npumem_edge *edge, uint64_t *now)
{
	uint64_t carried[64];

	if (edge->carry_count > 64)
		fail("an edge carries %u tensors", edge->carry_count);
	for (uint32_t i = 0; i < edge->carry_count; i++)
		carried[i] =
			now[npuplan_base_of(graph, graph->carries[edge->first_carry + i].from)];
	for (uint32_t i = 0; i < edge->carry_count; i++)
		now[npuplan_base_of(graph, graph->carries[edge->first_carry + i].to)] = carried[i];
}

/* The edges that leave a block: at most two, of which the first one is to begin, or "then". */
static const struct npumem_edge *next_edge(const struct npuplan_graph *graph, uint32_t block,
					   uint32_t *decisions)
{
	const struct npumem_edge *edges[2];
	uint32_t count = 0;

	for (uint32_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from != block)
			continue;
		if (count == 2)
			fail("block %u is left by more than two edges", block);
		edges[count++] = &graph->edges[i];
	}
	if (!count)
		fail("block %u is not left", block);
	return edges[count == 2 ? decide((*decisions)++) : 0];
}

static void run_graph(const struct npuplan_graph *graph, uint64_t *now)
{
	uint32_t block = 0, decisions = 0, op = 0;

	for (uint32_t i = 0; i < graph->tensor_count; i++)
		now[i] = graph->tensors[i].kind == NPUMEM_TENSOR_INPUT ||
					 graph->tensors[i].kind == NPUMEM_TENSOR_PARAMETER ?
				 hash_text(graph->tensors[i].name) :
				 random_mix(property.current + i);
	while (block != NPUMEM_NONE) {
		const struct npumem_edge *edge;

		for (op = 0; op < graph->op_count; op++)
			if (graph->ops[op].block == block)
				execute(graph, &graph->ops[op], now);
		if (graph->block_count == 1)
			break;
		edge = next_edge(graph, block, &decisions);
		cross(graph, edge, now);
		block = edge->to;
	}
	counts.ways += decisions;
}

static void check_outputs(const struct body *model, const struct npuplan_graph *graph,
			  const uint64_t *now)
{
	for (uint32_t i = 3; i < model->value_count; i++) {
		const struct value *value = model->values[i];
		uint32_t t = 0;

		/* Of equal names the model's own tensor is the first one. */
		while (t < graph->tensor_count &&
		       (strcmp(graph->tensors[t].name, value->name) != 0 ||
			graph->tensors[t].kind != NPUMEM_TENSOR_OUTPUT))
			t++;
		if (t == graph->tensor_count)
			fail("output %s is not there\n%s", value->name, text);
		if (now[npuplan_base_of(graph, t)] != value->now)
			fail("output %s is another\n%s", value->name, text);
	}
}

static void check_plan(struct npuplan_graph *graph)
{
	const struct npuplan_options options = { 0 };
	struct npuplan_error error = { 0 };
	struct npuplan_plan *plan;

	int err;

	if (npuplan_graph_tile_bands(graph, draw(1, 2), false, &error))
		fail("%s\n%s", error.text, text);
	err = npuplan_plan(graph, &options, &plan, &error);
	/* Variables of loops in each other may rotate through more places than a plan can have. */
	if (err == -E2BIG && strstr(error.text, "rotate through more places")) {
		counts.not_planned++;
		return;
	}
	if (err || npuplan_verify_plan(graph, plan, NULL, &error))
		fail("%s\n%s", error.text, text);
	npuplan_plan_free(plan);
}

static void run_case(void)
{
	struct body *model = make_model();
	struct onnx_model *file = onnx_model_new(text);
	struct npuplan_error error = { 0 };
	struct npuplan_graph *graph;
	uint32_t decisions = 0;
	uint64_t *now;
	size_t size;
	void *data = onnx_model_pack(file, &size);

	if (npuimport_onnx(data, size, "model", NULL, &graph, NULL, &error))
		fail("%s\n%s", error.text, text);
	free(data);
	onnx_model_free(file);
	now = calloc(graph->tensor_count, sizeof(*now));
	if (!now)
		fail("no memory");
	model->values[0]->now = hash_text("x");
	sequence->now = hash_text("seq");
	compute(model, &decisions);
	run_graph(graph, now);
	check_outputs(model, graph, now);
	counts.blocks += graph->block_count;
	check_plan(graph);
	free(now);
	npuplan_graph_free(graph);
}

int main(int argc, char **argv)
{
	property_begin(argc, argv, 20261126, 400);
	for (unsigned long i = 0; i < property.cases; i++) {
		property_case(i);
		run_case();
	}
	printf("# %lu branches, %lu known ones, %lu loops, %lu scans; %lu blocks, %lu decisions; "
	       "%lu not planned\n",
	       counts.kinds[BRANCH], counts.kinds[KNOWN_BRANCH], counts.kinds[LOOP],
	       counts.kinds[SCAN], counts.blocks, counts.ways, counts.not_planned);
	if (property.cases >= 400 &&
	    (!counts.kinds[BRANCH] || !counts.kinds[KNOWN_BRANCH] || !counts.kinds[LOOP] ||
	     !counts.kinds[SCAN] || !counts.ways || counts.not_planned > property.cases / 10)) {
		printf("not ok - something was not met\n");
		return 1;
	}
	printf("ok - %lu models\n", property.cases);
	return 0;
}
