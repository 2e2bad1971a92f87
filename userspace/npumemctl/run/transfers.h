/* SPDX-License-Identifier: MIT */
/*
 * The runtime's part in a plan with transfers: what it puts into host memory before
 * an inference, what it finds there afterwards, and how much was to be moved.
 */
#pragma once

#include "npuplan.h"
#include "path.h"

/*
 * struct traffic - bytes of transfers of one inference, by kind
 */
struct traffic {
	uint64_t load;
	uint64_t spill;
	uint64_t store;
	uint64_t fill;
};

/** transfers_traffic() - what the transfers of the plan blocks on a path move together */
struct traffic transfers_traffic(const struct npuplan_plan *plan, const struct path *path);

/* transfers_check() - compare what was moved with the schedule, and with the plan's claim
 * @path: of the inference
 * @moved: counted by the driver
 *
 * The claim is npumem_plan_info's: fills, and spills, stores and loads together, for
 * the first store of an output counts as compulsory there. That of a plan with edges is
 * of each plan block once, whatever the path, and is not compared. -EINVAL, and the
 * error says both numbers.
 */
int transfers_check(const struct npuplan_plan *plan, const struct path *path,
		    const struct traffic *moved, struct npuplan_error *error);

/* transfers_put() - bytes of tensors that start in host memory, where the loads take them
 * @bytes: per tensor its bytes, NULL for one that has none
 * @host: @host_size bytes
 *
 * -EINVAL if a transfer is not inside its tensor or the host memory.
 */
int transfers_put(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		  uint8_t *const *bytes, uint8_t *host, uint64_t host_size);

/* transfers_get() - bytes of a tensor that have a valid copy in host memory at the end
 * @tensor: not an alias
 * @bytes: all of the tensor; only those that have a copy are written
 *
 * A copy is valid until a step writes the bytes again, and with edges until its block ends, so that
 * none is then (npumem_plan.h). -EINVAL as above, -ENOMEM.
 */
int transfers_get(const struct npuplan_graph *graph, const struct npuplan_plan *plan,
		  uint32_t tensor, uint8_t *bytes, const uint8_t *host, uint64_t host_size);
