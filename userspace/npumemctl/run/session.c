/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../monotonic/monotonic.h"

#include "npumem_command.h"

/* Room between external tensors, so that a byte too many is seen by none of them. */
#define EXTERNAL_ALIGN 64

static int64_t deadline(const struct session *s)
{
	return npumem_deadline((int64_t)(s->args->timeout * 1e9));
}

/* The driver lets nobody wait longer for a plan. */
static int64_t plan_deadline(const struct session *s)
{
	int64_t latest = npumem_deadline(NPUMEM_MAX_REQUEST_NS);
	int64_t wanted = deadline(s);

	return wanted < latest ? wanted : latest;
}

const char *session_device(const struct session *s)
{
	return s->device       ? npumem_device_path(s->device) :
	       s->args->device ? s->args->device :
				 "device";
}

bool session_computes(const struct session_args *args)
{
	return args->engine && strcmp(args->engine, NPUMEM_SIM_NAME) != 0;
}

/* --------------------------------------------------------------- device, plan */

/* The engine asked for, and what it takes. */
static bool fits(const struct session *s, const struct drm_npumem_engine *engine)
{
	if (strcmp(engine->name, s->args->engine ? s->args->engine : NPUMEM_SIM_NAME) != 0)
		return false;
	return engine->version == (s->computes ? NPUMEM_COMMAND_VERSION : NPUMEM_SIM_VERSION);
}

static int no_engine(const struct session *s)
{
	if (s->computes)
		return failure(session_device(s),
			       "none of its engines is \"%s\", version %d, which computes models "
			       "(start npumem-engine)",
			       s->args->engine, NPUMEM_COMMAND_VERSION);
	return failure(session_device(s),
		       "none of its engines is \"%s\", version %d, which runs the operator \"mix\"",
		       NPUMEM_SIM_NAME, NPUMEM_SIM_VERSION);
}

static int open_device(struct session *s)
{
	struct drm_npumem_engine *engines = NULL;
	struct npumem_error error = { 0 };
	uint32_t count = 0;

	if (npumem_device_open(s->args->device, &s->device, &error) ||
	    npumem_device_info(s->device, &s->info, &error) ||
	    npumem_device_engines(s->device, &engines, &count, &error))
		return failure(session_device(s), "%s", error.text);
	s->engine = NPUMEM_NONE;
	for (uint32_t i = 0; i < count && s->engine == NPUMEM_NONE; i++)
		if (fits(s, &engines[i]))
			s->engine = engines[i].index;
	s->transfer_engine = s->engine;
	for (uint32_t i = 0; i < count && !s->args->one_engine; i++) {
		if (engines[i].index != s->engine &&
		    (engines[i].flags & (NPUMEM_ENGINE_TRANSFERS | NPUMEM_ENGINE_PROCESS)) ==
			    NPUMEM_ENGINE_TRANSFERS) {
			s->transfer_engine = engines[i].index;
			break;
		}
	}
	free(engines);
	return s->engine == NPUMEM_NONE ? no_engine(s) : EXIT_OK;
}

/* The graph that the daemon has cut takes the place of the one that it was given. */
static int take_graph(struct session *s)
{
	struct npuplan_graph *graph, *given = s->model.graph;
	struct npuplan_error plan_error = { 0 };
	struct npumem_error error = { 0 };
	void *blob;
	size_t size;
	int err;

	if (npumem_plan_graph(s->plan, &blob, &size, &error))
		return failure(s->model.path, "%s", error.text);
	err = npuplan_graph_read(blob, size, &graph, &plan_error);
	free(blob);
	if (err)
		return failure(s->model.path, "the daemon's graph: %s", plan_error.text);
	if (graph->tensor_count < given->tensor_count) {
		npuplan_graph_free(graph);
		return failure(s->model.path, "the daemon's graph has lost tensors");
	}
	/* A blob has no ids: tensors are said as the model's. */
	for (uint32_t t = 0; t < given->tensor_count; t++)
		graph->tensors[t].id = given->tensors[t].id;
	npuplan_graph_free(given);
	s->model.graph = graph;
	return EXIT_OK;
}

/* Ask the daemon; the answer is read back as a blob. */
static int request_plan(struct session *s)
{
	struct npumem_request request = s->args->asking.request;
	struct npuplan_error plan_error = { 0 };
	struct npumem_error error = { 0 };
	int err;

	request.deadline = plan_deadline(s);
	err = npumem_plan_request(s->graph, &request, &s->plan, &error);
	if (err == -ENOTCONN)
		return failure(session_device(s),
			       "%s: plan with \"npumemctl plan -o FILE\" and give --plan FILE",
			       error.text);
	/* The driver ends it at the deadline, so that much and a little more. */
	if (!err)
		err = npumem_plan_wait(s->plan, npumem_deadline(INT64_MAX), &error);
	if (!err)
		err = npumem_plan_read(s->plan, &s->file.blob, &s->file.blob_size, &error);
	if (err)
		return failure(s->model.path, "%s", error.text);
	if (npuplan_plan_read(s->file.blob, s->file.blob_size, &s->file.plan, &plan_error))
		return failure(s->model.path, "the daemon's plan: %s", plan_error.text);
	return asking_cuts(&s->args->asking) ? take_graph(s) : EXIT_OK;
}

static int get_plan(struct session *s)
{
	struct npumem_error error = { 0 };
	double start = monotonic_seconds();
	int status = EXIT_OK;

	if (npumem_graph_new(s->device, s->model.blob, s->model.blob_size, NULL, &s->graph, &error))
		return failure(s->model.path, "%s", error.text);
	if (!s->file.plan)
		status = request_plan(s);
	else if (npumem_plan_load(s->graph, s->file.blob, s->file.blob_size, NULL, &s->plan,
				  &error))
		status = failure(s->file.path, "%s", error.text);
	s->plan_seconds = monotonic_seconds() - start;
	if (status == EXIT_OK && npumem_plan_get_stats(s->plan, &s->stats, &error))
		status = failure(session_device(s), "%s", error.text);
	return status;
}

/* What the model's steps do. The graph stays as it is: npumemd does not cut what is computed. */
static int make_commands(struct session *s)
{
	struct npuplan_error error = { 0 };

	s->computes = session_computes(s->args);
	if (s->computes && compute_init(&s->compute, s->model.data, s->model.data_size,
					s->model.graph, s->args->seed, &error))
		return failure(s->model.path, "%s", error.text);
	return EXIT_OK;
}

int session_open(struct session *s)
{
	/* What no engine can be told needs no plan. */
	int status = make_commands(s);

	if (status == EXIT_OK)
		status = open_device(s);
	return status == EXIT_OK ? get_plan(s) : status;
}

/* ------------------------------------------------------------------------ run */

static bool is_external(const struct session *s, uint32_t t)
{
	return (s->model.graph->tensors[t].flags & NPUMEM_TENSOR_FLAG_EXTERNAL) && s->ref.bytes[t];
}

/* One BO for all external tensors, side by side. */
static int bind_externals(struct session *s)
{
	const struct npuplan_graph *graph = s->model.graph;
	struct npumem_error error = { 0 };
	uint64_t size = 0;
	void *bytes;

	s->external_offset = calloc(graph->tensor_count + (size_t)1, sizeof(*s->external_offset));
	if (!s->external_offset)
		return failure(s->model.path, "out of memory");
	for (uint32_t t = 0; t < graph->tensor_count; t++) {
		uint64_t align = graph->tensors[t].align;

		if (!is_external(s, t))
			continue;
		if (align < EXTERNAL_ALIGN)
			align = EXTERNAL_ALIGN;
		size = (size + align - 1) & ~(align - 1);
		s->external_offset[t] = size;
		size += graph->tensors[t].size;
	}
	if (!size)
		return EXIT_OK;
	if (npumem_bo_new(s->device, size,
			  s->args->carveout ? NPUMEM_BO_CARVEOUT : NPUMEM_BO_SYSTEM, 0,
			  &s->external, &error) ||
	    npumem_bo_map(s->external, &bytes, &error))
		return failure(session_device(s), "%s", error.text);
	s->external_bytes = bytes;
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (is_external(s, t) &&
		    npumem_run_bind(s->run, t, s->external, s->external_offset[t], &error))
			return failure(session_device(s), "tensor '%s': %s", graph->tensors[t].name,
				       error.text);
	return EXIT_OK;
}

int session_start(struct session *s)
{
	struct npumem_error error = { 0 };
	void *arena, *host = NULL;

	if (s->stats.host_size &&
	    (npumem_bo_new(s->device, s->stats.host_size, NPUMEM_BO_SYSTEM, 0, &s->host, &error) ||
	     npumem_bo_map(s->host, &host, &error)))
		return failure(session_device(s), "%s", error.text);
	if (npumem_run_new(s->plan, 0, s->host, &s->run, &error) ||
	    npumem_bo_map(npumem_run_arena(s->run), &arena, &error) ||
	    npumem_sync_new(s->device, &s->sync, &error))
		return failure(session_device(s), "%s", error.text);
	s->arena = arena;
	s->host_bytes = host;
	if (reference_init(&s->ref, s->model.graph, s->file.plan))
		return failure(s->model.path, "out of memory for the reference: it needs %s",
			       size_text(model_bytes(s->model.graph)).s);
	return bind_externals(s);
}

int session_reset(struct session *s)
{
	struct npumem_error error = { 0 };

	if (npumem_run_reset(s->run, &error))
		return failure(session_device(s), "%s", error.text);
	return EXIT_OK;
}

void session_close(struct session *s)
{
	compute_fini(&s->compute);
	reference_fini(&s->ref);
	free(s->external_offset);
	npumem_run_free(s->run);
	npumem_bo_free(s->external);
	npumem_bo_free(s->host);
	npumem_plan_free(s->plan);
	npumem_graph_free(s->graph);
	if (s->sync)
		npumem_sync_free(s->device, s->sync);
	npumem_device_close(s->device);
	plan_file_fini(&s->file);
	model_fini(&s->model);
	*s = (struct session){ .args = s->args };
}

/* ----------------------------------------------------------------- inferences */

/*
 * Tensors that are valid at entry are written to where their first placements lie. State is there
 * already, but for the first inference: the plan keeps it.
 */
static int copy_in(struct session *s, bool first)
{
	const struct npuplan_graph *graph = s->model.graph;
	const struct npuplan_plan *plan = s->file.plan;

	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];
		const struct npuplan_tensor *tensor = &graph->tensors[p->tensor];

		if (!s->ref.entry[p->tensor] || p->block ||
		    (tensor->kind == NPUMEM_TENSOR_STATE && !first) ||
		    p->from != plan->blocks[0].first_position ||
		    (tensor->flags & NPUMEM_TENSOR_FLAG_HOST))
			continue;
		if (reference_copy(p, s->ref.bytes[p->tensor], tensor->size, s->arena,
				   s->stats.arena_size, true))
			return failure(s->model.path, "tensor '%s' is not inside the arena",
				       tensor->name);
	}
	if (s->host && transfers_put(graph, plan, s->ref.bytes, s->host_bytes, s->stats.host_size))
		return failure(s->model.path, "a load is not inside its tensor and host memory");
	for (uint32_t t = 0; t < graph->tensor_count; t++)
		if (is_external(s, t) && s->ref.entry[t])
			memcpy(s->external_bytes + s->external_offset[t], s->ref.bytes[t],
			       graph->tensors[t].size);
	return EXIT_OK;
}

static uint32_t last_position(const struct npumem_plan_block *block)
{
	return block->first_position + (block->position_count ? block->position_count - 1 : 0);
}

/*
 * All bytes of a tensor that is no alias, from where it is when the path ends: stored
 * in host memory, or else in the arena.
 */
static int copy_out(struct session *s, const struct path *path, uint32_t tensor, uint8_t *bytes)
{
	const struct npuplan_tensor *t = &s->model.graph->tensors[tensor];
	uint32_t instance = path->visits[path->count - 1].instance;
	const struct npuplan_plan *plan = s->file.plan;

	if (is_external(s, tensor))
		memcpy(bytes, s->external_bytes + s->external_offset[tensor], t->size);
	for (uint32_t i = 0; i < plan->placement_count; i++) {
		const struct npumem_placement *p = &plan->placements[i];

		if (p->tensor == tensor && p->block == instance &&
		    p->to == last_position(&plan->blocks[instance]) &&
		    reference_copy(p, bytes, t->size, s->arena, s->stats.arena_size, false))
			return failure(s->model.path, "tensor '%s' is not inside the arena",
				       t->name);
	}
	if (s->host &&
	    transfers_get(s->model.graph, plan, tensor, bytes, s->host_bytes, s->stats.host_size))
		return failure(s->model.path, "tensor '%s' cannot be had from host memory",
			       t->name);
	return EXIT_OK;
}

static int wait_idle(struct session *s)
{
	struct npumem_error error = { 0 };
	char names[512];

	if (!npumem_run_wait(s->run, deadline(s), &error))
		return EXIT_OK;
	npuplan_verdict_names(s->model.graph, &error.verdict, names, sizeof(names));
	return failure(session_device(s), "%s%s%s", error.text, *names ? "; " : "", names);
}

static int read_tensor(struct session *s, const struct path *path, uint32_t tensor, uint8_t *bytes)
{
	const struct npuplan_tensor *t = &s->model.graph->tensors[tensor];
	uint8_t *base;
	int status;

	if (!(t->flags & NPUMEM_TENSOR_FLAG_ALIAS))
		return copy_out(s, path, tensor, bytes);
	base = calloc(s->model.graph->tensors[t->alias_of].size, 1);
	if (!base)
		return failure(s->model.path, "out of memory");
	status = copy_out(s, path, t->alias_of, base);
	memcpy(bytes, base + t->alias_offset, t->size);
	free(base);
	return status;
}

int session_result(struct session *s, const struct path *path, uint32_t tensor, uint8_t *bytes)
{
	int status = read_tensor(s, path, tensor, bytes);

	/* What was read of a device that went meanwhile has no meaning. */
	return status == EXIT_OK ? wait_idle(s) : status;
}

/*
 * struct batch - jobs of one SUBMIT in the making
 * @jobs: @most of them have room
 * @queued: jobs submitted since the last wait
 */
struct batch {
	struct drm_npumem_job *jobs;
	uint32_t count;
	uint32_t most;
	uint32_t queued;
};

static int job_refused(const struct session *s, const struct drm_npumem_job *job, const char *why)
{
	if (job->flags & NPUMEM_JOB_EDGE)
		return failure(session_device(s), "plan edge %" PRIu32 " was refused: %s",
			       job->first_position, why);
	if (job->position_count == 1)
		return failure(session_device(s), "position %" PRIu32 " was refused: %s",
			       job->first_position, why);
	return failure(session_device(s), "positions %" PRIu32 " to %" PRIu32 " were refused: %s",
		       job->first_position, job->first_position + job->position_count - 1, why);
}

/*
 * So many jobs are under way that there is no room for more: wait for ours, or for those of
 * others. Returns whether to try again.
 */
static bool make_room(struct session *s, struct batch *batch, int64_t end)
{
	struct timespec moment = { .tv_nsec = 1000000 };

	if (!batch->queued)
		return !nanosleep(&moment, NULL) && monotonic_ns() < end;
	batch->queued = 0;
	return wait_idle(s) == EXIT_OK;
}

/* Submit what there is; @last: and have the syncobj signalled after it. */
static int flush(struct session *s, struct batch *batch, bool last)
{
	struct drm_npumem_sync sync = { .handle = s->sync };
	struct npumem_submit submit = { .jobs = batch->jobs, .job_count = batch->count };
	struct npumem_error error = { 0 };
	int64_t end = deadline(s);
	int err;

	if (last) {
		submit.out_syncs = &sync;
		submit.out_count = 1;
	}
	do
		err = npumem_run_submit(s->run, &submit, &error);
	while (err == -EBUSY && make_room(s, batch, end));
	if (err) {
		if (submit.failed_job == NPUMEM_NONE)
			return failure(session_device(s), "%s", error.text);
		return job_refused(s, &batch->jobs[submit.failed_job], error.text);
	}
	s->jobs += batch->count;
	batch->queued += batch->count;
	batch->count = 0;
	return EXIT_OK;
}

static int add_job(struct session *s, struct batch *batch, struct drm_npumem_job job)
{
	int status = batch->count == batch->most ? flush(s, batch, false) : EXIT_OK;

	if (status == EXIT_OK)
		batch->jobs[batch->count++] = job;
	return status;
}

static bool is_transfer(const struct session *s, uint32_t position)
{
	return s->file.plan->positions[position].kind != NPUMEM_POSITION_STEP;
}

/*
 * A job of a position and of those after it, up to @most in all, that are for the same engine. What
 * computes the model has a command for each step, and so a job for each; transfers have none.
 */
static struct drm_npumem_job next_job(struct session *s, uint32_t first, uint32_t most)
{
	uint32_t index = s->file.plan->positions[first].index;
	bool transfer = is_transfer(s, first);
	uint32_t count = 1;

	while (count < most && is_transfer(s, first + count) == transfer)
		count++;
	if (transfer)
		return npumem_job_positions(s->transfer_engine, first, count, NULL, 0);
	if (!s->computes)
		return npumem_job_positions(s->engine, first, count, &s->command,
					    sizeof(s->command));
	return npumem_job_positions(s->engine, first, count, s->compute.steps[index],
				    (uint32_t)s->compute.sizes[index]);
}

/*
 * Every position and edge of the path, each a job of its own; but blocks of more
 * positions than one SUBMIT takes in jobs of several, where all steps do the same: a job
 * costs as much as a hundred small steps.
 */
static int submit_path(struct session *s, struct batch *batch, const struct path *path,
		       uint64_t key)
{
	int status = EXIT_OK;

	s->command = (struct npumem_sim_command){ .op = NPUMEM_SIM_MIX, .value = key };
	for (uint32_t i = 0; status == EXIT_OK && i < path->count; i++) {
		const struct npumem_plan_block *block =
			&s->file.plan->blocks[path->visits[i].instance];

		uint32_t many = s->computes ? 1 : block->position_count / batch->most + 1;

		for (uint32_t p = 0; status == EXIT_OK && p < block->position_count;) {
			uint32_t left = block->position_count - p;
			struct drm_npumem_job job =
				next_job(s, block->first_position + p, left < many ? left : many);

			status = add_job(s, batch, job);
			p += job.position_count;
		}
		if (status == EXIT_OK && path->visits[i].edge != NPUMEM_NONE)
			status = add_job(s, batch, npumem_job_edge(path->visits[i].edge));
		s->blocks++;
	}
	return status == EXIT_OK && batch->count ? flush(s, batch, true) : status;
}

static int execute(struct session *s, const struct path *path, uint64_t key)
{
	struct drm_npumem_sync sync = { .handle = s->sync };
	struct batch batch = { .most = s->info.max_jobs ? s->info.max_jobs : 1 };
	struct npumem_error error = { 0 };
	uint64_t before = s->jobs;
	int status;

	batch.jobs = calloc(batch.most, sizeof(*batch.jobs));
	if (!batch.jobs)
		return failure(s->model.path, "out of memory");
	status = submit_path(s, &batch, path, key);
	free(batch.jobs);
	if (status == EXIT_OK && s->jobs != before &&
	    npumem_sync_wait(s->device, &sync, 1, deadline(s), &error))
		status = failure(session_device(s), "%s", error.text);
	return status == EXIT_OK ? wait_idle(s) : status;
}

/* The driver has to have moved as many bytes as the plan says. */
static int check_traffic(struct session *s, const struct path *path)
{
	struct npuplan_error plan_error = { 0 };
	struct npumem_error error = { 0 };
	struct npumem_run_stats stats;

	if (!s->host)
		return EXIT_OK;
	if (npumem_run_get_stats(s->run, &stats, &error))
		return failure(session_device(s), "%s", error.text);
	s->traffic = (struct traffic){
		.load = stats.load_bytes,
		.spill = stats.spill_bytes,
		.store = stats.store_bytes,
		.fill = stats.fill_bytes,
	};
	if (transfers_check(s->file.plan, path, &s->traffic, &plan_error))
		return failure(s->model.path, "%s", plan_error.text);
	return EXIT_OK;
}

/* Values before the inference, here and on the device. */
static int prepare(struct session *s, uint64_t seed, bool first)
{
	struct npuplan_error error = { 0 };

	if (!s->computes)
		reference_randomize(&s->ref, seed, first);
	else if (compute_begin(&s->compute, &s->ref, first, &error))
		return failure(s->model.path, "%s", error.text);
	return copy_in(s, first);
}

static int refer_block(struct session *s, uint32_t block, uint64_t key)
{
	struct npuplan_error error = { 0 };

	if (!s->computes)
		reference_block(&s->ref, block, key);
	else if (compute_block(&s->compute, &s->ref, block, &error))
		return failure(s->model.path, "%s", error.text);
	return EXIT_OK;
}

int session_infer(struct session *s, const struct path *path, uint64_t seed, bool first)
{
	double start;
	int status = prepare(s, seed, first);

	if (status != EXIT_OK)
		return status;
	start = monotonic_seconds();
	status = execute(s, path, seed);
	s->run_seconds += monotonic_seconds() - start;
	if (status == EXIT_OK)
		status = check_traffic(s, path);
	for (uint32_t i = 0; status == EXIT_OK && i < path->count; i++) {
		const struct path_visit *visit = &path->visits[i];

		status = refer_block(s, s->file.plan->blocks[visit->instance].block, seed);
		if (visit->edge != NPUMEM_NONE)
			reference_edge(&s->ref, s->file.plan->edges[visit->edge].edge);
	}
	return status;
}
