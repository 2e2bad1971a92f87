/* SPDX-License-Identifier: MIT */
/* What commands read: models, how they are cut into steps, and plans. */
#pragma once

#include "npuimport.h"
#include "cli/cli.h"
#include "cli/progress.h"

/* -------------------------------------------------------------- tiling.c */

/* enum concats - what becomes of concats */
enum concats {
	CONCAT_NOT_SAID,
	CONCAT_COPY,
	CONCAT_JOIN,
	CONCAT_FIT,
	CONCAT_BEST, /* whichever of these makes the best plan */
};

/**
 * struct tiling - what the command line says of how a graph is cut into steps
 * @asked: without what is said of single operators; all 0: nothing
 * @layout: 1 more than its number; 0: none was given. @asked has it in the end
 * @tiles: values of --tile
 * @is_deep: it may have steps add up some input channels alone
 * @patches: values of --patches
 * @finds_patches: they are looked for
 * @most_again: of 100 operations as many may run again then
 * @is_said: any option but --params and --inputs was given
 * @inputs: enum npuplan_inputs, where neither the command line nor a plan says
 * @concat: enum concats
 * @takes_best: the command can plan twice
 */
struct tiling {
	struct npuplan_tiling asked;
	uint32_t layout;
	struct option_texts tiles;
	bool is_deep;
	struct option_texts patches;
	bool finds_patches;
	uint32_t most_again;
	bool is_said;
	uint32_t inputs;
	uint32_t concat;
	bool takes_best;
};

/* Options of the commands that take a graph: a child, whose input is a struct tiling. */
extern const struct command tiling_command;

/* tiling_of() - what was said, of a graph that is not tiled yet
 * @plan: what the plan at hand says, for where the command line says nothing; may
 *	be NULL. Taken over
 * @out: npuplan_tiling_fini() it
 *
 * Says what is wrong and returns false if an operator is unknown.
 */
bool tiling_of(const struct tiling *tiling, const char *path, struct npuplan_graph *graph,
	       struct npuplan_tiling *plan, struct npuplan_tiling *out);
void tiling_fini(struct tiling *tiling);

/*
 * tiling_for_planner() - what the planner wants where the command line says nothing
 *
 * One that interleaves tiles gets one row a tile: the smaller they are, the lower is the
 * peak. One that moves tensors loads the inputs from host memory, but in graphs with loops and
 * branches.
 */
void tiling_for_planner(struct tiling *tiling, const char *planner);

/* ------------------------------------------------------------- reading.c */

/**
 * struct model_reading - how models are read
 * @strict: what is not understood is refused
 * @quiet: of what is not, nothing is said (it has been)
 * @dims: values of --dim
 */
struct model_reading {
	bool strict;
	bool quiet;
	struct option_texts dims;
};

/* Options of the commands that read models: a child, whose input is a struct model_reading. */
extern const struct command reading_command;

/* The shared options of a command that reads a graph, whose @type has fields tiling and reading. */
#define SHARED_WITH_MODELS(type)                          \
	{ &tiling_command, offsetof(type, tiling) },      \
	{                                                 \
		&reading_command, offsetof(type, reading) \
	}

/* What --dim says, as a reader takes it; dims_free() it. */
struct npuimport_dim *dims_of(const struct model_reading *reading);
void dims_free(struct npuimport_dim *dims, size_t count);
void reading_fini(struct model_reading *reading);

/* Warnings, a line each; as a JSON object. */
void warnings_print(const char *path, const struct npuimport_warnings *warnings);
json_t *warnings_json(const struct npuimport_warnings *warnings);

/* --------------------------------------------------------------- model.c */

/*
 * struct model - a graph, tiled, and its blob
 * @path: where it came from, for messages
 * @data: the file, as it was read
 * @warnings: what was not understood of it
 */
struct model {
	const char *path;
	void *data;
	size_t data_size;
	struct npuplan_graph *graph;
	struct npuimport_info info;
	struct npuimport_warnings warnings;
	void *blob;
	size_t blob_size;
};

/*
 * These say what is wrong and return false if they fail. model_fini() may be
 * called at any time.
 */
bool model_import(struct model *model, const char *path, const struct model_reading *reading);
bool model_tile(struct model *model, const struct tiling *tiling);
/* The model becomes as it was before model_tile(), so that it can be tiled once more. */
void model_untile(struct model *model);
void model_fini(struct model *model);

/** model_bytes() - sum of the sizes of the tensors that steps access, by whatever alias */
uint64_t model_bytes(const struct npuplan_graph *graph);

/*
 * struct plan_file - a plan read from a file, JSON or blob
 * @plan: NULL if the JSON could not be read
 */
struct plan_file {
	const char *path;
	struct npuplan_plan *plan;
	void *blob;
	size_t blob_size;
};

/* model_with_plan() - import a graph, tile it as the plan says, read the plan
 * @tiling: overrides what the plan says
 */
bool model_with_plan(struct model *model, const char *graph_path,
		     const struct model_reading *reading, struct plan_file *file,
		     const char *plan_path, const struct tiling *tiling);
void plan_file_fini(struct plan_file *file);

/* -------------------------------------------------------------- budget.c */

/* Names of the budgets that have to be found first; NULL ends them. */
extern const char *const budget_names[];
/** budget_is_name() - whether @text is such a name */
bool budget_is_name(const char *text);
/* options->arena_budget by its name. Says what is wrong and returns false if it fails. */
bool budget_find(const struct model *model, const char *name, struct npuplan_options *options);
/* no_plan() - say why there is none, and with -j what is needed; returns an exit code
 * @progress: of the search, which has ended
 * @err, @error: npuplan_plan()'s
 */
int no_plan(const struct model *model, const struct npuplan_options *options,
	    const struct progress *progress, int err, const struct npuplan_error *error, bool json);

/* --------------------------------------------------------------- marks.c */

/*
 * Mark a tensor of a graph that is not tiled yet as external, or give it a fixed
 * offset ("NAME=OFFSET"; @parameters: whether these are placed). They say what is
 * wrong and return false if they fail.
 */
bool mark_external(struct model *model, const char *name);
/* The same for all inputs and outputs of the graph. */
bool mark_external_io(struct model *model);
bool mark_fixed(struct model *model, const char *text, bool parameters);

/* -------------------------------------------------------------- concats.c */

/* What became of each input of each concat of a graph that was asked to join them. */
json_t *concats_json(const struct npuplan_graph *graph);
void concats_print(FILE *out, const struct npuplan_graph *graph);

/* ----------------------------------------------------------- recompute.c */

/* Whether --recompute can be asked of this model; an error message says why not. */
bool recompute_possible(const struct model *model, const struct tiling *tiling);
/* @graph: tiled, with the clones. */
json_t *recompute_json(const struct npuplan_graph *graph, const struct npuplan_recompute *found);
void recompute_print(FILE *out, const struct npuplan_graph *graph,
		     const struct npuplan_recompute *found);

/* --------------------------------------------------------------- cores.c */

/*
 * breaks_find() - the steps of the operators that --break names; of a tiled graph
 * @texts: names or ids of operators or names of tensors that they write, with commas between
 * @breaks: out: @count of them; free() it, also if the call fails
 *
 * Says what is wrong and returns false if it fails.
 */
bool breaks_find(const struct model *model, const struct option_texts *texts, uint32_t **breaks,
		 uint32_t *count);
/* What a plan with @count break nodes knows of them; null: there are none. */
json_t *breaks_json(const struct npuplan_plan *plan, uint32_t count);
void breaks_print(FILE *out, const struct npuplan_plan *plan, uint32_t count);

/* Whether --cores can be asked of this model; an error message says why not. */
bool cores_possible(const struct model *model, const struct tiling *tiling);
/*
 * cores_assign() - which core runs which operator of a graph that is not tiled yet
 * @cores: @count of them
 * @texts: "OP=CORE", where OP may be "*" for all others, or files with such lines
 *
 * Returns the number of the core per operator; free() it. NULL after saying what is wrong.
 */
uint32_t *cores_assign(const struct model *model, const struct npuplan_core *cores, uint32_t count,
		       const struct option_texts *texts);
/* The same of the graph once it is tiled, where copies have none. Takes @core_of over. */
uint32_t *cores_with_copies(const struct npuplan_graph *graph, uint32_t *core_of);
/* @graph: tiled, with the copies. */
json_t *cores_json(const struct npuplan_graph *graph, const struct npuplan_plan *plan);
void cores_print(FILE *out, const struct npuplan_graph *graph, const struct npuplan_plan *plan);

/* -------------------------------------------------------------- copies.c */

/*
 * Whether what edges carry can be copied: in a model with loops or branches whose operators are not
 * cut one by one. An error message says why not if it was @asked for and can be nowhere.
 */
bool copies_possible(const struct model *model, const struct tiling *tiling, bool asked);
/* @graph: tiled, with the copies. */
json_t *copies_json(const struct npuplan_graph *graph, const struct npuplan_carry_copies *found);
void copies_print(FILE *out, const struct npuplan_graph *graph,
		  const struct npuplan_carry_copies *found);
