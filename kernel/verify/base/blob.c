// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Framing of graph and plan blobs: header, section table, sections.
 *
 * After npuv_blob_check() every record of a section may be read in place.
 */
#include "base.h"

static_assert(sizeof(struct npumem_blob_header) == 32);
static_assert(sizeof(struct npumem_blob_section) == 32);

static bool is_zero(const u8 *p, u64 size)
{
	u64 i;

	for (i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

static int check_header(struct npuv_work *w, u64 size, u32 magic)
{
	const struct npumem_blob_header *h = w->blob;
	u64 table;

	if (size > w->limits->max_blob)
		return npuv_refuse(w, -E2BIG, NPUMEM_RULE_NONE,
				   "limit: blob has %llu bytes, at most %llu are taken", size,
				   w->limits->max_blob);
	if (size < sizeof(*h))
		return npuv_refuse_at(w, -EBADMSG, h, size,
				      "format: blob has %llu bytes, its header needs %zu", size,
				      sizeof(*h));
	if ((unsigned long)w->blob % 8)
		return npuv_refuse_at(w, -EBADMSG, h, size,
				      "format: blob is not aligned to 8 bytes in memory");
	if (h->magic != magic)
		return npuv_refuse_at(w, -EBADMSG, &h->magic, 4,
				      "format: magic is 0x%08x, expected 0x%08x", h->magic, magic);
	if (h->version != NPUMEM_BLOB_VERSION)
		return npuv_refuse_at(w, -EOPNOTSUPP, &h->version, 4,
				      "format: version %u, only %u is known", h->version,
				      NPUMEM_BLOB_VERSION);
	if (h->total_size != size)
		return npuv_refuse_at(w, -EBADMSG, &h->total_size, 8,
				      "format: total_size is %llu, the blob has %llu bytes",
				      h->total_size, size);
	if (h->flags || h->pad)
		return npuv_refuse_at(w, -EBADMSG, &h->flags, 8,
				      "format: header's flags or pad not zero");
	if (h->section_count > NPUMEM_BLOB_MAX_SECTIONS)
		return npuv_refuse_at(w, -EBADMSG, &h->section_count, 4,
				      "format: %u sections, at most %u", h->section_count,
				      NPUMEM_BLOB_MAX_SECTIONS);
	if (h->section_stride < sizeof(struct npumem_blob_section) || h->section_stride % 8)
		return npuv_refuse_at(w, -EBADMSG, &h->section_stride, 4,
				      "format: section_stride is %u", h->section_stride);
	table = (u64)h->section_count * h->section_stride;
	if (table > size - sizeof(*h))
		return npuv_refuse_at(w, -EBADMSG, h, sizeof(*h),
				      "format: section table of %llu bytes ends beyond the blob",
				      table);
	return 0;
}

static const struct npumem_blob_section *entry(const struct npuv_work *w, u32 i)
{
	const struct npumem_blob_header *h = w->blob;

	return (const void *)((const u8 *)w->blob + sizeof(*h) + (size_t)i * h->section_stride);
}

/* Check one entry of the table. @rule is NULL for a kind that is not known here. */
static int check_entry(struct npuv_work *w, u32 i, const struct npuv_section_rule *rule)
{
	const struct npumem_blob_header *h = w->blob;
	const struct npumem_blob_section *s = entry(w, i);
	u64 table_end = sizeof(*h) + (u64)h->section_count * h->section_stride;
	u32 align = rule ? rule->align : 1;
	u32 record = rule ? rule->record : 1;
	const char *name = rule ? rule->name : "opaque";
	u64 bytes;

	if (s->pad || !is_zero((const u8 *)(s + 1), h->section_stride - sizeof(*s)))
		return npuv_refuse_at(w, -EBADMSG, s, h->section_stride,
				      "format: padding of section %u (%s) not zero", i, name);
	if (s->stride < record || s->stride % align || (align == 1 && s->stride != 1))
		return npuv_refuse_at(w, -EBADMSG, &s->stride, 4,
				      "format: stride of section %u (%s) is %u, needs %u or more, "
				      "multiple of %u",
				      i, name, s->stride, record, align);
	if (s->offset % 8 || s->offset < table_end || s->offset > h->total_size)
		return npuv_refuse_at(w, -EBADMSG, &s->offset, 8,
				      "format: offset of section %u (%s) is %llu", i, name,
				      s->offset);
	if (check_mul_overflow(s->count, (u64)s->stride, &bytes) ||
	    bytes > h->total_size - s->offset)
		return npuv_refuse_at(
			w, -EBADMSG, &s->count, 8,
			"format: section %u (%s) of %llu records ends beyond the blob", i, name,
			s->count);
	if (s->count >= NPUMEM_NONE || (align > 1 && s->count > w->limits->max_accesses))
		return npuv_refuse(
			w, -E2BIG, NPUMEM_RULE_NONE,
			"limit: section %u (%s) has %llu records, at most %llu are taken", i, name,
			s->count, w->limits->max_accesses);
	return 0;
}

/* Check the bytes beyond the part of each record that is known here: they must be zero. */
static int check_tails(struct npuv_work *w, const struct npuv_section_rule *rule)
{
	const struct npuv_section *s = rule->out;
	u32 tail = s->stride - rule->record;
	u32 i;
	int err = 0;

	for (i = 0; !err && tail && i < s->count; i++) {
		const u8 *at = (const u8 *)npuv_record(s, i) + rule->record;

		if (!is_zero(at, tail))
			return npuv_refuse_at(w, -EBADMSG, at, tail,
					      "format: record %u of section %s has bytes beyond "
					      "the %u known that are not zero",
					      i, rule->name, rule->record);
		err = npuv_visit(w, 1);
	}
	return err;
}

static int check_gap(struct npuv_work *w, u64 begin, u64 end)
{
	const u8 *at = (const u8 *)w->blob + begin;

	if (is_zero(at, end - begin))
		return 0;
	return npuv_refuse_at(w, -EBADMSG, at, end - begin,
			      "format: bytes between sections not zero");
}

/* Check that sections do not overlap, and that there are zeros between them. */
static int check_gaps(struct npuv_work *w)
{
	const struct npumem_blob_header *h = w->blob;
	u64 end = sizeof(*h) + (u64)h->section_count * h->section_stride;
	u32 order[NPUMEM_BLOB_MAX_SECTIONS];
	const struct npumem_blob_section *s;
	u32 i, j, n = 0;
	int err;

	for (i = 0; i < h->section_count; i++) {
		s = entry(w, i);
		if (!s->count)
			continue;
		for (j = n++; j > 0 && entry(w, order[j - 1])->offset > s->offset; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	for (i = 0; i < n; i++) {
		s = entry(w, order[i]);
		/* The first one was seen to begin after the table. */
		if (i && s->offset < end)
			return npuv_refuse_at(w, -EBADMSG, (const u8 *)w->blob + s->offset,
					      end - s->offset, "format: sections %u and %u overlap",
					      order[i - 1], order[i]);
		err = check_gap(w, end, s->offset);
		if (err)
			return err;
		end = s->offset + s->count * s->stride;
	}
	return check_gap(w, end, h->total_size);
}

static int check_required(struct npuv_work *w, const struct npuv_section_rule *rule)
{
	if (!rule->out->base)
		return npuv_refuse_at(w, -EBADMSG, w->blob, sizeof(struct npumem_blob_header),
				      "format: section %s is missing", rule->name);
	if (!rule->out->count)
		return npuv_refuse_at(w, -EINVAL, w->blob, sizeof(struct npumem_blob_header),
				      "format: section %s is empty", rule->name);
	return 0;
}

int npuv_blob_check(struct npuv_work *w, u64 size, u32 magic, const struct npuv_section_rule *rules,
		    u32 rule_count)
{
	const struct npumem_blob_header *h = w->blob;
	u32 i, j;
	int err;

	err = check_header(w, size, magic);
	if (err)
		return err;

	for (i = 0; i < h->section_count; i++) {
		const struct npumem_blob_section *s = entry(w, i);
		const struct npuv_section_rule *rule = NULL;

		for (j = 0; j < rule_count; j++)
			if (rules[j].kind == s->kind)
				rule = &rules[j];
		if (!rule && s->kind < NPUMEM_SECTION_OPAQUE)
			return npuv_refuse_at(w, s->kind ? -EOPNOTSUPP : -EBADMSG, &s->kind, 4,
					      "format: section %u is of unknown kind %u", i,
					      s->kind);
		for (j = 0; j < i; j++)
			if (entry(w, j)->kind == s->kind)
				return npuv_refuse_at(w, -EBADMSG, &s->kind, 4,
						      "format: sections %u and %u are of the same "
						      "kind %u",
						      j, i, s->kind);
		err = check_entry(w, i, rule);
		if (err)
			return err;
		if (!rule)
			continue;
		rule->out->base = (const u8 *)w->blob + s->offset;
		rule->out->stride = s->stride;
		rule->out->count = (u32)s->count;
	}
	err = check_gaps(w);
	for (i = 0; !err && i < rule_count; i++) {
		if (rules[i].required)
			err = check_required(w, &rules[i]);
		if (!err)
			err = check_tails(w, &rules[i]);
	}
	return err;
}
