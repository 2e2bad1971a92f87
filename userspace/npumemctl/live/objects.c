/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../grow/grow.h"
#include "cli/cli.h"

static const char *const states[] = { "pending", "ready", "failed" };

const char *object_noun(enum object_kind kind)
{
	return kind == OBJECT_GRAPH ? "graph" : kind == OBJECT_PLAN ? "plan" : "run";
}

/* -------------------------------------------------------------------- finding */

/* Whether a descriptor is of that client: its process may have opened another file meanwhile. */
static bool is_of_client(int fd, const struct live_client *client)
{
	char path[64], text[8192];
	struct live_file file;
	size_t length;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	in = fopen(path, "re");
	if (!in)
		return false;
	length = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[length] = '\0';
	return live_parse(text, &file) && file.client == client->file.client;
}

int object_borrow(const struct live_client *client, struct npumem_device **device)
{
	/* Not by name: not all of the C libraries have these calls. */
	int process = (int)syscall(SYS_pidfd_open, client->pid, 0);
	int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, client->fd, 0);
	int err = process < 0 || fd < 0 ? -errno : 0;

	*device = NULL;
	if (process >= 0)
		close(process);
	if (err == -EBADF)
		err = -ESRCH;
	if (!err && !is_of_client(fd, client))
		err = -ESRCH;
	if (!err)
		err = npumem_device_from_fd(fd, device, NULL);
	if (err && fd >= 0)
		close(fd);
	return err;
}

/* An object of the device whose clients' are added. */
static struct object object_of(const struct object_list *list, const struct live_client *client,
			       uint32_t handle)
{
	struct object object = {
		.kind = list->kind, .number = list->number, .client = *client, .handle = handle
	};

	snprintf(object.device, sizeof(object.device), "%s", list->device);
	return object;
}

static bool is_of(const struct object *object, const struct object_list *list,
		  const struct live_client *client)
{
	return object->client.file.client == client->file.client && object->number == list->number;
}

static int add_object(struct object_list *list, const struct object *object)
{
	struct object *objects = grow_by_one(list->objects, list->count, sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	list->objects = objects;
	objects[list->count++] = *object;
	return 0;
}

/* Counts a plan or a run of a graph, which is added if it is new; handles begin with 1. */
static int count_graph(struct object_list *list, const struct live_client *client, uint32_t graph,
		       enum object_kind of)
{
	struct object new = object_of(list, client, graph);
	uint32_t i = list->count;
	int err = 0;

	if (!graph)
		return 0;
	while (i && is_of(&list->objects[i - 1], list, client) &&
	       list->objects[i - 1].handle != graph)
		i--;
	if (!i || !is_of(&list->objects[i - 1], list, client)) {
		err = add_object(list, &new);
		i = list->count;
	}
	if (err)
		return err;
	list->objects[i - 1].plans += of == OBJECT_PLAN;
	list->objects[i - 1].runs += of == OBJECT_RUN;
	return 0;
}

static int by_name(const void *left, const void *right)
{
	const struct object *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->client.file.client != b->client.file.client)
		return a->client.file.client < b->client.file.client ? -1 : 1;
	return a->handle < b->handle ? -1 : a->handle > b->handle;
}

int objects_add(struct object_list *list, const struct live_client *client,
		const struct drm_npumem_plan_record *plans, uint32_t plan_count,
		const struct drm_npumem_run_record *runs, uint32_t run_count)
{
	struct object object = object_of(list, client, 0);
	int err = 0;

	for (uint32_t i = 0; i < plan_count && !err; i++) {
		object.handle = plans[i].handle;
		object.plan = plans[i];
		if (list->kind == OBJECT_PLAN)
			err = add_object(list, &object);
		else if (list->kind == OBJECT_GRAPH)
			err = count_graph(list, client, plans[i].graph, OBJECT_PLAN);
	}
	for (uint32_t i = 0; i < run_count && !err; i++) {
		object.handle = runs[i].handle;
		object.run = runs[i];
		if (list->kind == OBJECT_RUN)
			err = add_object(list, &object);
		else if (list->kind == OBJECT_GRAPH)
			err = count_graph(list, client, runs[i].graph, OBJECT_RUN);
	}
	if (list->count)
		qsort(list->objects, list->count, sizeof(*list->objects), by_name);
	return err;
}

/* One that goes meanwhile has none. */
static int look_into(struct object_list *list, const struct live_client *client)
{
	struct drm_npumem_plan_record *plans = NULL;
	struct drm_npumem_run_record *runs = NULL;
	uint32_t plan_count = 0, run_count = 0;
	struct npumem_device *device;
	int err = object_borrow(client, &device);

	if (err) {
		list->hidden += err == -EPERM;
		return err == -EPERM || err == -ESRCH || err == -ENODEV ? 0 : err;
	}
	err = npumem_device_plans(device, &plans, &plan_count, NULL);
	if (!err)
		err = npumem_device_runs(device, &runs, &run_count, NULL);
	npumem_device_close(device);
	if (!err)
		err = objects_add(list, client, plans, plan_count, runs, run_count);
	free(plans);
	free(runs);
	return err == -ENODEV ? 0 : err;
}

int objects_find(const char *device, struct object_list *list)
{
	struct live_list clients;
	int err = live_find("/proc", device, &clients);

	list->device = device;
	list->number++;
	for (uint32_t i = 0; i < clients.count && !err; i++)
		/* Its own file, which the search may have open, has nothing. */
		if (clients.clients[i].pid != getpid())
			err = look_into(list, &clients.clients[i]);
	list->hidden += clients.hidden;
	live_free(&clients);
	return err;
}

void objects_free(struct object_list *list)
{
	free(list->objects);
	*list = (struct object_list){ 0 };
}

/* ----------------------------------------------------------------------- plans */

/* Of a section table, which follows the header; NULL: there is none of that kind in @size bytes. */
static const void *find_section(const void *blob, size_t size, uint32_t kind, size_t record)
{
	struct npumem_blob_header header;
	struct npumem_blob_section section;
	const char *bytes = blob;
	size_t at = sizeof(header);

	if (size < sizeof(header))
		return NULL;
	memcpy(&header, bytes, sizeof(header));
	if (le32toh(header.magic) != NPUMEM_PLAN_MAGIC ||
	    le32toh(header.section_count) > NPUMEM_BLOB_MAX_SECTIONS)
		return NULL;
	for (uint32_t i = 0; i < le32toh(header.section_count); i++) {
		if (at > size || size - at < sizeof(section))
			return NULL;
		memcpy(&section, bytes + at, sizeof(section));
		if (le32toh(section.kind) == kind)
			return le64toh(section.count) && le64toh(section.offset) <= size &&
					       size - le64toh(section.offset) >= record ?
				       bytes + le64toh(section.offset) :
				       NULL;
		at += le32toh(header.section_stride);
	}
	return NULL;
}

int object_take(struct object *object, const void *plan, size_t size)
{
	struct npumem_plan_info info;
	const void *found = find_section(plan, size, NPUMEM_PLAN_SECTION_INFO, sizeof(info));

	if (!found)
		return -EPROTO;
	memcpy(&info, found, sizeof(info));
	memcpy(object->planner, info.planner, sizeof(object->planner));
	object->planner[sizeof(object->planner) - 1] = '\0';
	object->lower_bound = le64toh(info.lower_bound);
	return 0;
}

int object_read(struct object *object)
{
	/* Writers put it before what is long. */
	char begin[8192] = "";
	struct drm_npumem_plan_read args = {
		.handle = object->handle,
		.blob = { .ptr = (uintptr_t)begin, .size = sizeof(begin) },
	};
	struct npumem_device *device;
	int err = object_borrow(&object->client, &device);

	if (err)
		return err;
	if (ioctl(npumem_device_fd(device), DRM_IOCTL_NPUMEM_PLAN_READ, &args) < 0)
		err = -errno;
	npumem_device_close(device);
	return err ? err : object_take(object, begin, sizeof(begin));
}

/* ---------------------------------------------------------------------- names */

/* struct name - of an object, as "4:1"; "-" for what there is not */
struct name {
	char s[32];
};

static struct name name_of(const struct object *object, uint32_t handle)
{
	struct name name = { "-" };

	if (handle)
		snprintf(name.s, sizeof(name.s), "%" PRIu64 ":%" PRIu32, object->client.file.client,
			 handle);
	return name;
}

static json_t *name_json(const struct object *object, uint32_t handle)
{
	return handle ? json_string(name_of(object, handle).s) : json_null();
}

const struct object *object_find(const struct object_list *list, const char *name, uint32_t *count)
{
	const struct object *found = NULL;

	*count = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		if (strcmp(name_of(&list->objects[i], list->objects[i].handle).s, name) != 0)
			continue;
		if (!found)
			found = &list->objects[i];
		++*count;
	}
	return found;
}

/* ----------------------------------------------------------------------- text */

static const char *state_name(uint32_t state)
{
	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "unknown";
}

static const char *run_state(const struct drm_npumem_run_record *run)
{
	return run->error ? "lost" : run->flags & NPUMEM_RUN_BUSY ? "busy" : "idle";
}

static void print_line(FILE *out, const struct object *object)
{
	const struct drm_npumem_plan_record *plan = &object->plan;
	const struct drm_npumem_run_record *run = &object->run;

	if (object->kind == OBJECT_GRAPH)
		fprintf(out, " %6" PRIu32 " %6" PRIu32, object->plans, object->runs);
	else if (object->kind == OBJECT_PLAN)
		fprintf(out, " %10s %-8s %10s", name_of(object, plan->graph).s,
			state_name(plan->state), short_size(plan->arena_size).s);
	else
		fprintf(out, " %10s %10s %-8s %10s %10" PRIu64, name_of(object, run->graph).s,
			name_of(object, run->plan).s, run_state(run), short_size(run->arena_size).s,
			(uint64_t)run->submitted);
}

void objects_print(FILE *out, const struct object_list *list)
{
	static const char *const heads[] = {
		"  PLANS   RUNS", "      GRAPH STATE         ARENA",
		"      GRAPH       PLAN STATE         ARENA  SUBMITTED"
	};

	fprintf(out, "%10s %-10s %7s%s COMMAND\n", "ID", "DEVICE", "PID", heads[list->kind]);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct object *object = &list->objects[i];
		char *command = plain_text(object->client.command.s, false);
		char *device = plain_text(object->device, false);
		const char *slash = strrchr(device, '/');

		fprintf(out, "%10s %-10s %7d", name_of(object, object->handle).s,
			slash ? slash + 1 : device, (int)object->client.pid);
		print_line(out, object);
		fprintf(out, " %s\n", command);
		free(command);
		free(device);
	}
	if (list->hidden)
		fprintf(out, "processes that this user may not look into: %" PRIu32 "\n",
			list->hidden);
}

static void print_plan(FILE *out, const struct object *object)
{
	const struct drm_npumem_plan_record *plan = &object->plan;
	char *planner;

	fprintf(out, "  graph      %s\n  state      %s", name_of(object, plan->graph).s,
		state_name(plan->state));
	if (plan->error)
		fprintf(out, ": %s", strerror((int)plan->error));
	planner = plain_text(*object->planner ? object->planner : "-", false);
	fprintf(out, "\n  planner    %s\n  arena      %s\n", planner,
		size_text(plan->arena_size).s);
	fprintf(out, "  bound      %s\n",
		object->lower_bound ? size_text(object->lower_bound).s : "-");
	free(planner);
	fprintf(out, "  host       %s\n", size_text(plan->host_size).s);
	fprintf(out, "  kernel     %s\n", size_text(plan->memory_bytes).s);
}

static void print_run(FILE *out, const struct object *object)
{
	const struct drm_npumem_run_record *run = &object->run;

	fprintf(out, "  graph      %s\n  plan       %s\n", name_of(object, run->graph).s,
		name_of(object, run->plan).s);
	fprintf(out, "  state      %s", run_state(run));
	if (run->error)
		fprintf(out, ": %s", strerror((int)run->error));
	fprintf(out, "\n  bank       %" PRIu32 "\n", run->bank);
	if (run->flags & NPUMEM_RUN_SHARED)
		fprintf(out, "  arena      shared, %s\n",
			run->flags & NPUMEM_RUN_IN_TURN ? "and it has the turn" : "not its turn");
	else
		fprintf(out, "  arena      %s\n", size_text(run->arena_size).s);
	fprintf(out, "  submitted  %" PRIu64 " positions\n", (uint64_t)run->submitted);
	fprintf(out, "  moved      load %" PRIu64 ", spill %" PRIu64, (uint64_t)run->load_bytes,
		(uint64_t)run->spill_bytes);
	fprintf(out, ", store %" PRIu64 ", fill %" PRIu64 " bytes\n", (uint64_t)run->store_bytes,
		(uint64_t)run->fill_bytes);
}

void object_print(FILE *out, const struct object *object, int64_t now)
{
	char *command = plain_text(object->client.command.s, false);
	char *device = plain_text(object->device, false);
	int64_t since = object->kind == OBJECT_PLAN ? object->plan.created_ns :
						      object->run.created_ns;

	fprintf(out, "%s %s\n  device     %s\n  client     pid %d (%s), uid %u\n",
		object_noun(object->kind), name_of(object, object->handle).s, device,
		(int)object->client.pid, command, (unsigned int)object->client.uid);
	free(command);
	free(device);
	if (object->kind == OBJECT_GRAPH) {
		fprintf(out, "  plans      %" PRIu32 "\n  runs       %" PRIu32 "\n", object->plans,
			object->runs);
		return;
	}
	if (object->kind == OBJECT_PLAN)
		print_plan(out, object);
	else
		print_run(out, object);
	fprintf(out, "  for        %" PRId64 " s\n", (now - since) / 1000000000);
}

/* ----------------------------------------------------------------------- JSON */

static json_t *plan_json(const struct object *object)
{
	const struct drm_npumem_plan_record *plan = &object->plan;

	return json_pack("{so ss sI sI sI sI sI}", "graph", name_json(object, plan->graph), "state",
			 state_name(plan->state), "error", (json_int_t)plan->error, "created_ns",
			 (json_int_t)plan->created_ns, "arena", (json_int_t)plan->arena_size,
			 "host", (json_int_t)plan->host_size, "kernel",
			 (json_int_t)plan->memory_bytes);
}

static json_t *run_json(const struct object *object)
{
	const struct drm_npumem_run_record *run = &object->run;

	return json_pack("{so so ss sI sI sb sb sI sI sI s{sI sI sI sI}}", "graph",
			 name_json(object, run->graph), "plan", name_json(object, run->plan),
			 "state", run_state(run), "error", (json_int_t)run->error, "bank",
			 (json_int_t)run->bank, "shared", !!(run->flags & NPUMEM_RUN_SHARED),
			 "in_turn", !!(run->flags & NPUMEM_RUN_IN_TURN), "created_ns",
			 (json_int_t)run->created_ns, "arena", (json_int_t)run->arena_size,
			 "submitted", (json_int_t)run->submitted, "moved", "load",
			 (json_int_t)run->load_bytes, "spill", (json_int_t)run->spill_bytes,
			 "store", (json_int_t)run->store_bytes, "fill",
			 (json_int_t)run->fill_bytes);
}

json_t *object_json(const struct object *object)
{
	char *command = plain_text(object->client.command.s, false);
	char *device = plain_text(object->device, false);
	json_t *all = json_pack("{so ss si sI ss}", "id", name_json(object, object->handle),
				"device", device, "pid", (int)object->client.pid, "uid",
				(json_int_t)object->client.uid, "command", command);
	json_t *more = object->kind == OBJECT_PLAN ? plan_json(object) :
		       object->kind == OBJECT_RUN  ? run_json(object) :
						     json_pack("{sI sI}", "plans",
							       (json_int_t)object->plans, "runs",
							       (json_int_t)object->runs);

	json_object_update(all, more);
	json_decref(more);
	free(command);
	free(device);
	return all;
}

json_t *object_json_all(const struct object *object)
{
	json_t *all = object_json(object);
	char *planner;

	if (object->kind != OBJECT_PLAN)
		return all;
	planner = plain_text(object->planner, false);
	json_object_set_new(all, "planner", *planner ? json_string(planner) : json_null());
	json_object_set_new(all, "lower_bound",
			    object->lower_bound ? json_integer((json_int_t)object->lower_bound) :
						  json_null());
	free(planner);
	return all;
}

json_t *objects_json(const struct object_list *list)
{
	json_t *all = json_array();
	char key[16];

	for (uint32_t i = 0; i < list->count; i++)
		json_array_append_new(all, object_json(&list->objects[i]));
	snprintf(key, sizeof(key), "%ss", object_noun(list->kind));
	return json_pack("{so sI}", key, all, "hidden", (json_int_t)list->hidden);
}
