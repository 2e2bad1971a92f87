// SPDX-License-Identifier: MIT
/*
 * attack - do to a good plan of a real model what must not be done.
 *
 * usage: attack KIND GRAPH.blob PLAN.blob
 *
 *   overlap   move a tensor onto another one that is still needed, and load that
 *   retired   submit a job again that reads a tile whose bytes are given away
 *   order     submit a job before the one that writes what it reads
 *   overwrite submit a job before those that still read the bytes it writes
 *
 * Each attack starts from the plan as it is, which must load and run: so it is
 * the attack that is refused, not the model. Exit 0: refused, with the errno and
 * the rule that it has to be, and nothing lost: the run goes on to its end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npumem.h"
#include "npumem_sim.h"

struct file {
	uint8_t *data;
	size_t size;
};

/* Records of a section. */
struct records {
	uint8_t *base;
	uint32_t stride;
	uint32_t count;
};

struct victim {
	struct file graph_file, plan_file;
	struct records tensors, tiles, accesses, steps, placements, positions;
	struct npumem_device *device;
	struct npumem_graph *graph;
	struct npumem_plan *plan;
	struct npumem_run *run;
	struct npumem_error error;
	bool *submitted; /* per position */
};

#define RECORD(records, type, i) \
	((struct type *)(void *)((records).base + (size_t)(i) * (records).stride))

static void die(const char *what, const struct npumem_error *error)
{
	printf("attack: %s%s%s\n", what, error ? ": " : "", error ? error->text : "");
	exit(1);
}

static struct file read_all(const char *path)
{
	struct file file = { 0 };
	FILE *f = fopen(path, "rb");
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) <= 0)
		die(path, NULL);
	rewind(f);
	file.size = size;
	file.data = malloc(file.size);
	if (!file.data || fread(file.data, 1, file.size, f) != file.size)
		die(path, NULL);
	fclose(f);
	return file;
}

static struct records find(const struct file *file, uint32_t kind)
{
	const struct npumem_blob_header *header = (const void *)file->data;
	const struct npumem_blob_section *entry;
	uint32_t i;

	for (i = 0; i < header->section_count; i++) {
		entry = (const void *)(file->data + sizeof(*header) + i * header->section_stride);
		if (entry->kind == kind)
			return (struct records){ file->data + entry->offset, entry->stride,
						 entry->count };
	}
	die("a section is missing", NULL);
	abort();
}

static void open_victim(struct victim *v, const char *graph, const char *plan)
{
	v->graph_file = read_all(graph);
	v->plan_file = read_all(plan);
	v->tensors = find(&v->graph_file, NPUMEM_GRAPH_SECTION_TENSORS);
	v->tiles = find(&v->graph_file, NPUMEM_GRAPH_SECTION_TILES);
	v->accesses = find(&v->graph_file, NPUMEM_GRAPH_SECTION_ACCESSES);
	v->steps = find(&v->graph_file, NPUMEM_GRAPH_SECTION_STEPS);
	v->placements = find(&v->plan_file, NPUMEM_PLAN_SECTION_PLACEMENTS);
	v->positions = find(&v->plan_file, NPUMEM_PLAN_SECTION_SCHEDULE);
	v->submitted = calloc(v->positions.count, sizeof(*v->submitted));
	if (!v->submitted || npumem_device_open(NULL, &v->device, &v->error) ||
	    npumem_graph_new(v->device, v->graph_file.data, v->graph_file.size, NULL, &v->graph,
			     &v->error) ||
	    npumem_plan_load(v->graph, v->plan_file.data, v->plan_file.size, NULL, &v->plan,
			     &v->error) ||
	    npumem_run_new(v->plan, 0, NULL, &v->run, &v->error))
		die("the good plan", &v->error);
}

/* Submit one position as a job of its own; 0 or a negative errno. */
static int submit(struct victim *v, uint32_t position)
{
	const struct npumem_sim_command command = { .op = NPUMEM_SIM_MIX };
	struct drm_npumem_job job = {
		.first_position = position,
		.position_count = 1,
		.commands = { (uintptr_t)&command, sizeof(command) },
	};
	struct npumem_submit args = { .jobs = &job, .job_count = 1 };
	int err;

	memset(&v->error, 0, sizeof(v->error));
	err = npumem_run_submit(v->run, &args, &v->error);
	if (!err)
		v->submitted[position] = true;
	return err;
}

/* What has not been submitted goes, in the plan's order, and finishes. */
static void finish(struct victim *v)
{
	uint32_t p;

	for (p = 0; p < v->positions.count; p++)
		if (!v->submitted[p] && submit(v, p))
			die("the run did not survive the attack", &v->error);
	if (npumem_run_wait(v->run, npumem_deadline(60ll * 1000000000), &v->error))
		die("the run did not finish", &v->error);
}

static void refused(const struct victim *v, const char *what, int err, int wanted, uint32_t rule)
{
	printf("%s\n  -> %s, %s\n  %s\n", what, err ? strerror(-err) : "ACCEPTED",
	       npumem_rule_name(v->error.verdict.rule), v->error.text);
	if (err != wanted || v->error.verdict.rule != rule)
		die("not refused as it has to be", NULL);
}

/* First and last position at which a tensor is used, and the first write of it. */
static bool lifetime(const struct victim *v, uint32_t tensor, uint32_t *first, uint32_t *last)
{
	const struct npumem_access *access;
	const struct npumem_step *step;
	bool found = false;
	uint32_t p, a;

	for (p = 0; p < v->positions.count; p++) {
		step = RECORD(v->steps, npumem_step,
			      RECORD(v->positions, npumem_position, p)->index);
		for (a = 0; a < step->access_count; a++) {
			access = RECORD(v->accesses, npumem_access, step->first_access + a);
			if (RECORD(v->tiles, npumem_tile, access->tile)->tensor != tensor)
				continue;
			*first = found ? *first : p;
			*last = p;
			found = true;
		}
	}
	return found;
}

static int overlap(struct victim *v)
{
	struct npumem_placement *a, *b;
	struct npumem_plan *plan = NULL;
	uint32_t i, j, a_first, a_last, b_first, b_last;
	char what[160], text[2048];
	struct npumem_log log = { .text = text, .size = sizeof(text), .level = 1 };
	int err;

	/* B is born in the middle of the life of A, and fits where A lies. */
	for (i = 0; i < v->placements.count; i++) {
		for (j = 0; j < v->placements.count; j++) {
			a = RECORD(v->placements, npumem_placement, i);
			b = RECORD(v->placements, npumem_placement, j);
			if (i == j || !lifetime(v, a->tensor, &a_first, &a_last) ||
			    !lifetime(v, b->tensor, &b_first, &b_last) || b_first <= a_first ||
			    b_first >= a_last || b->region.length > a->region.length)
				continue;
			snprintf(what, sizeof(what),
				 "tensor %u (%llu bytes) moved from %llu to %llu, onto tensor %u",
				 b->tensor, b->region.length, b->offset, a->offset, a->tensor);
			b->offset = a->offset;
			memset(&v->error, 0, sizeof(v->error));
			err = npumem_plan_load(v->graph, v->plan_file.data, v->plan_file.size, &log,
					       &plan, &v->error);
			refused(v, what, err, -EINVAL, NPUMEM_RULE_V4_WRITE);
			printf("  verifier's log: %s", text);
			if (v->error.verdict.tensor != b->tensor ||
			    v->error.verdict.other_tensor != a->tensor ||
			    v->error.verdict.position != b_first || !strstr(text, "V4 write"))
				die("the verdict names something else", NULL);
			finish(v);
			return 0;
		}
	}
	die("no two tensors to be put on each other", NULL);
	return 1;
}

static int retired(struct victim *v)
{
	uint32_t p, back;
	char what[96];
	int err;

	/* Half way, then back to the first job whose input has been given away. */
	for (p = 0; p < v->positions.count / 2; p++)
		if (submit(v, p))
			die("the plan's own order", &v->error);
	for (back = 0; back < p; back++) {
		err = submit(v, back);
		if (!err)
			die("a job went twice", NULL);
		if (v->error.verdict.rule == NPUMEM_RULE_ENFORCE_READ &&
		    v->error.verdict.other_tensor != NPUMEM_NONE)
			break;
	}
	if (back == p)
		die("no job reads a retired tile", NULL);
	snprintf(what, sizeof(what), "job of position %u again, after position %u", back, p - 1);
	refused(v, what, err, -EPERM, NPUMEM_RULE_ENFORCE_READ);
	finish(v);
	return 0;
}

static int order(struct victim *v)
{
	uint32_t p, last = v->positions.count - 1;
	char what[96];
	int err;

	for (p = 0; p < last / 2; p++)
		if (submit(v, p))
			die("the plan's own order", &v->error);
	snprintf(what, sizeof(what), "job of the last position, %u, after position %u", last,
		 p - 1);
	err = submit(v, last);
	refused(v, what, err, -EPERM, NPUMEM_RULE_ENFORCE_READ);
	if (v->error.verdict.position != last)
		die("the verdict names something else", NULL);
	finish(v);
	return 0;
}

/* The tensor that the step at a position writes. */
static uint32_t written(const struct victim *v, uint32_t position)
{
	const struct npumem_access *access;
	const struct npumem_step *step;
	uint32_t a;

	step = RECORD(v->steps, npumem_step,
		      RECORD(v->positions, npumem_position, position)->index);
	for (a = 0; a < step->access_count; a++) {
		access = RECORD(v->accesses, npumem_access, step->first_access + a);
		if (access->mode != NPUMEM_ACCESS_READ)
			return RECORD(v->tiles, npumem_tile, access->tile)->tensor;
	}
	return NPUMEM_NONE;
}

static int overwrite(struct victim *v)
{
	uint32_t p, ahead, went = 0;
	char what[128];
	int err;

	/*
	 * Before each job try some of the next operators': those that respect the
	 * states go.
	 */
	for (p = 0; p < v->positions.count; p++) {
		for (ahead = p + 1; ahead < v->positions.count && ahead <= p + 16; ahead++) {
			if (v->submitted[ahead] || written(v, ahead) == written(v, p))
				continue;
			err = submit(v, ahead);
			if (!err) {
				went++;
				continue;
			}
			if (err != -EPERM)
				die("a job out of order", &v->error);
			if (v->error.verdict.rule != NPUMEM_RULE_ENFORCE_WRITE)
				continue;
			snprintf(what, sizeof(what),
				 "job of position %u before that of %u (%u others went early, as "
				 "they may)",
				 ahead, p, went);
			refused(v, what, err, -EPERM, NPUMEM_RULE_ENFORCE_WRITE);
			finish(v);
			return 0;
		}
		if (!v->submitted[p] && submit(v, p))
			die("the plan's own order", &v->error);
	}
	die("no job overwrites what is still needed", NULL);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*attack)(struct victim *v);
	} kinds[] = {
		{ "overlap", overlap },
		{ "retired", retired },
		{ "order", order },
		{ "overwrite", overwrite },
	};
	struct victim v = { 0 };
	size_t i;

	for (i = 0; argc == 4 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		open_victim(&v, argv[2], argv[3]);
		kinds[i].attack(&v);
		npumem_run_free(v.run);
		npumem_plan_free(v.plan);
		npumem_graph_free(v.graph);
		npumem_device_close(v.device);
		free(v.submitted);
		free(v.graph_file.data);
		free(v.plan_file.data);
		return 0;
	}
	fprintf(stderr, "usage: attack overlap|retired|order|overwrite GRAPH.blob PLAN.blob\n");
	return 2;
}
