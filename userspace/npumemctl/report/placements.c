/* SPDX-License-Identifier: MIT */
/* Where each tensor lies, and for how long: a table for people, CSV for programs, a C header. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../chunks/chunks.h"
#include "cli/kind.h"
#include "report.h"

/* The byte of the arena behind the last one. A ring has but so many of its repetitions. */
static uint64_t end_of(const struct npumem_placement *p)
{
	uint64_t end = p->offset + p->region.length;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		uint32_t count = p->region.count[d];

		if (d == 2 && p->ring && p->ring < count)
			count = p->ring;
		end += p->stride[d] * (count - 1);
	}
	return end;
}

/*
 * A piece whose chunks follow each other, in tensor and arena alike, is one of fewer and longer
 * chunks: most are one chunk then. Slots of a ring are used again, so its repetitions stay.
 */
static struct npumem_placement folded(const struct npumem_placement *placement)
{
	struct npumem_placement p = *placement;

	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (p.region.count[d] == 1)
			continue;
		if (p.region.stride[d] != p.region.length || p.stride[d] != p.region.length ||
		    (d == 2 && p.ring))
			break;
		p.region.length *= p.region.count[d];
		p.region.count[d] = 1;
	}
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		if (p.region.count[d] == 1)
			p.region.stride[d] = p.stride[d] = 0;
	return p;
}

static bool is_whole(const struct npuplan_graph *graph, const struct npumem_placement *p)
{
	return chunks_bytes(&p->region) == graph->tensors[p->tensor].size;
}

/* Name of what happens at a position; "" of a block that has none. */
static const char *position_text(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
				 uint32_t position)
{
	static const char *const transfers[] = { "", "load", "spill", "fill", "drop", "store" };
	const struct npumem_position *at;

	if (position >= plan->position_count)
		return "";
	at = &plan->positions[position];
	if (at->kind == NPUMEM_POSITION_STEP)
		return graph->steps[at->index].name;
	return at->kind < sizeof(transfers) / sizeof(transfers[0]) ? transfers[at->kind] : "";
}

/* ", in chunks of 7: 16 every 112, 4 every 1792"; a piece that is one chunk has nothing to say. */
static void print_chunks(FILE *out, const struct npumem_placement *placement)
{
	struct npumem_placement p = folded(placement);
	const char *before = ":";

	if (chunks_count(&p.region) == 1)
		return;
	fprintf(out, ", in chunks of %" PRIu64, (uint64_t)p.region.length);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (p.region.count[d] == 1)
			continue;
		fprintf(out, "%s %u every %" PRIu64, before, p.region.count[d],
			(uint64_t)p.stride[d]);
		before = ",";
	}
}

void placements_print(FILE *out, const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	fprintf(out, "%10s %10s %10s %7s %7s %-12s %s\n", "offset", "end", "bytes", "from", "to",
		"kind", "tensor");
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		const struct npuplan_tensor *tensor = &graph->tensors[p->tensor];

		fprintf(out, "%10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %7u %7u %-12s %s",
			(uint64_t)p->offset, end_of(p), chunks_bytes(&p->region), p->from, p->to,
			kind_name(tensor->kind), tensor->name);
		if (!is_whole(graph, p))
			fprintf(out, ", from its byte %" PRIu64 " on", (uint64_t)p->region.offset);
		print_chunks(out, p);
		if (p->ring)
			fprintf(out, ", a ring of %u", p->ring);
		fputc('\n', out);
	}
}

/* As RFC 4180 has it. */
static void csv_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void csv_chunks(FILE *out, const struct npumem_placement *placement)
{
	struct npumem_placement p = folded(placement);

	fprintf(out, ",%" PRIu64, (uint64_t)p.region.length);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		fprintf(out, ",%u", p.region.count[d]);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		fprintf(out, ",%" PRIu64, (uint64_t)p.stride[d]);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++)
		fprintf(out, ",%" PRIu64, (uint64_t)p.region.stride[d]);
}

void placements_csv(FILE *out, const struct npuplan_graph *graph, const struct npuplan_plan *plan)
{
	fputs("tensor,id,kind,tensor_bytes,offset,end,bytes,tensor_byte,ring,from,to,from_step,"
	      "to_step,chunk,count_0,count_1,count_2,stride_0,stride_1,stride_2,tensor_stride_0,"
	      "tensor_stride_1,tensor_stride_2\r\n",
	      out);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		const struct npuplan_tensor *tensor = &graph->tensors[p->tensor];

		csv_text(out, tensor->name);
		fprintf(out, ",%" PRId64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
			tensor->id, kind_name(tensor->kind), tensor->size, (uint64_t)p->offset,
			end_of(p), chunks_bytes(&p->region));
		fprintf(out, ",%" PRIu64 ",%u,%u,%u,", (uint64_t)p->region.offset, p->ring, p->from,
			p->to);
		csv_text(out, position_text(graph, plan, p->from));
		fputc(',', out);
		csv_text(out, position_text(graph, plan, p->to));
		csv_chunks(out, p);
		fputs("\r\n", out);
	}
}

/* Characters of a name that an identifier has: compilers' names are lists of names. */
#define IDENTIFIER 40

/* What an identifier may have of a name, in capitals. */
static void print_identifier(FILE *out, const char *name)
{
	for (int i = 0; i < IDENTIFIER && name[i]; i++)
		fputc(isascii((unsigned char)name[i]) && isalnum((unsigned char)name[i]) ?
			      toupper((unsigned char)name[i]) :
			      '_',
		      out);
}

/* "#define NET_": the beginning that all macros of a graph have. */
static void begin_define(FILE *out, const struct npuplan_graph *graph)
{
	fputs("#define ", out);
	if (!isascii((unsigned char)*graph->name) || !isalpha((unsigned char)*graph->name))
		fputs("GRAPH_", out);
	print_identifier(out, graph->name);
	fputc('_', out);
}

static void end_define(FILE *out, const char *what, uint64_t value)
{
	fprintf(out, "%s %" PRIu64 "%s\n", what, value, value > UINT32_MAX ? "ull" : "u");
}

/* "#define NET_T12_CONV1_OFFSET 4096u": the tensor's number makes it the only one. */
static void define(FILE *out, const struct npuplan_graph *graph, const struct npumem_placement *p,
		   uint32_t piece, const char *what, uint64_t value)
{
	begin_define(out, graph);
	fprintf(out, "T%u_", p->tensor);
	print_identifier(out, graph->tensors[p->tensor].name);
	if (piece != NPUMEM_NONE)
		fprintf(out, "_%u", piece);
	fputc('_', out);
	end_define(out, what, value);
}

/* The same of a dimension of the piece's chunks: "..._CHUNKS_1". */
static void define_of(FILE *out, const struct npuplan_graph *graph,
		      const struct npumem_placement *p, uint32_t piece, const char *what, int d,
		      uint64_t value)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_%d", what, d);
	define(out, graph, p, piece, name, value);
}

/*
 * Code that takes BYTES from OFFSET on would overwrite what lies between chunks, or behind a ring:
 * such a piece has no BYTES.
 */
static void define_piece(FILE *out, const struct npuplan_graph *graph,
			 const struct npumem_placement *placement, uint32_t piece)
{
	const struct npumem_placement p = folded(placement);

	define(out, graph, &p, piece, "OFFSET", p.offset);
	define(out, graph, &p, piece, "END", end_of(&p));
	if (chunks_count(&p.region) == 1) {
		define(out, graph, &p, piece, "BYTES", p.region.length);
		return;
	}
	define(out, graph, &p, piece, "TENSOR_BYTE", p.region.offset);
	define(out, graph, &p, piece, "CHUNK_BYTES", p.region.length);
	for (int d = 0; d < NPUMEM_REGION_DIMS; d++) {
		if (p.region.count[d] == 1)
			continue;
		define_of(out, graph, &p, piece, "CHUNKS", d, p.region.count[d]);
		define_of(out, graph, &p, piece, "STRIDE", d, p.stride[d]);
		define_of(out, graph, &p, piece, "TENSOR_STRIDE", d, p.region.stride[d]);
	}
	if (p.ring)
		define(out, graph, &p, piece, "RING", p.ring);
}

/* What would end the comment that it stands in, or begin one in it, loses its slash. */
static void print_comment(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(*c == '/' && (c[1] == '*' || (c > text && c[-1] == '*')) ? '|' : *c, out);
}

void placements_header(FILE *out, const struct npuplan_graph *graph,
		       const struct npuplan_plan *plan)
{
	uint32_t *counts = calloc(graph->tensor_count + (size_t)1, sizeof(*counts));
	uint32_t *numbers = calloc(graph->tensor_count + (size_t)1, sizeof(*numbers));

	for (uint32_t i = 0; counts && i < plan->placement_count; i++)
		counts[plan->placements[i].tensor]++;
	fputs("/* Where the tensors of graph \"", out);
	print_comment(out, graph->name);
	fputs("\" lie in the arena, in bytes. Made by npumemctl show --c-header.\n"
	      " *\n"
	      " * A piece of a tensor lies within OFFSET and END, the byte behind its last one. If it has\n"
	      " * BYTES, it is that many bytes of the tensor, one after the other, and all from OFFSET to\n"
	      " * END. If it has CHUNK_BYTES instead, it lies in chunks, and between them may be bytes of\n"
	      " * other tensors. There are CHUNKS_0 x CHUNKS_1 x CHUNKS_2 of them; where one of these is\n"
	      " * not defined, it is 1. Chunk (i, j, k) is CHUNK_BYTES bytes, one after the other, from\n"
	      " *\tOFFSET + i * STRIDE_0 + j * STRIDE_1 + k * STRIDE_2\n"
	      " * on in the arena, and from\n"
	      " *\tTENSOR_BYTE + i * TENSOR_STRIDE_0 + j * TENSOR_STRIDE_1 + k * TENSOR_STRIDE_2\n"
	      " * on in the tensor. A piece that has RING is a ring of as many slots: its chunk (i, j, k)\n"
	      " * lies in the arena where chunk (i, j, k % RING) does, once that is not needed any more.\n"
	      " */\n"
	      "#pragma once\n\n",
	      out);
	begin_define(out, graph);
	end_define(out, "ARENA_BYTES", plan->info.arena_size);
	begin_define(out, graph);
	end_define(out, "ARENA_ALIGNMENT", plan->info.alignment);
	for (uint32_t i = 0; counts && numbers && i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		uint32_t piece = counts[p->tensor] > 1 ? numbers[p->tensor]++ : NPUMEM_NONE;

		fprintf(out, "\n/* %s \"", kind_name(graph->tensors[p->tensor].kind));
		print_comment(out, graph->tensors[p->tensor].name);
		fprintf(out, "\", from its byte %" PRIu64 " on, positions %u to %u */\n",
			(uint64_t)p->region.offset, p->from, p->to);
		define_piece(out, graph, p, piece);
	}
	/* A write that fails is seen by whoever ends the text; so is this. */
	if (!counts || !numbers)
		fputs("#error \"out of memory\"\n", out);
	free(counts);
	free(numbers);
}
