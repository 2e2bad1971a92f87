// SPDX-License-Identifier: MIT
/*
 * Names and numbers between commas, without quotes: no library, since that would hand out cells,
 * and a row has to be written again as it was, with a column more.
 */
#include "pack_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "../../lines/lines.h"

#define MAX_BYTES   (1ull << 60)
#define MAX_COLUMNS 16
/* Most bytes of a line. */
#define MAX_LINE    (1u << 20)
/* More buffers than this are refused. */
#define MAX_BUFFERS (1u << 30)

enum column { ID, LOWER, UPPER, SIZE, ALIGNMENT, OFFSET, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = {
	[ID] = "id",	 [LOWER] = "lower",	    [UPPER] = "upper",
	[SIZE] = "size", [ALIGNMENT] = "alignment", [OFFSET] = "offset",
};

/* struct instants - instants from which, and up to which, a buffer lives */
struct instants {
	uint64_t lower;
	uint64_t upper;
};

/*
 * struct reader - reading one file
 * @columns: which column each field of a line is
 * @instants: per buffer, as the file has them; as many as @csv has
 */
struct reader {
	struct pack_csv *csv;
	struct npuplan_error *error;
	unsigned long line;
	enum column columns[COLUMN_COUNT];
	unsigned int column_count;
	struct instants *instants;
};

static __attribute__((format(printf, 2, 3))) int bad(const struct reader *reader,
						     const char *format, ...)
{
	size_t room = sizeof(reader->error->text);
	va_list args;
	int used;

	used = snprintf(reader->error->text, room, "line %lu: ", reader->line);
	va_start(args, format);
	vsnprintf(reader->error->text + used, room - (size_t)used, format, args);
	va_end(args);
	return -EBADMSG;
}

static char *trim(char *text)
{
	size_t length;

	while (*text == ' ' || *text == '\t')
		text++;
	length = strlen(text);
	while (length && strchr(" \t\r\n", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Split @line at its commas; the number of fields, which may exceed MAX_COLUMNS. */
static unsigned int split(char *line, char *fields[MAX_COLUMNS])
{
	unsigned int count = 0;

	for (char *at = line; at;) {
		char *comma = strchr(at, ',');

		if (comma)
			*comma++ = '\0';
		if (count < MAX_COLUMNS)
			fields[count] = trim(at);
		count++;
		at = comma;
	}
	return count;
}

/* The fields but the offset, joined again. */
static char *without_offset(const struct reader *reader, char *const fields[MAX_COLUMNS])
{
	size_t size = 1;
	char *text, *end;

	for (unsigned int i = 0; i < reader->column_count; i++)
		size += strlen(fields[i]) + 1;
	text = end = malloc(size);
	if (!text)
		return NULL;
	*end = '\0';
	for (unsigned int i = 0; i < reader->column_count; i++) {
		if (reader->columns[i] == OFFSET)
			continue;
		if (end != text)
			*end++ = ',';
		end = stpcpy(end, fields[i]);
	}
	return text;
}

static int read_header(struct reader *reader, char *line)
{
	bool seen[COLUMN_COUNT] = { false };
	char *fields[MAX_COLUMNS];
	unsigned int count = split(line, fields);

	for (unsigned int i = 0; i < count; i++) {
		unsigned int c = 0;

		while (i < MAX_COLUMNS && c < COLUMN_COUNT && strcmp(fields[i], column_names[c]))
			c++;
		if (i >= MAX_COLUMNS || c == COLUMN_COUNT)
			return bad(
				reader,
				"column '%s' is not known; known are id, lower, upper, size, alignment and offset",
				i < MAX_COLUMNS ? fields[i] : "...");
		if (seen[c])
			return bad(reader, "column '%s' stands there twice", fields[i]);
		seen[c] = true;
		reader->columns[reader->column_count++] = c;
	}
	for (int c = LOWER; c <= SIZE; c++)
		if (!seen[c])
			return bad(reader, "there is no column '%s'", column_names[c]);
	reader->csv->header = without_offset(reader, fields);
	return reader->csv->header ? 0 : -ENOMEM;
}

static int number(const struct reader *reader, enum column column, const char *text, uint64_t max,
		  uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || *value > max)
		return bad(reader, "%s: '%s' is not a whole number from 0 to %" PRIu64,
			   column_names[column], text, max);
	return 0;
}

static int read_field(const struct reader *reader, enum column column, const char *text,
		      struct npuplan_item *item, struct instants *live)
{
	uint64_t value;
	int err = 0;

	switch (column) {
	case LOWER:
		return number(reader, column, text, INT64_MAX, &live->lower);
	case UPPER:
		return number(reader, column, text, INT64_MAX, &live->upper);
	case SIZE:
		err = number(reader, column, text, MAX_BYTES, &item->size);
		if (!err && !item->size)
			return bad(reader, "size is 0");
		return err;
	case ALIGNMENT:
		err = number(reader, column, text, 1u << 31, &value);
		if (err)
			return err;
		if (!value || value & (value - 1))
			return bad(reader, "alignment %" PRIu64 " is not a power of two", value);
		item->align = (uint32_t)value;
		return 0;
	case OFFSET:
		item->fixed = text[0] != '\0';
		return item->fixed ? number(reader, column, text, MAX_BYTES, &item->fixed_offset) :
				     0;
	case ID:
	case COLUMN_COUNT:
		break;
	}
	return 0;
}

/* Room for one more buffer in all that is kept of each. */
static int grow(struct reader *reader)
{
	struct pack_csv *csv = reader->csv;
	void *items = grow_by_one(csv->items, csv->count, sizeof(*csv->items));
	void *rows = grow_by_one(csv->rows, csv->count, sizeof(*csv->rows));
	void *instants = grow_by_one(reader->instants, csv->count, sizeof(*reader->instants));

	/* Those that there is memory for have moved. */
	csv->items = items ? items : csv->items;
	csv->rows = rows ? rows : csv->rows;
	reader->instants = instants ? instants : reader->instants;
	if (csv->count == MAX_BUFFERS)
		return bad(reader, "there are too many buffers");
	return items && rows && instants ? 0 : -ENOMEM;
}

static int read_row(struct reader *reader, char *line)
{
	struct npuplan_item item = { .align = 1 };
	struct pack_csv *csv = reader->csv;
	char *fields[MAX_COLUMNS];
	unsigned int count = split(line, fields);
	struct instants live = { 0 };
	int err = 0;

	if (count != reader->column_count)
		return bad(reader, "%u fields, but the header has %u", count, reader->column_count);
	for (unsigned int i = 0; i < count && !err; i++)
		err = read_field(reader, reader->columns[i], fields[i], &item, &live);
	if (!err && live.upper <= live.lower)
		err = bad(reader, "upper %" PRIu64 " is not above lower %" PRIu64, live.upper,
			  live.lower);
	if (!err && item.fixed && item.fixed_offset % item.align)
		err = bad(reader, "offset %" PRIu64 " is not a multiple of the alignment %u",
			  item.fixed_offset, item.align);
	if (!err)
		err = grow(reader);
	if (err)
		return err;
	item.tensor = csv->count;
	csv->items[csv->count] = item;
	reader->instants[csv->count] = live;
	csv->rows[csv->count] = without_offset(reader, fields);
	return csv->rows[csv->count++] ? 0 : -ENOMEM;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static uint32_t rank_of(const uint64_t *values, size_t count, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/* Live ranges from the file's instants: the differences, or, if too long, ranks. */
static int set_times(struct reader *reader)
{
	const struct instants *instants = reader->instants;
	struct pack_csv *csv = reader->csv;
	uint64_t first = UINT64_MAX, last = 0, *values = NULL;
	size_t count = 0;

	for (uint32_t i = 0; i < csv->count; i++) {
		first = instants[i].lower < first ? instants[i].lower : first;
		last = instants[i].upper > last ? instants[i].upper : last;
	}
	if (last > first && last - first >= UINT32_MAX) {
		values = malloc(2 * (size_t)csv->count * sizeof(*values));
		if (!values)
			return -ENOMEM;
		for (uint32_t i = 0; i < csv->count; i++) {
			values[count++] = instants[i].lower;
			values[count++] = instants[i].upper;
		}
		qsort(values, count, sizeof(*values), by_value);
	}
	for (uint32_t i = 0; i < csv->count; i++) {
		struct npuplan_item *item = &csv->items[i];

		item->start = values ? rank_of(values, count, instants[i].lower) :
				       (uint32_t)(instants[i].lower - first);
		item->end = values ? rank_of(values, count, instants[i].upper) - 1 :
				     (uint32_t)(instants[i].upper - first - 1);
	}
	free(values);
	return 0;
}

static int read_line(struct reader *reader, const struct lines *lines)
{
	if (strlen(lines->text) != lines->length)
		return bad(reader, "there is a NUL character");
	if (strchr(lines->text, '"'))
		return bad(reader, "quotes are not supported");
	if (!*trim(lines->text))
		return 0;
	return reader->csv->header ? read_row(reader, lines->text) :
				     read_header(reader, lines->text);
}

int pack_csv_read(struct pack_csv *csv, FILE *in, struct npuplan_error *error)
{
	struct reader reader = { .csv = csv, .error = error };
	struct lines lines = { .in = in, .most = MAX_LINE };
	int got = 0, err = 0;

	*csv = (struct pack_csv){ 0 };
	snprintf(error->text, sizeof(error->text), "out of memory");
	while (!err && (got = lines_next(&lines)) > 0) {
		reader.line = lines.number;
		err = read_line(&reader, &lines);
	}
	if (got < 0)
		reader.line = lines.number;
	if (got == -E2BIG)
		err = bad(&reader, "the line is longer than %u bytes", MAX_LINE);
	else if (got == -ENOMEM)
		err = got;
	else if (got < 0)
		err = bad(&reader, "%s", strerror(-got));
	if (!err && !csv->header) {
		reader.line = 1;
		err = bad(&reader, "there is no header");
	}
	if (!err)
		err = set_times(&reader);
	lines_free(&lines);
	free(reader.instants);
	return err;
}

void pack_csv_fini(struct pack_csv *csv)
{
	for (uint32_t i = 0; i < csv->count; i++)
		free(csv->rows[i]);
	free(csv->rows);
	free(csv->items);
	free(csv->header);
	*csv = (struct pack_csv){ 0 };
}

void pack_csv_write(const struct pack_csv *csv, const uint64_t *offsets, FILE *out)
{
	fprintf(out, "%s,offset\n", csv->header);
	for (uint32_t i = 0; i < csv->count; i++)
		fprintf(out, "%s,%" PRIu64 "\n", csv->rows[i], offsets[i]);
}
