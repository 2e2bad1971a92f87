// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: debugfs
 *
 * The device's folder has "carveout", the map of each bank; "shares", what each user holds
 * of the device and may hold; "runs", one line for each run, with the plan block that it is
 * in (-1 after the exit) and the counts of its cells' states; "faults", the last faults; and
 * a folder for each engine. None of that is an interface: programs use DEV_QUERY and the
 * netlink events.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <drm/drm_debugfs.h>

#include "memory/carveout.h"
#include "base/client.h"
#include "debugfs.h"
#include "base/engine.h"
#include "job/fault.h"
#include "job/run.h"

static struct npu_device *seq_to_npumem(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_npumem(entry->dev);
}

static int carveout_show(struct seq_file *m, void *unused)
{
	struct npu_device *dev = seq_to_npumem(m);
	u32 i;

	for (i = 0; i < dev->bank_count; i++)
		npumem_bank_show(dev->banks[i], m);
	return 0;
}

#define DEFINE_SHOW(name, function)                       \
	static int name(struct seq_file *m, void *unused) \
	{                                                 \
		function(seq_to_npumem(m), m);            \
		return 0;                                 \
	}
DEFINE_SHOW(shares_show, npumem_clients_show)
DEFINE_SHOW(runs_show, npumem_runs_show)
DEFINE_SHOW(faults_show, npumem_faults_show)

static const struct drm_debugfs_info files[] = {
	{ "carveout", carveout_show },
	{ "shares", shares_show },
	{ "runs", runs_show },
	{ "faults", faults_show },
};

void npumem_debugfs_init(struct npu_device *dev)
{
	struct npu_engine *engine;
	u32 i;

	drm_debugfs_add_files(&dev->drm, files, ARRAY_SIZE(files));
	for (i = 0; i < dev->engine_count; i++) {
		engine = dev->engines[i];
		if (!engine->ops->debugfs)
			continue;
		engine->ops->debugfs(engine,
				     debugfs_create_dir(engine->name, dev->drm.debugfs_root));
	}
}
