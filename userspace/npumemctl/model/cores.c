/* SPDX-License-Identifier: MIT */
/* Operators that the command line names: break nodes, and which core runs which. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/*
 * The operator of this name, or else of this id. NPUMEM_NONE if none has it, or after an error
 * message if several have: then @twice becomes true.
 */
static uint32_t find_op(const struct model *model, const char *option, const char *name,
			bool *twice)
{
	const struct npuplan_graph *graph = model->graph;
	uint32_t found = NPUMEM_NONE;
	long long id;
	char *end;

	*twice = false;
	for (uint32_t v = 0; v < graph->op_count; v++) {
		if (strcmp(graph->ops[v].name, name) != 0)
			continue;
		if (found != NPUMEM_NONE) {
			failure(model->path,
				"%s: operators %" PRId64 " and %" PRId64
				" are both named '%s': give the id",
				option, graph->ops[found].id, graph->ops[v].id, name);
			*twice = true;
			return NPUMEM_NONE;
		}
		found = v;
	}
	errno = 0;
	id = strtoll(name, &end, 10);
	/* It skips blanks, which no id has. */
	if (errno || *end || name[strspn(name, "-0123456789")] || !*name)
		return found;
	for (uint32_t v = 0; v < graph->op_count && found == NPUMEM_NONE; v++)
		if (graph->ops[v].id == id)
			found = v;
	return found;
}

/* ---------------------------------------------------------------- break nodes */

/*
 * The operator that writes the tensor of this name. NPUMEM_NONE after an error message, if none
 * does, or several write tensors of this name.
 */
static uint32_t find_writer(const struct model *model, const char *name)
{
	const struct npuplan_graph *graph = model->graph;
	uint32_t found = NPUMEM_NONE;

	for (uint32_t v = 0; v < graph->op_count; v++)
		for (uint32_t k = 0; k < graph->ops[v].output_count; k++) {
			if (strcmp(graph->tensors[graph->ops[v].outputs[k]].name, name) != 0)
				continue;
			if (found != NPUMEM_NONE && found != v) {
				failure(model->path,
					"--break: operators %" PRId64 " and %" PRId64
					" both write a tensor named '%s': give the operator's id",
					graph->ops[found].id, graph->ops[v].id, name);
				return NPUMEM_NONE;
			}
			found = v;
		}
	if (found == NPUMEM_NONE)
		failure(model->path,
			"--break: no operator has the name or id '%s', and none "
			"writes a tensor of that name",
			name);
	return found;
}

/* The one step of an operator. NPUMEM_NONE, after an error message, if it has none, or several. */
static uint32_t step_of(const struct model *model, uint32_t op)
{
	const struct npuplan_graph *graph = model->graph;
	uint32_t found = NPUMEM_NONE, count = 0;

	for (uint32_t s = 0; s < graph->step_count; s++)
		if (graph->steps[s].op == op) {
			found = s;
			count++;
		}
	if (count == 1)
		return found;
	failure(model->path, "--break: operator '%s' is %" PRIu32 " steps: break nodes are one",
		graph->ops[op].name, count);
	return NPUMEM_NONE;
}

static bool add_break(const struct model *model, const char *name, uint32_t *breaks,
		      uint32_t *count)
{
	bool twice;
	uint32_t op = find_op(model, "--break", name, &twice);

	if (twice)
		return false;
	if (op == NPUMEM_NONE)
		op = find_writer(model, name);
	if (op == NPUMEM_NONE)
		return false;
	breaks[*count] = step_of(model, op);
	return breaks[(*count)++] != NPUMEM_NONE;
}

bool breaks_find(const struct model *model, const struct option_texts *texts, uint32_t **breaks,
		 uint32_t *count)
{
	size_t room = 0;
	bool ok = true;

	*count = 0;
	for (size_t i = 0; i < texts->count; i++)
		room += strlen(texts->list[i]) + 1;
	*breaks = calloc(room + 1, sizeof(**breaks));
	if (!*breaks)
		abort();
	for (size_t i = 0; i < texts->count && ok; i++) {
		char *copy = strdup(texts->list[i]), *rest = copy, *name;

		if (!copy)
			abort();
		while (ok && (name = strsep(&rest, ",")))
			ok = add_break(model, name, *breaks, count);
		free(copy);
	}
	return ok;
}

json_t *breaks_json(const struct npuplan_plan *plan, uint32_t count)
{
	uint64_t bound = plan->cosma ? plan->cosma->split_bound : 0;

	if (!count)
		return json_null();
	return json_pack("{sI so}", "count", (json_int_t)count, "lower_bound",
			 bound ? json_integer((json_int_t)bound) : json_null());
}

void breaks_print(FILE *out, const struct npuplan_plan *plan, uint32_t count)
{
	uint64_t traffic = plan->info.spill_bytes + plan->info.fill_bytes;
	uint64_t bound = plan->cosma ? plan->cosma->split_bound : 0;

	fprintf(out, "breaks       %" PRIu32 " break %s", count, count == 1 ? "node" : "nodes");
	if (bound && bound >= traffic)
		fprintf(out, ": no plan whose order is divided there moves less");
	else if (bound)
		fprintf(out, ": plans whose order is divided there move %" PRIu64 " bytes at least",
			bound);
	fputc('\n', out);
}

/* ---------------------------------------------------------------------- cores */

bool cores_possible(const struct model *model, const struct tiling *tiling)
{
	if (!model->graph->op_count || model->graph->step_count) {
		failure(model->path,
			"--cores needs a model: of a graph blob's steps it is not known which "
			"operator they are");
		return false;
	}
	if (tiling->is_said) {
		failure(model->path,
			"--cores is of whole operators: leave out what says how to cut");
		return false;
	}
	return true;
}

/*
 * struct assigning - operators that get their cores
 * @core_of: per operator, its core; NPUMEM_NONE: not said
 * @rest: core of all that nothing is said of; NPUMEM_NONE: none
 */
struct assigning {
	const struct model *model;
	const struct npuplan_core *cores;
	uint32_t count;
	uint32_t *core_of;
	uint32_t rest;
};

/* "OP=CORE", of which the first part may be "*". */
static bool assign(struct assigning *assigning, char *text)
{
	const struct npuplan_graph *graph = assigning->model->graph;
	const char *path = assigning->model->path;
	char *core = strrchr(text, '=');
	uint32_t c = 0, *at = &assigning->rest;
	bool twice;

	if (!core) {
		failure(path, "--assign: '%s' is not OP=CORE", text);
		return false;
	}
	*core++ = '\0';
	while (c < assigning->count && strcmp(assigning->cores[c].name, core) != 0)
		c++;
	if (c == assigning->count) {
		failure(path, "--assign: there is no core '%s' in --cores", core);
		return false;
	}
	if (strcmp(text, "*") != 0) {
		uint32_t op = find_op(assigning->model, "--assign", text, &twice);

		if (op == NPUMEM_NONE) {
			if (!twice)
				failure(path, "--assign: no operator has the name or id '%s'",
					text);
			return false;
		}
		at = &assigning->core_of[op];
	}
	if (*at != NPUMEM_NONE) {
		failure(path, "--assign: '%s' is assigned twice",
			at == &assigning->rest ? "*" : graph->ops[at - assigning->core_of].name);
		return false;
	}
	*at = c;
	return true;
}

/* A file with such a text on each line; empty ones and those that begin with "#" do not count. */
static bool assign_file(struct assigning *assigning, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	bool ok = true;

	if (!file) {
		failure(path, "%s", strerror(errno));
		return false;
	}
	while (ok && getline(&line, &room, file) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line && *line != '#')
			ok = assign(assigning, line);
	}
	if (ok && ferror(file)) {
		failure(path, "%s", strerror(errno));
		ok = false;
	}
	free(line);
	fclose(file);
	return ok;
}

uint32_t *cores_assign(const struct model *model, const struct npuplan_core *cores, uint32_t count,
		       const struct option_texts *texts)
{
	uint32_t n = model->graph->op_count;
	struct assigning assigning = {
		.model = model,
		.cores = cores,
		.count = count,
		.core_of = malloc((n + (size_t)1) * sizeof(uint32_t)),
		.rest = NPUMEM_NONE,
	};
	bool ok = true;

	if (!assigning.core_of)
		abort();
	for (uint32_t v = 0; v < n; v++)
		assigning.core_of[v] = NPUMEM_NONE;
	for (size_t i = 0; i < texts->count && ok; i++) {
		char *copy = strdup(texts->list[i]);

		if (!copy)
			abort();
		ok = strchr(copy, '=') ? assign(&assigning, copy) : assign_file(&assigning, copy);
		free(copy);
	}
	for (uint32_t v = 0; v < n && ok; v++) {
		if (assigning.core_of[v] == NPUMEM_NONE)
			assigning.core_of[v] = assigning.rest;
		ok = assigning.core_of[v] != NPUMEM_NONE;
		if (!ok)
			failure(model->path, "--assign: operator '%s' has no core",
				model->graph->ops[v].name);
	}
	if (ok)
		return assigning.core_of;
	free(assigning.core_of);
	return NULL;
}

uint32_t *cores_with_copies(const struct npuplan_graph *graph, uint32_t *core_of)
{
	uint32_t copies = graph->tiling.link_copy_count, at = 0;
	uint32_t *all = malloc((graph->op_count + (size_t)1) * sizeof(*all));
	int64_t last = INT64_MIN;

	if (!all)
		abort();
	/* Copies have the largest ids. */
	for (uint32_t v = 0; v < graph->op_count; v++)
		last = graph->ops[v].id > last ? graph->ops[v].id : last;
	for (uint32_t v = 0; v < graph->op_count; v++)
		all[v] = graph->ops[v].id > last - copies ? NPUMEM_NONE : core_of[at++];
	free(core_of);
	return all;
}

json_t *cores_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	const struct npuplan_cosma_result *found = plan->cosma;
	json_t *list;

	if (!found || !found->core_count)
		return json_null();
	list = json_array();
	for (uint32_t c = 0; c < found->core_count; c++) {
		const struct npuplan_core_result *core = &found->cores[c];

		json_array_append_new(
			list,
			json_pack("{ss sI sI sI sI sI}", "name", core->core.name, "size",
				  (json_int_t)core->core.size, "needed", (json_int_t)core->needed,
				  "spill", (json_int_t)core->spill, "fill", (json_int_t)core->fill,
				  "lower_bound", (json_int_t)core->bound));
	}
	return json_pack("{sI sI so}", "copies", (json_int_t)graph->tiling.link_copy_count,
			 "link_bytes", (json_int_t)found->link_bytes, "cores", list);
}

void cores_print(FILE *out, const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	const struct npuplan_cosma_result *found = plan->cosma;

	for (uint32_t c = 0; c < found->core_count; c++) {
		const struct npuplan_core_result *core = &found->cores[c];

		fprintf(out,
			"core         %s: %s; %" PRIu64 " spilled, %" PRIu64 " filled, lower bound "
			"%" PRIu64 "; a step needs %" PRIu64 " at most\n",
			core->core.name, size_text(core->core.size).s, core->spill, core->fill,
			core->bound, core->needed);
	}
	fprintf(out, "links        %s in %" PRIu32 " copies from core to core\n",
		size_text(found->link_bytes).s, graph->tiling.link_copy_count);
}
