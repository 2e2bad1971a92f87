// SPDX-License-Identifier: MIT
/*
 * What the page's script knows of plans and their graphs, as JSON: what a search, a step that
 * is selected, the timeline and the list of what moved are made of. Records are arrays, whose
 * fields the script names in the same order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "cli/kind.h"
#include "picture.h"

/* A string that ends neither itself nor the element of the page that it stands in. */
static void write_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f || strchr("\"\\<>&", byte))
			fprintf(out, "\\u%04x", byte);
		else
			fputc(byte, out);
	}
	fputc('"', out);
}

static void write_indices(FILE *out, const uint32_t *list, uint32_t count)
{
	fputs(",[", out);
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", list[i]);
	fputc(']', out);
}

/* [name, kind, shape, bytes, tensor whose bytes it has or -1, first of them, flags] */
static void write_tensor(FILE *out, const struct npuplan_graph *graph, uint32_t index)
{
	const struct npuplan_tensor *tensor = &graph->tensors[index];
	bool alias = tensor->flags & NPUMEM_TENSOR_FLAG_ALIAS;

	fputc('[', out);
	write_string(out, tensor->name);
	fprintf(out, ",\"%s\",\"", kind_name(tensor->kind));
	for (uint32_t d = 0; d < tensor->dim_count; d++)
		fprintf(out, "%s%" PRId64, d ? " x " : "", tensor->shape[d]);
	fprintf(out, "\",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",%" PRIu32 "]", tensor->size,
		alias ? (int64_t)tensor->alias_of : -1, alias ? tensor->alias_offset : 0,
		tensor->flags);
}

/*
 * struct attribute_list - attributes, as they are written
 * @count: of those that have been
 */
struct attribute_list {
	FILE *out;
	unsigned int count;
};

static void begin_attribute(struct attribute_list *list, const char *name)
{
	fprintf(list->out, "%s\"%s", list->count++ ? "," : "", name);
}

static void write_flag(struct attribute_list *list, const char *name, bool is)
{
	if (!is)
		return;
	begin_attribute(list, name);
	fputc('"', list->out);
}

static void write_extents(struct attribute_list *list, const char *name, const int32_t *values,
			  uint32_t count)
{
	if (!count)
		return;
	begin_attribute(list, name);
	for (uint32_t i = 0; i < count; i++)
		fprintf(list->out, "%s%" PRId32, i ? " x " : " ", values[i]);
	fputc('"', list->out);
}

static void write_attrs(FILE *out, const struct npuplan_attrs *attrs)
{
	struct attribute_list list = { out, 0 };

	fputs(",[", out);
	write_extents(&list, "kernel", attrs->kernel, attrs->spatial);
	write_extents(&list, "stride", attrs->stride, attrs->spatial);
	write_extents(&list, "dilation", attrs->dilation, attrs->spatial);
	write_extents(&list, "padding before", attrs->pad_begin, attrs->spatial);
	write_extents(&list, "padding after", attrs->pad_end, attrs->spatial);
	write_extents(&list, "groups", &attrs->groups, attrs->groups > 1);
	write_extents(&list, "axis", &attrs->axis, attrs->axis >= 0);
	write_flag(&list, "transposed", attrs->transposed);
	write_flag(&list, "may overwrite its first input", attrs->inplace);
	write_flag(&list, "never cut", attrs->whole);
	write_flag(&list, "converts its inputs", attrs->converts);
	fputc(']', out);
}

/* [name, type, attributes, inputs, outputs] */
static void write_op(FILE *out, const struct npuplan_op *op)
{
	fputc('[', out);
	write_string(out, op->name);
	fputc(',', out);
	write_string(out, op->type);
	write_attrs(out, &op->attrs);
	write_indices(out, op->inputs, op->input_count);
	write_indices(out, op->outputs, op->output_count);
	fputc(']', out);
}

/* [name, operator or -1, flags, [tensor, mode, first byte, bytes, ...]] */
static void write_step(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_step *step)
{
	fputc('[', out);
	write_string(out, step->name);
	fprintf(out, ",%" PRId64 ",%" PRIu32 ",[",
		step->op < graph->op_count ? (int64_t)step->op : -1, step->flags);
	for (uint32_t a = 0; a < step->access_count; a++) {
		const struct npumem_access *access = &graph->accesses[step->first_access + a];
		const struct npumem_tile *tile = &graph->tiles[access->tile];

		fprintf(out, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, a ? "," : "",
			tile->tensor, access->mode, (uint64_t)tile->region.offset,
			chunks_bytes(&tile->region));
	}
	fputs("]]", out);
}

/* Flat: tensor whose value another one takes on along the edge, and that one. */
static void write_edge(FILE *out, const struct npuplan_graph *graph, const struct npumem_edge *edge)
{
	fputc('[', out);
	for (uint32_t c = 0; c < edge->carry_count; c++) {
		const struct npumem_carry *carry = &graph->carries[edge->first_carry + c];

		fprintf(out, "%s%" PRIu32 ",%" PRIu32, c ? "," : "", carry->from, carry->to);
	}
	fputc(']', out);
}

static void write_graph(FILE *out, const struct npuplan_graph *graph)
{
	fputs("{\"tensors\":[", out);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_tensor(out, graph, i);
	}
	fputs("],\n\"ops\":[", out);
	for (uint32_t i = 0; i < graph->op_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_op(out, &graph->ops[i]);
	}
	fputs("],\n\"steps\":[", out);
	for (uint32_t i = 0; i < graph->step_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_step(out, graph, &graph->steps[i]);
	}
	fputs("],\n\"edges\":[", out);
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_edge(out, graph, &graph->edges[i]);
	}
	fputs("]}", out);
}

/* Graphs of two plans are mostly the same: then the second one is not written again. */
static char *graph_text(const struct npuplan_graph *graph)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	write_graph(out, graph);
	if (fclose(out))
		abort();
	return text;
}

static void write_flow(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan)
{
	const char *before = "";

	/* Flat: first position, positions. */
	fputs("],\n\"blocks\":[", out);
	for (uint32_t b = 0; b < plan->block_count; b++)
		fprintf(out, "%s%" PRIu32 ",%" PRIu32, b ? "," : "", plan->blocks[b].first_position,
			plan->blocks[b].position_count);
	/* Flat: from block, to block, edge of the graph. What leads to the exit is left out. */
	fputs("],\n\"edges\":[", out);
	for (uint32_t e = 0; e < plan->edge_count; e++) {
		const struct npumem_plan_edge *edge = &plan->edges[e];

		if (edge->to >= plan->block_count || edge->edge >= graph->edge_count)
			continue;
		fprintf(out, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32, before, edge->from, edge->to,
			edge->edge);
		before = ",";
	}
}

static void write_plan(FILE *out, const struct picture *picture, unsigned int graph)
{
	const struct npuplan_plan *plan = picture->plan;

	fputs("{\"name\":", out);
	write_string(out, picture->name);
	fputs(",\"planner\":", out);
	write_string(out, plan->info.planner);
	fprintf(out, ",\"graph\":%u,\"arena\":%" PRIu64 ",\n\"positions\":[", graph,
		(uint64_t)plan->info.arena_size);
	/* Flat: kind, step or tensor, bytes moved. */
	for (uint32_t p = 0; p < plan->position_count; p++)
		fprintf(out, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu64, p ? "," : "",
			plan->positions[p].kind, plan->positions[p].index,
			(uint64_t)plan->positions[p].length);
	write_flow(out, picture->graph, plan);
	/* Flat: position, number of an access of its step. */
	fputs("],\n\"inPlace\":[", out);
	picture_write_in_place(out, picture);
	/* Flat: tensor, first byte in the arena, bytes from there to its end, from, to. */
	fputs("],\n\"placements\":[", out);
	for (uint32_t i = 0; i < picture->placement_count; i++) {
		const struct picture_placement *drawn = &picture->placements[i];

		fprintf(out, "%s%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32,
			i ? "," : "", drawn->tensor, drawn->hull.first, drawn->hull.length,
			drawn->hull.start / 2, drawn->hull.end / 2);
	}
	/* Of each half of each position. */
	fputs("],\n\"live\":[", out);
	for (uint32_t half = 0; half < 2 * plan->position_count; half++)
		fprintf(out, "%s%" PRIu64, half ? "," : "", picture->live[half]);
	fputs("]}", out);
}

void picture_write_data(FILE *out, const struct picture *pictures, unsigned int count)
{
	char **texts = calloc(count + (size_t)1, sizeof(*texts));
	unsigned int *graphs = calloc(count + (size_t)1, sizeof(*graphs));
	unsigned int distinct = 0;

	if (!texts || !graphs)
		abort();
	fputs("{\"graphs\":[", out);
	for (unsigned int i = 0; i < count; i++) {
		char *text = graph_text(pictures[i].graph);
		unsigned int known = 0;

		while (known < distinct && strcmp(texts[known], text) != 0)
			known++;
		graphs[i] = known;
		if (known < distinct) {
			free(text);
			continue;
		}
		fprintf(out, "%s%s", distinct ? "," : "", text);
		texts[distinct++] = text;
	}
	fputs("],\n\"plans\":[", out);
	for (unsigned int i = 0; i < count; i++) {
		if (i)
			fputs(",\n", out);
		write_plan(out, &pictures[i], graphs[i]);
	}
	fputs("]}\n", out);
	for (unsigned int i = 0; i < distinct; i++)
		free(texts[i]);
	free(texts);
	free(graphs);
}
