// SPDX-License-Identifier: MIT
/* Framing of blobs: header, section table, sections. */
#include "test_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct build_blob chain_graph(void)
{
	struct build_blob blob;
	struct build b;

	chain(&b);
	blob = build_graph(&b);
	build_free(&b);
	return blob;
}

/* h: header, s: table entry of a kind of section, of a fresh blob that is refused. */
#define REFUSE_HEADER(spoil, err, rule, text)             \
	do {                                              \
		struct build_blob blob = chain_graph();   \
		struct npumem_blob_header *h = blob.data; \
		(void)h;                                  \
		spoil;                                    \
		refuse_graph_blob(blob, err, rule, text); \
	} while (0)
#define REFUSE_SECTION(section, spoil, err, rule, text)                       \
	do {                                                                  \
		struct build_blob blob = chain_graph();                       \
		struct npumem_blob_section *s = build_section(blob, section); \
		spoil;                                                        \
		refuse_graph_blob(blob, err, rule, text);                     \
	} while (0)
#define FORMAT NPUMEM_RULE_FORMAT

TEST(header)
{
	REFUSE_HEADER(h->magic = NPUMEM_PLAN_MAGIC, EBADMSG, FORMAT,
		      "format: magic is 0x4c50504e, expected 0x5247504e");
	REFUSE_HEADER(h->version = 2, EOPNOTSUPP, FORMAT, "format: version 2, only 1 is known");
	REFUSE_HEADER(h->total_size += 8, EBADMSG, FORMAT,
		      "format: total_size is 712, the blob has 704 bytes");
	REFUSE_HEADER(blob.size -= 8, EBADMSG, FORMAT,
		      "format: total_size is 704, the blob has 696 bytes");
	REFUSE_HEADER(blob.size = 31, EBADMSG, FORMAT,
		      "format: blob has 31 bytes, its header needs 32");
	REFUSE_HEADER(blob.size = 0, EBADMSG, FORMAT,
		      "format: blob has 0 bytes, its header needs 32");
	REFUSE_HEADER(blob.size = NPUMEM_BLOB_MAX_BYTES + 1, E2BIG, NPUMEM_RULE_NONE,
		      "limit: blob has 67108865 bytes, at most 67108864 are taken");
	REFUSE_HEADER(h->flags = 1, EBADMSG, FORMAT, "format: header's flags or pad not zero");
	REFUSE_HEADER(h->pad = 1, EBADMSG, FORMAT, "format: header's flags or pad not zero");
	REFUSE_HEADER(h->section_count = 33, EBADMSG, FORMAT, "format: 33 sections, at most 32");
	REFUSE_HEADER(h->section_count = 32, EBADMSG, FORMAT,
		      "format: section table of 1024 bytes ends beyond the blob");
	REFUSE_HEADER(h->section_stride = 24, EBADMSG, FORMAT, "format: section_stride is 24");
	REFUSE_HEADER(h->section_stride = 36, EBADMSG, FORMAT, "format: section_stride is 36");
	REFUSE_HEADER(h->section_stride = 0xfffffff8, EBADMSG, FORMAT,
		      "format: section table of 25769803728 bytes ends beyond the blob");
}

TEST(alignment_in_memory)
{
	struct build_blob blob = chain_graph();
	char *odd = malloc(blob.size + 4);
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;

	memcpy(odd + 4, blob.data, blob.size);
	assert_int_equal(npuv_graph_create(odd + 4, blob.size, &npuv_default_limits, NULL, &verdict,
					   &graph),
			 -EBADMSG);
	assert_int_equal(verdict.rule, FORMAT);
	assert_null(graph);
	free(odd);
	free(blob.data);
}

TEST(sections)
{
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TILES, s->kind = 0, EBADMSG, FORMAT,
		       "format: section 1 is of unknown kind 0");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TILES, s->kind = 9, EOPNOTSUPP, FORMAT,
		       "format: section 1 is of unknown kind 9");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TILES, s->kind = NPUMEM_GRAPH_SECTION_TENSORS, EBADMSG,
		       FORMAT, "format: sections 0 and 1 are of the same kind 1");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_STRINGS, s->kind = NPUMEM_GRAPH_SECTION_MODEL;
		       s[-1].kind = s->kind; s[-1].stride = 1;
		       s[-1].count *= 16, EBADMSG, FORMAT,
		       "format: sections 4 and 5 are of the same kind 32769");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TILES, s->pad = 1, EBADMSG, FORMAT,
		       "format: padding of section 1 (tiles) not zero");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->stride = 40, EBADMSG, FORMAT,
		       "format: stride of section 0 (tensors) is 40, needs 48 or more, multiple "
		       "of 8");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->stride = 52, EBADMSG, FORMAT,
		       "format: stride of section 0 (tensors) is 52, needs 48 or more, multiple "
		       "of 8");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_STRINGS, s->stride = 2, EBADMSG, FORMAT,
		       "format: stride of section 5 (strings) is 2, needs 1 or more, multiple of "
		       "1");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->offset += 4, EBADMSG, FORMAT,
		       "format: offset of section 0 (tensors) is 228");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->offset = 216, EBADMSG, FORMAT,
		       "format: offset of section 0 (tensors) is 216");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->offset = 712, EBADMSG, FORMAT,
		       "format: offset of section 0 (tensors) is 712");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->count = 11, EBADMSG, FORMAT,
		       "format: section 0 (tensors) of 11 records ends beyond the blob");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->count = 1ull << 60, EBADMSG, FORMAT,
		       "format: section 0 (tensors) of 1152921504606846976 records ends beyond "
		       "the blob");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TENSORS, s->count = 4, EBADMSG, FORMAT,
		       "format: sections 0 and 1 overlap");
	/* By the least that aligned sections can. */
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_TILES, s->offset -= 8, EBADMSG, FORMAT,
		       "format: sections 0 and 1 overlap");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_STRINGS, s->count -= 2, EBADMSG, FORMAT,
		       "format: bytes between sections not zero");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_BLOCKS, s->kind = NPUMEM_GRAPH_SECTION_MODEL;
		       s->stride = 1;
		       s->count = 16, EBADMSG, FORMAT, "format: section blocks is missing");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_BLOCKS, s->count = 0, EBADMSG, FORMAT,
		       "format: bytes between sections not zero");
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_BLOCKS, memset((char *)blob.data + s->offset, 0, 16);
		       s->count = 0, EINVAL, FORMAT, "format: section blocks is empty");
}

/* The last byte of the strings made another one: what lies behind is still zero. */
TEST(strings)
{
	REFUSE_SECTION(NPUMEM_GRAPH_SECTION_STRINGS,
		       ((char *)blob.data)[s->offset + s->count - 1] = 'z', EINVAL, FORMAT,
		       "format: section strings does not end with a NUL");
}

/* A newer writer's longer records: fine while the rest is zero. */
TEST(long_records)
{
	struct build_blob blob = chain_graph(), longer;
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;
	struct npumem_blob_section *s;
	struct npumem_blob_header *h;
	uint32_t i;

	s = build_section(blob, NPUMEM_GRAPH_SECTION_TENSORS);
	assert_int_equal(s->count, 3);
	longer.size = blob.size + 3 * 16;
	longer.data = calloc(1, longer.size);
	h = longer.data;
	memcpy(longer.data, blob.data, s->offset);
	h->total_size = longer.size;
	for (i = 0; i < 3; i++)
		memcpy((char *)longer.data + s->offset + i * 64,
		       (char *)blob.data + s->offset + i * 48, 48);
	memcpy((char *)longer.data + s->offset + 3 * 64, (char *)blob.data + s->offset + 3 * 48,
	       blob.size - s->offset - 3 * 48);
	for (i = 1; i < h->section_count; i++)
		((struct npumem_blob_section *)(h + 1))[i].offset += 3 * 16;
	build_section(longer, NPUMEM_GRAPH_SECTION_TENSORS)->stride = 64;
	assert_int_equal(npuv_graph_create(longer.data, longer.size, &npuv_default_limits, NULL,
					   &verdict, &graph),
			 0);
	assert_int_equal(graph->tensors.count, 3);
	assert_int_equal(npuv_tensor(graph, Y)->kind, NPUMEM_TENSOR_OUTPUT);
	npuv_graph_destroy(graph);

	((char *)longer.data)[s->offset + 64 + 63] = 1;
	verdict = refuse_graph_blob(longer, EBADMSG, FORMAT,
				    "format: record 1 of section tensors has bytes beyond the 48 "
				    "known that are not zero");
	assert_int_equal(verdict.first, s->offset + 64 + 48);
	assert_int_equal(verdict.length, 16);
	free(blob.data);
}

TEST(opaque_section)
{
	struct build_blob blob = chain_graph();
	struct npumem_blob_section *s = build_section(blob, NPUMEM_GRAPH_SECTION_STRINGS);
	struct npuv_graph *graph = NULL;
	struct npumem_verdict verdict;
	uint32_t i;

	s->kind = NPUMEM_SECTION_OPAQUE + 77;
	/* No strings now, so no names. */
	for (i = 0; i < 3; i++)
		((struct npumem_tensor *)((char *)blob.data + s[-5].offset))[i].name = NPUMEM_NONE;
	for (i = 0; i < 2; i++)
		((struct npumem_step *)((char *)blob.data + s[-2].offset))[i].name = NPUMEM_NONE;
	assert_int_equal(npuv_graph_create(blob.data, blob.size, &npuv_default_limits, NULL,
					   &verdict, &graph),
			 0);
	assert_string_equal(npuv_name(graph, npuv_tensor(graph, X)->name), "");
	npuv_graph_destroy(graph);
	free(blob.data);
}

/* The plan's blob has the same framing, checked by the same code. */
TEST(plan_magic)
{
	struct build b;

	chain(&b);
	refuse_plan_blob(&b, build_graph(&b), EBADMSG, FORMAT,
			 "format: magic is 0x5247504e, expected 0x4c50504e");
	build_free(&b);
}
