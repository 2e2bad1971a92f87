// SPDX-License-Identifier: MIT
#include "fake_runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END (-2)

static struct fake *fake_of(const struct tfl_context *context)
{
	return (struct fake *)(uintptr_t)context;
}

struct tfl_tensor *fake_at(struct fake *fake, int tensor)
{
	return &fake->context.tensors[tensor];
}

static struct tfl_ints *ints_new(int size)
{
	struct tfl_ints *list = calloc(1, sizeof(*list) + sizeof(int) * (size_t)size);

	list->size = size;
	return list;
}

static struct tfl_ints *ints_of(const int *values, int limit)
{
	struct tfl_ints *list = ints_new(limit);

	list->size = 0;
	while (list->size < limit && values[list->size] != END) {
		list->data[list->size] = values[list->size];
		list->size++;
	}
	return list;
}

/* ------------------------------------------------------------------- callbacks */

static void report_error(struct tfl_context *context, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fake_of(context)->error, sizeof(fake_of(context)->error), format, args);
	va_end(args);
}

static int resize_tensor(struct tfl_context *context, struct tfl_tensor *t, struct tfl_ints *size)
{
	free(t->dims);
	t->dims = size;
	t->bytes = (size_t)size->data[0];
	if (t->allocation_type != TFL_DYNAMIC)
		t->data.raw = NULL;
	return TFL_OK;
}

/* The vector moves when it is full, and what pointed to it is lost. */
static int add_tensors(struct tfl_context *context, int count, int *first)
{
	struct fake *fake = fake_of(context);
	size_t size = context->tensors_size;

	*first = (int)size;
	if (size + (size_t)count > fake->capacity) {
		struct tfl_tensor *old = context->tensors;

		fake->capacity = 2 * size > size + (size_t)count ? 2 * size : size + (size_t)count;
		context->tensors = calloc(fake->capacity, sizeof(*old));
		memcpy(context->tensors, old, size * sizeof(*old));
		free(old);
	}
	memset(&context->tensors[size], 0, (size_t)count * sizeof(*context->tensors));
	context->tensors_size += (size_t)count;
	return context->tensors_size > FAKE_TENSORS ? TFL_ERROR : TFL_OK;
}

static int get_execution_plan(struct tfl_context *context, struct tfl_ints **plan)
{
	*plan = fake_of(context)->plan;
	return TFL_OK;
}

static int get_node(struct tfl_context *context, int index, struct tfl_node **node,
		    struct tfl_registration **registration)
{
	*node = &fake_of(context)->nodes[index];
	*registration = &fake_of(context)->registrations[index].known;
	return TFL_OK;
}

/* ---------------------------------------------------------------- partitioning */

static bool has(const struct tfl_ints *list, int value)
{
	for (int i = 0; list && i < list->size; i++)
		if (list->data[i] == value)
			return true;
	return false;
}

/* Written by a node of the list, and read by another or an output of the model. */
static bool is_needed(const struct fake *fake, const struct tfl_ints *nodes, int tensor)
{
	for (int i = 0; i < 4 && fake->outputs[i] != END; i++)
		if (fake->outputs[i] == tensor)
			return true;
	for (int i = 0; i < fake->plan->size; i++)
		if (!has(nodes, fake->plan->data[i]) &&
		    has(fake->nodes[fake->plan->data[i]].inputs, tensor))
			return true;
	return false;
}

/* Read by a node of the list, and written by none of them. */
static void add_inputs(const struct fake *fake, const struct tfl_ints *nodes,
		       struct tfl_ints *inputs)
{
	bool written[FAKE_TENSORS] = { 0 };

	for (int i = 0; i < nodes->size; i++)
		for (int o = 0; o < fake->nodes[nodes->data[i]].outputs->size; o++)
			written[fake->nodes[nodes->data[i]].outputs->data[o]] = true;
	for (int i = 0; i < nodes->size; i++) {
		const struct tfl_ints *list = fake->nodes[nodes->data[i]].inputs;

		for (int n = 0; n < list->size; n++)
			if (list->data[n] >= 0 && !written[list->data[n]] &&
			    !has(inputs, list->data[n]))
				inputs->data[inputs->size++] = list->data[n];
	}
}

static void add_partition(struct fake *fake, struct tfl_ints *nodes,
			  const struct tfl_registration *registration,
			  struct tfl_delegate *delegate, struct tfl_ints *plan)
{
	struct tfl_ints *outputs = ints_new(FAKE_NODES), *inputs = ints_new(4 * FAKE_NODES);
	struct tfl_delegate_params params = { delegate, nodes, inputs, outputs };
	int number = fake->node_count++;

	outputs->size = inputs->size = 0;
	add_inputs(fake, nodes, inputs);
	for (int i = 0; i < nodes->size; i++) {
		int t = fake->nodes[nodes->data[i]].outputs->data[0];

		if (is_needed(fake, nodes, t))
			outputs->data[outputs->size++] = t;
	}
	fake->registrations[number].known = *registration;
	fake->nodes[number].inputs = inputs;
	fake->nodes[number].outputs = outputs;
	fake->nodes[number].temporaries = ints_new(0);
	fake->nodes[number].delegate = delegate;
	fake->nodes[number].user_data =
		registration->init(&fake->context, (const char *)&params, 0);
	plan->data[plan->size++] = number;
}

/* Claimed nodes that follow one another are a partition. */
static int replace(struct fake *fake, const struct tfl_registration *registration,
		   const struct tfl_ints *claimed, struct tfl_delegate *delegate)
{
	struct tfl_ints *plan = ints_new(FAKE_NODES), *old = fake->plan;

	plan->size = 0;
	for (int i = 0; i < old->size;) {
		struct tfl_ints *nodes = ints_new(FAKE_NODES);

		nodes->size = 0;
		while (i < old->size && has(claimed, old->data[i]))
			nodes->data[nodes->size++] = old->data[i++];
		if (nodes->size)
			add_partition(fake, nodes, registration, delegate, plan);
		free(nodes);
		if (i < old->size)
			plan->data[plan->size++] = old->data[i++];
	}
	fake->plan = plan;
	free(old);
	return TFL_OK;
}

struct registration_2_9 {
	struct tfl_registration known;
};

struct registration_2_14 {
	struct tfl_registration known;
	void *external, *async;
};

static int replace_2_9(struct tfl_context *context, struct registration_2_9 registration,
		       const struct tfl_ints *nodes, struct tfl_delegate *delegate)
{
	return replace(fake_of(context), &registration.known, nodes, delegate);
}

/* What an older header does not know must be zero. */
static int replace_2_14(struct tfl_context *context, struct registration_2_14 registration,
			const struct tfl_ints *nodes, struct tfl_delegate *delegate)
{
	if (registration.external || registration.async)
		return TFL_ERROR;
	return replace(fake_of(context), &registration.known, nodes, delegate);
}

/* --------------------------------------------------------------------- kernels */

static int prepare(struct tfl_context *context, struct tfl_node *node)
{
	struct tfl_tensor *out = &context->tensors[node->outputs->data[0]];
	struct tfl_ints *size = ints_new(1);
	struct fake_state *s = node->user_data;

	size->data[0] = context->tensors[node->inputs->data[0]].dims->data[0];
	if (s->flags & FAKE_TEMPORARY) {
		struct tfl_ints *again = ints_new(1);

		if (s->temporary < 0)
			add_tensors(context, 1, &s->temporary);
		free(node->temporaries);
		node->temporaries = ints_new(1);
		node->temporaries->data[0] = s->temporary;
		again->data[0] = size->data[0];
		context->tensors[s->temporary].type = TFL_UINT8;
		context->tensors[s->temporary].allocation_type = TFL_ARENA;
		resize_tensor(context, &context->tensors[s->temporary], again);
	}
	/* The pointer is from before: nothing may have moved. */
	if (s->flags & FAKE_DYNAMIC)
		out->allocation_type = TFL_DYNAMIC;
	if (s->flags & FAKE_LASTS)
		out->allocation_type = TFL_ARENA_PERSISTENT;
	resize_tensor(context, out, size);
	return s->flags & FAKE_FAILS ? TFL_ERROR : TFL_OK;
}

/* Nothing is assumed of what is in the output before. */
static int invoke(struct tfl_context *context, struct tfl_node *node)
{
	struct tfl_tensor *out = &context->tensors[node->outputs->data[0]];
	struct fake_state *s = node->user_data;
	uint8_t *to = out->data.raw;

	if (s->flags & FAKE_FAILS_RUN)
		return TFL_ERROR;
	if (s->flags & FAKE_LASTS && s->done)
		return TFL_OK;
	s->done = true;
	if (out->allocation_type == TFL_DYNAMIC)
		to = out->data.raw = realloc(out->data.raw, out->bytes);
	if (s->flags & FAKE_TEMPORARY)
		to = context->tensors[s->temporary].data.raw;
	for (size_t i = 0; i < out->bytes; i++) {
		uint8_t sum = 1;

		for (int j = 0; j < node->inputs->size; j++) {
			const struct tfl_tensor *in = &context->tensors[node->inputs->data[j]];

			sum = (uint8_t)(sum + ((uint8_t *)in->data.raw)[i % in->bytes] *
						      (unsigned int)(j + 1));
		}
		to[i] = sum;
	}
	if (s->flags & FAKE_TEMPORARY)
		memcpy(out->data.raw, to, out->bytes);
	if (s->flags & FAKE_COUNTS)
		++*(uint8_t *)context->tensors[node->inputs->data[node->inputs->size - 1]].data.raw;
	return TFL_OK;
}

/* ---------------------------------------------------------------- interpreter */

struct fake *fake_new(int minor)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	fake->minor = minor;
	fake->capacity = 8;
	fake->plan = ints_new(FAKE_NODES);
	fake->plan->size = 0;
	fake->outputs[0] = END;
	fake->clear_temporaries = minor >= 14;
	fake->context.tensors = calloc(fake->capacity, sizeof(*fake->context.tensors));
	fake->context.get_execution_plan = get_execution_plan;
	fake->context.resize_tensor = resize_tensor;
	fake->context.report_error = report_error;
	fake->context.add_tensors = add_tensors;
	fake->context.get_node_and_registration = get_node;
	if (minor >= 14)
		*(void **)&fake->context.replace_nodes = (void *)(uintptr_t)replace_2_14;
	else
		*(void **)&fake->context.replace_nodes = (void *)(uintptr_t)replace_2_9;
	return fake;
}

void fake_free(struct fake *fake)
{
	for (int i = 0; i < fake->node_count; i++) {
		if (fake->registrations[i].known.free)
			fake->registrations[i].known.free(&fake->context, fake->nodes[i].user_data);
		free(fake->states[i]);
		free(fake->nodes[i].inputs);
		free(fake->nodes[i].outputs);
		free(fake->nodes[i].temporaries);
	}
	for (size_t i = 0; i < fake->context.tensors_size; i++) {
		if (fake->context.tensors[i].allocation_type == TFL_DYNAMIC)
			free(fake->context.tensors[i].data.raw);
		free(fake->context.tensors[i].dims);
		free(fake->memory[i]);
	}
	free(fake->context.tensors);
	free(fake->plan);
	free(fake);
}

int fake_tensor(struct fake *fake, int bytes, int allocation)
{
	struct tfl_tensor *t;
	int number;

	add_tensors(&fake->context, 1, &number);
	t = fake_at(fake, number);
	t->type = TFL_UINT8;
	t->allocation_type = allocation;
	t->name = "t";
	t->dims = ints_new(1);
	t->dims->data[0] = bytes;
	t->bytes = (size_t)bytes;
	if (allocation == TFL_MMAP_RO || allocation == TFL_ARENA_PERSISTENT)
		t->data.raw = fake->memory[number] = calloc(1, (size_t)bytes);
	return number;
}

int fake_add(struct fake *fake, const struct fake_op *op)
{
	int number = fake->node_count++;
	struct fake_state *state = calloc(1, sizeof(*state));

	state->flags = op->flags;
	state->temporary = -1;
	fake->states[number] = state;
	fake->nodes[number].user_data = state;
	fake->nodes[number].inputs = ints_of(op->inputs, 4);
	fake->nodes[number].outputs = ints_of(op->outputs, 2);
	fake->nodes[number].temporaries = ints_new(0);
	fake->registrations[number].known.prepare = prepare;
	fake->registrations[number].known.invoke = invoke;
	fake->registrations[number].known.builtin_code = op->code;
	fake->plan->data[fake->plan->size++] = number;
	return number;
}

int fake_delegate(struct fake *fake, void *delegate)
{
	struct tfl_delegate *d = delegate;

	return d->prepare(&fake->context, d);
}

/* Each tensor of a node that is the runtime's has memory of its own. */
static void give_memory(struct fake *fake, const struct tfl_ints *list)
{
	for (int i = 0; i < list->size; i++) {
		struct tfl_tensor *t = fake_at(fake, list->data[i]);

		if (t->allocation_type != TFL_ARENA && t->allocation_type != TFL_ARENA_PERSISTENT)
			continue;
		if (t->allocation_type == TFL_ARENA_PERSISTENT && fake->memory[list->data[i]]) {
			t->data.raw = fake->memory[list->data[i]];
			continue;
		}
		free(fake->memory[list->data[i]]);
		t->data.raw = fake->memory[list->data[i]] = t->bytes ? calloc(1, t->bytes) : NULL;
	}
}

static void clear_unused(struct fake *fake)
{
	for (size_t t = 0; t < fake->context.tensors_size; t++) {
		struct tfl_tensor *tensor = &fake->context.tensors[t];
		bool used = tensor->name != NULL;

		for (int i = 0; i < fake->plan->size && !used; i++)
			used = has(fake->nodes[fake->plan->data[i]].temporaries, (int)t);
		if (!used) {
			tensor->data.raw = NULL;
			tensor->bytes = 0;
		}
	}
}

int fake_allocate(struct fake *fake)
{
	for (int i = 0; i < fake->plan->size; i++) {
		int n = fake->plan->data[i];
		int status = fake->registrations[n].known.prepare(&fake->context, &fake->nodes[n]);

		if (status != TFL_OK)
			return status;
	}
	for (int i = 0; i < fake->plan->size; i++) {
		give_memory(fake, fake->nodes[fake->plan->data[i]].inputs);
		give_memory(fake, fake->nodes[fake->plan->data[i]].outputs);
		give_memory(fake, fake->nodes[fake->plan->data[i]].temporaries);
	}
	if (fake->clear_temporaries)
		clear_unused(fake);
	return TFL_OK;
}

int fake_resize(struct fake *fake, int tensor, int bytes)
{
	struct tfl_ints *size = ints_new(1);

	size->data[0] = bytes;
	return resize_tensor(&fake->context, fake_at(fake, tensor), size);
}

int fake_invoke(struct fake *fake)
{
	for (int i = 0; i < fake->plan->size; i++) {
		int n = fake->plan->data[i];
		int status = fake->registrations[n].known.invoke(&fake->context, &fake->nodes[n]);

		if (status != TFL_OK)
			return status;
	}
	return TFL_OK;
}

void fake_fill(struct fake *fake, int tensor, unsigned int seed)
{
	struct tfl_tensor *t = fake_at(fake, tensor);

	for (size_t i = 0; i < t->bytes; i++)
		((uint8_t *)t->data.raw)[i] = (uint8_t)(seed = seed * 1103515245 + 12345);
}
