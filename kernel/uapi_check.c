// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes of what user space shares with us, written down a second time so that no
 * change of a header goes by unnoticed. All are multiples of 8 and the same for
 * 32-bit and 64-bit builds.
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "npumem_drm.h"
#include "npumem_engine.h"
#include "npumem_netlink.h"
#include "npumem_request.h"

#define CHECK_SIZE(type, size)                        \
	static_assert(sizeof(struct type) == (size)); \
	static_assert((size) % 8 == 0)

CHECK_SIZE(drm_npumem_array, 16);
CHECK_SIZE(drm_npumem_buffer, 16);
CHECK_SIZE(drm_npumem_dev_query, 40);
CHECK_SIZE(drm_npumem_info, 96);
CHECK_SIZE(drm_npumem_bank, 64);
CHECK_SIZE(drm_npumem_engine, 48);
CHECK_SIZE(drm_npumem_plan_record, 48);
CHECK_SIZE(drm_npumem_run_record, 80);
CHECK_SIZE(drm_npumem_holder, 64);
CHECK_SIZE(drm_npumem_bo_create, 24);
CHECK_SIZE(drm_npumem_bo_mmap_offset, 16);
CHECK_SIZE(drm_npumem_bo_wait, 16);
CHECK_SIZE(drm_npumem_log, 24);
CHECK_SIZE(drm_npumem_graph_create, 64);
CHECK_SIZE(drm_npumem_handle, 8);
CHECK_SIZE(drm_npumem_plan_request, 96);
CHECK_SIZE(drm_npumem_plan_load, 72);
CHECK_SIZE(drm_npumem_plan_read, 120);
CHECK_SIZE(drm_npumem_run_create, 32);
CHECK_SIZE(drm_npumem_run_bind, 24);
CHECK_SIZE(drm_npumem_sync, 16);
CHECK_SIZE(drm_npumem_job, 48);
CHECK_SIZE(drm_npumem_relocation, 24);
CHECK_SIZE(drm_npumem_submit, 80);
CHECK_SIZE(drm_npumem_run_query, 72);
CHECK_SIZE(drm_npumem_engine_attach, 56);
CHECK_SIZE(drm_npumem_run_turn, 16);

CHECK_SIZE(npumem_engine_access, 24);
CHECK_SIZE(npumem_engine_next, 64);
CHECK_SIZE(npumem_engine_alive, 8);

CHECK_SIZE(npumem_blob_header, 32);
CHECK_SIZE(npumem_blob_section, 32);
CHECK_SIZE(npumem_region, 56);
CHECK_SIZE(npumem_tensor, 48);
CHECK_SIZE(npumem_tile, 64);
CHECK_SIZE(npumem_access, 16);
CHECK_SIZE(npumem_step, 24);
CHECK_SIZE(npumem_block, 16);
CHECK_SIZE(npumem_edge, 24);
CHECK_SIZE(npumem_carry, 8);

CHECK_SIZE(npumem_plan_info, 96);
CHECK_SIZE(npumem_placement, 112);
CHECK_SIZE(npumem_position, 40);
CHECK_SIZE(npumem_plan_block, 24);
CHECK_SIZE(npumem_entry, 40);
CHECK_SIZE(npumem_plan_edge, 16);
CHECK_SIZE(npumem_view, 24);
CHECK_SIZE(npumem_verdict, 80);

CHECK_SIZE(npumem_option, 8);
CHECK_SIZE(npumem_option_bank, 16);
CHECK_SIZE(npumem_option_tile, 24);

CHECK_SIZE(npumem_request_outcome, 4192);
static_assert(NPUMEM_OUTCOME_TEXT > NPUMEM_MAX_MESSAGE);
