/* SPDX-License-Identifier: MIT */
/* Options that say how a graph is cut into steps. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum {
	OPTION_TILE = 0x100,
	OPTION_PATCHES,
};

/* No tensor is cut into more bands or rows than this; the kernel's verifier has the same limits. */
#define MAX_BANDS 65536
#define MAX_ROWS  UINT32_MAX

static const char *const inputs[] = { "host", "resident", NULL };
/* As enum concats has them, from CONCAT_COPY on. */
static const char *const concats[] = { "copy", "join", "fit", "best", NULL };

#define TILE	    "OP=ROWS[xCHANNELS[xCOLUMNS[xDEPTH]]][,channels|,rows]"
#define PATCHES	    "FIRST..LAST=ROWS[xCOLUMNS]"
#define BEST	    "best"
/* Of 100 operations as many may be computed again where patches are found and nothing is said. */
#define MOST_AGAIN  10
#define FIELD(name) offsetof(struct tiling, name)

static const struct command_option options[] = {
	{ "bands", 0, VALUE_COUNT, "N", "Cut each operator into up to N row bands",
	  FIELD(asked.bands), 1, MAX_BANDS },
	{ "columns", 0, VALUE_COUNT, "N",
	  "With --rows, cut the rows of images into tiles of N columns, too", FIELD(asked.columns),
	  1, UINT32_MAX },
	{ "rows", 0, VALUE_COUNT, "N", "Cut each operator into tiles of N rows", FIELD(asked.rows),
	  1, MAX_ROWS },
	{ "onchip", 0, VALUE_SIZE, "BYTES",
	  "Cut each operator so that its steps fit into on-chip memory of this size, weights "
	  "included, and move the least data",
	  FIELD(asked.onchip) },
	{ "double-buffer", 0, VALUE_FLAG, NULL,
	  "With --onchip: what changes from step to step has to fit twice",
	  FIELD(asked.double_buffer) },
	{ "partial-sums", 0, VALUE_FLAG, NULL,
	  "With --onchip: steps may add up some of the input channels alone, and so read less at "
	  "once; sums in the making take 4 bytes each",
	  FIELD(asked.partial_sums) },
	{ "layout", 0, VALUE_CHOICE, "LAYOUT", "Order of the tensors' bytes: %s (default), %s, %s",
	  FIELD(layout), 1, .list = npuplan_layout_name },
	{ "tile", OPTION_TILE, VALUE_OTHER, TILE,
	  "Cut this operator (name or id) into tiles of so many rows, channels and columns of images "
	  "(\"all\": of all), all channels of some rows first (\",rows\", default), or all rows of some "
	  "channels; with DEPTH each step adds up so many input channels alone. Again for more "
	  "operators" },
	{ "patches", OPTION_PATCHES, VALUE_OTHER, PATCHES,
	  "Run the operators from one to another (names or ids) patch by patch: all of them for so "
	  "many rows and columns (\"all\": of all) of the last one's output, then for the next. "
	  "Between them there is never more than a patch; what two patches need is computed twice. "
	  "Again for more operators. \"" BEST "\", or \"" BEST "=PERCENT\": those with which the "
	  "fewest bytes live at once and so much of all operations, 10 by default, runs again" },
	{ "params", 0, VALUE_FLAG, NULL, "Place parameters (weights) in the arena, too",
	  FIELD(asked.with_parameters) },
	{ "inputs", 0, VALUE_CHOICE, "WHERE",
	  "Inputs start in \"%s\" memory (default of planner cosma), or are \"%s\" in the "
	  "arena; parameters that are placed start in host memory. What does is loaded by the plan",
	  FIELD(asked.inputs), NPUPLAN_INPUTS_HOST, 0, inputs },
	{ "concat", 0, VALUE_CHOICE, "HOW",
	  "Concats, splits and slices \"%s\" (default); or \"%s\": inputs of concats are placed as "
	  "parts of the output, outputs of the others as parts of the input, with its strides, "
	  "which whoever computes or reads them has to know; \"%s\": of these parts those for "
	  "which no more bytes live at once; or \"%s\" (of plan): whichever makes the best plan",
	  FIELD(concat), CONCAT_COPY, 0, concats },
	{ 0 },
};

/* A number from @min on, written as option_number() takes it; @text is moved behind it. */
static bool parse_number(const char **text, uint32_t min, uint32_t *out)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(*text, &end, 10);
	if (!isdigit((unsigned char)**text) || errno || value < min || value > UINT32_MAX)
		return false;
	*text = end;
	*out = (uint32_t)value;
	return true;
}

/* A number from 1 on, "all" is 0; @text is moved behind it. */
static bool parse_count(const char **text, uint32_t *out)
{
	if (strncmp(*text, "all", 3) != 0)
		return parse_number(text, 1, out);
	*text += 3;
	*out = 0;
	return true;
}

/* The choice that TILE is, without its operator. */
static bool parse_tile(const char *text, struct npuplan_tile_choice *choice)
{
	uint32_t *const more[] = { &choice->channels, &choice->columns, &choice->depth };
	const char *at = strrchr(text, '=');

	*choice = (struct npuplan_tile_choice){ 0 };
	if (!at || at == text)
		return false;
	at++;
	if (!parse_count(&at, &choice->rows))
		return false;
	for (size_t i = 0; i < sizeof(more) / sizeof(*more) && *at == 'x'; i++) {
		at++;
		if (!parse_count(&at, more[i]))
			return false;
	}
	if (!strcmp(at, ",channels"))
		choice->order = NPUPLAN_CHANNELS_OUTER;
	else if (*at && strcmp(at, ",rows") != 0)
		return false;
	return true;
}

/*
 * The first ".." behind @at that has something behind it, before @end; NULL: none. Names may have
 * dots, too, so that there can be several.
 */
static const char *next_dots(const char *at, const char *end)
{
	const char *dots = strstr(at + 1, "..");

	return dots && dots + 2 < end ? dots : NULL;
}

/* The patches that PATCHES is, without its operators. */
static bool parse_patches(const char *text, struct npuplan_patches *patches)
{
	const char *at = strrchr(text, '=');

	*patches = (struct npuplan_patches){ 0 };
	if (!at || at == text || !next_dots(text, at))
		return false;
	at++;
	if (!parse_count(&at, &patches->rows))
		return false;
	if (*at == 'x') {
		at++;
		if (!parse_count(&at, &patches->columns))
			return false;
	}
	return !*at;
}

/* "best" or "best=PERCENT"; false: it is neither. @most_again: out */
static bool parse_best(const char *text, uint32_t *most_again)
{
	size_t length = strlen(BEST);

	*most_again = MOST_AGAIN;
	if (strncmp(text, BEST, length) != 0)
		return false;
	text += length;
	if (*text++ != '=')
		return !text[-1];
	return parse_number(&text, 0, most_again) && !*text;
}

static void check_together(const struct argp_state *state, struct tiling *tiling)
{
	const struct npuplan_tiling *asked = &tiling->asked;

	if (tiling->layout) {
		tiling->asked.layout = tiling->layout - 1;
		tiling->is_said = true;
	}
	if (!!asked->bands + !!asked->rows + !!asked->onchip > 1)
		usage_error(state, "--bands, --rows and --onchip exclude each other");
	if (asked->columns && !asked->rows)
		usage_error(state, "--columns needs --rows");
	if (tiling->finds_patches && (tiling->patches.count || tiling->tiles.count ||
				      asked->onchip || tiling->concat >= CONCAT_JOIN))
		usage_error(state, "--patches best excludes other --patches, --tile, --onchip and "
				   "--concat");
	if (asked->double_buffer && !asked->onchip)
		usage_error(state, "--double-buffer needs --onchip");
	if (asked->partial_sums && !asked->onchip)
		usage_error(state, "--partial-sums needs --onchip");
	if (tiling->concat == CONCAT_BEST && !tiling->takes_best)
		usage_error(state, "--concat best is of plan, which tries all");
	if (tiling->concat >= CONCAT_JOIN)
		tiling->asked.concat = tiling->concat == CONCAT_FIT ? NPUPLAN_CONCAT_FIT :
								      NPUPLAN_CONCAT_JOIN;
	tiling->is_deep |= asked->partial_sums;
	tiling->is_said |= asked->bands || asked->rows || asked->onchip || tiling->tiles.count ||
			   tiling->patches.count || tiling->finds_patches || tiling->concat;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct tiling *tiling = state->input;
	struct npuplan_tile_choice choice;
	struct npuplan_patches patches;

	switch (key) {
	case OPTION_TILE:
		if (!parse_tile(arg, &choice))
			usage_error(state, "--tile: '%s' is not " TILE ", each a number or all",
				    arg);
		option_texts_add(&tiling->tiles, arg);
		tiling->is_deep |= choice.depth > 0;
		return 0;
	case OPTION_PATCHES:
		if (parse_best(arg, &tiling->most_again)) {
			if (tiling->finds_patches)
				usage_error(state, "--patches " BEST " is given twice");
			tiling->finds_patches = true;
			return 0;
		}
		if (!parse_patches(arg, &patches))
			usage_error(state,
				    "--patches: '%s' is not " PATCHES
				    ", each of the two a number or all, nor " BEST "[=PERCENT]",
				    arg);
		option_texts_add(&tiling->patches, arg);
		return 0;
	case ARGP_KEY_END:
		check_together(state, tiling);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct command tiling_command = { .options = options, .parse = parse };

/* How many operators have this name, or else this id. @found: out, one of them */
static uint32_t count_ops(const struct npuplan_graph *graph, const char *name, size_t length,
			  uint32_t *found)
{
	uint32_t count = 0;
	char *end = NULL;
	long long id = strtoll(name, &end, 10);

	for (int by_id = 0; by_id <= (end == name + length) && !count; by_id++)
		for (uint32_t i = 0; i < graph->op_count; i++) {
			const struct npuplan_op *op = &graph->ops[i];

			if (by_id ? op->id != id :
				    strlen(op->name) != length ||
					    strncmp(op->name, name, length) != 0)
				continue;
			*found = i;
			count++;
		}
	return count;
}

/*
 * The operator of this name, or else of this id; says what is wrong and returns NPUMEM_NONE if
 * there is none, or more than one.
 */
static uint32_t find_op(const char *path, const char *option, const char *text,
			const struct npuplan_graph *graph, const char *name, size_t length)
{
	uint32_t found, count = count_ops(graph, name, length, &found);

	if (count == 1)
		return found;
	failure(path, "%s %s: %s operator '%.*s'", option, text,
		count ? "more than one" : "there is no", (int)length, name);
	return NPUMEM_NONE;
}

static int by_op(const void *left, const void *right)
{
	const struct npuplan_tile_choice *a = left, *b = right;

	return a->op < b->op ? -1 : a->op > b->op;
}

static int by_first(const void *left, const void *right)
{
	const struct npuplan_patches *a = left, *b = right;

	return a->first < b->first ? -1 : a->first > b->first;
}

/* What --tile says of operators. */
static bool tiles_of(const struct tiling *tiling, const char *path,
		     const struct npuplan_graph *graph, struct npuplan_tiling *out)
{
	for (size_t i = 0; i < tiling->tiles.count; i++) {
		const char *text = tiling->tiles.list[i];
		struct npuplan_tile_choice *choice = &out->ops[out->op_count++];

		parse_tile(text, choice);
		choice->op = find_op(path, "--tile", text, graph, text,
				     (size_t)(strrchr(text, '=') - text));
		if (choice->op == NPUMEM_NONE)
			return false;
	}
	qsort(out->ops, out->op_count, sizeof(*out->ops), by_op);
	return true;
}

/*
 * The ".." of a value of --patches that stands between operators; says what is wrong and returns
 * NULL if there are several of these, or none of several. The only one need not: find_op() says
 * more of that.
 */
static const char *find_dots(const char *path, const char *text, const char *end,
			     const struct npuplan_graph *graph)
{
	const char *first = next_dots(text, end), *found = NULL;
	uint32_t count = 0, op;

	if (!next_dots(first, end))
		return first;
	for (const char *dots = first; dots; dots = next_dots(dots, end)) {
		const char *last = dots + 2;

		if (!count_ops(graph, text, (size_t)(dots - text), &op) ||
		    !count_ops(graph, last, (size_t)(end - last), &op))
			continue;
		found = dots;
		count++;
	}
	if (count == 1)
		return found;
	failure(path, "--patches %s: %s \"..\" stands between two operators%s", text,
		count ? "more than one" : "no", count ? "; say their ids" : "");
	return NULL;
}

/* What --patches says. */
static bool patches_of(const struct tiling *tiling, const char *path,
		       const struct npuplan_graph *graph, struct npuplan_tiling *out)
{
	for (size_t i = 0; i < tiling->patches.count; i++) {
		const char *text = tiling->patches.list[i], *end = strrchr(text, '=');
		const char *dots = find_dots(path, text, end, graph);
		struct npuplan_patches *patches = &out->patches[out->patch_count++];

		parse_patches(text, patches);
		if (!dots)
			return false;
		patches->first =
			find_op(path, "--patches", text, graph, text, (size_t)(dots - text));
		if (patches->first == NPUMEM_NONE)
			return false;
		dots += 2;
		patches->last = find_op(path, "--patches", text, graph, dots, (size_t)(end - dots));
		if (patches->last == NPUMEM_NONE)
			return false;
	}
	qsort(out->patches, out->patch_count, sizeof(*out->patches), by_first);
	return true;
}

/* What --patches best asks for, if it does. */
static bool find_patches(const struct tiling *tiling, const char *path, struct npuplan_graph *graph,
			 struct npuplan_tiling *out)
{
	struct npuplan_error error = { 0 };

	if (!tiling->finds_patches || !npuplan_patches_find(graph, out, tiling->most_again, &error))
		return true;
	failure(path, "%s", error.text);
	return false;
}

bool tiling_of(const struct tiling *tiling, const char *path, struct npuplan_graph *graph,
	       struct npuplan_tiling *plan, struct npuplan_tiling *out)
{
	if (plan && !tiling->is_said) {
		*out = *plan;
		*plan = (struct npuplan_tiling){ 0 };
		out->with_parameters |= tiling->asked.with_parameters;
		if (tiling->asked.inputs)
			out->inputs = tiling->asked.inputs;
		return true;
	}
	*out = tiling->asked;
	out->with_parameters |= plan && plan->with_parameters;
	/* No planner loads anything in a graph with loops and branches. */
	if (!out->inputs && (plan || !graph->edge_count))
		out->inputs = plan ? plan->inputs : tiling->inputs;
	out->ops = calloc(tiling->tiles.count + 1, sizeof(*out->ops));
	out->patches = calloc(tiling->patches.count + 1, sizeof(*out->patches));
	if (!out->ops || !out->patches)
		abort();
	if (tiles_of(tiling, path, graph, out) && patches_of(tiling, path, graph, out) &&
	    find_patches(tiling, path, graph, out))
		return true;
	npuplan_tiling_fini(out);
	return false;
}

void tiling_for_planner(struct tiling *tiling, const char *planner)
{
	struct npuplan_tiling *asked = &tiling->asked;
	uint32_t traits = npuplan_planner_traits(planner);

	if (traits & NPUPLAN_PLANNER_MOVES)
		tiling->inputs = NPUPLAN_INPUTS_HOST;
	if (traits & NPUPLAN_PLANNER_TILESCHED && !asked->bands && !asked->rows && !asked->onchip)
		asked->rows = 1;
}

void tiling_fini(struct tiling *tiling)
{
	free(tiling->tiles.list);
	free(tiling->patches.list);
	*tiling = (struct tiling){ 0 };
}
