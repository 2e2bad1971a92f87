/* SPDX-License-Identifier: MIT */
/*
 * Graphs, plans and runs that are alive in the driver, of all clients of a device that this user
 * may look into. The driver tells of them whoever has the open file; so it is borrowed.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "clients.h"

enum object_kind { OBJECT_GRAPH, OBJECT_PLAN, OBJECT_RUN };

/*
 * struct object - a graph, a plan or a run
 * @number: of the device that it is on, in the order in which they were looked at; another one may
 *	have the same names
 * @device: path of a node of that, as much as there is room for
 * @client: whose it is
 * @handle: its handle there: with the client's number that is its name, "4:1"
 * @plan: of a plan, what the driver says
 * @planner: of a plan that object_read() has read: who made it; else ""
 * @lower_bound: likewise, the plan's own word: bytes that no plan of this order can go below; 0: it
 *	says none
 * @run: of a run, what the driver says
 * @plans, @runs: of a graph, how many there are of it
 */
struct object {
	enum object_kind kind;
	uint32_t number;
	char device[64];
	struct live_client client;
	uint32_t handle;
	union {
		struct {
			struct drm_npumem_plan_record plan;
			char planner[32];
			uint64_t lower_bound;
		};
		struct drm_npumem_run_record run;
		struct {
			uint32_t plans;
			uint32_t runs;
		};
	};
};

/*
 * struct object_list - those of one kind
 * @device, @number: path of the device whose clients' are added, and which one it is
 * @objects: @count of them, ascending by device, client and handle; owned
 * @hidden: processes and clients that this user may not look into
 */
struct object_list {
	enum object_kind kind;
	const char *device;
	uint32_t number;
	struct object *objects;
	uint32_t count;
	uint32_t hidden;
};

/*
 * object_borrow() - a descriptor of a client's open file, as an object of the library
 *
 * Close it soon: as long as it is there the file is not closed, whatever the client does. Negative
 * errno: -EPERM: this user may not look into the process (ptrace(2)); -ESRCH: it is gone, or has
 * closed the file.
 */
int object_borrow(const struct live_client *client, struct npumem_device **device);

/*
 * objects_find() - add the objects of a device's clients
 * @list: zeros but for its kind at first; objects_free() it, also after an error
 *
 * Of graphs only those are told that a plan or a run is of. Negative errno: of live_find().
 */
int objects_find(const char *device, struct object_list *list);
/*
 * objects_add() - add those of one client, of what the driver says of it
 *
 * 0 or -ENOMEM.
 */
int objects_add(struct object_list *list, const struct live_client *client,
		const struct drm_npumem_plan_record *plans, uint32_t plan_count,
		const struct drm_npumem_run_record *runs, uint32_t run_count);
void objects_free(struct object_list *list);

/**
 * object_find() - the one of that name, "4:1"
 * @list: of devices that may have the same names
 * @name: of one
 * @count: out: how many have it
 *
 * The first of them; NULL: there is none.
 */
const struct object *object_find(const struct object_list *list, const char *name, uint32_t *count);

/*
 * object_read() - read of a ready plan what the lists of the driver do not have
 *
 * It is the beginning of the plan itself, which the client's file gives. Negative errno, of
 * object_borrow() or of reading it; -EPROTO: that is no plan.
 */
int object_read(struct object *object);
/* The same of the first @size bytes of the plan. 0 or -EPROTO. */
int object_take(struct object *object, const void *plan, size_t size);

/** objects_print() - a line of each */
void objects_print(FILE *out, const struct object_list *list);
/** objects_json() - all of them, as an object */
json_t *objects_json(const struct object_list *list);
/*
 * object_print() - all that the driver says of one, a line for each thing
 * @now: CLOCK_MONOTONIC nanoseconds
 */
void object_print(FILE *out, const struct object *object, int64_t now);
/** object_json() - as an object, as lists have it */
json_t *object_json(const struct object *object);
/** object_json_all() - with what object_read() has read */
json_t *object_json_all(const struct object *object);
/** object_noun() - "graph", "plan" or "run" */
const char *object_noun(enum object_kind kind);
