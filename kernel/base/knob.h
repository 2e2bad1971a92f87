/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of an engine that its tests and measurements set, each a debugfs file that an
 * administrator may write (struct npu_engine_ops.debugfs).
 */
#ifndef NPUMEM_KNOB_H
#define NPUMEM_KNOB_H

#include <linux/capability.h>
#include <linux/debugfs.h>

/*
 * NPUMEM_KNOB() - file operations @name for debugfs_create_file()
 * @type: of what the file's data points to, which @get and @set know as "knob"
 * @most: largest value that is taken
 * @get: an expression
 * @set: a statement that has the new value as "value"
 */
#define NPUMEM_KNOB(name, type, most, get, set)       \
	static int name##_get(void *data, u64 *value) \
	{                                             \
		type *knob = data;                    \
                                                      \
		*value = get;                         \
		return 0;                             \
	}                                             \
	static int name##_set(void *data, u64 value)  \
	{                                             \
		type *knob = data;                    \
                                                      \
		if (!capable(CAP_SYS_ADMIN))          \
			return -EPERM;                \
		if (value > (most))                   \
			return -EINVAL;               \
		set;                                  \
		return 0;                             \
	}                                             \
	DEFINE_DEBUGFS_ATTRIBUTE(name, name##_get, name##_set, "%llu\n")

/* The same for an atomic_t that counts how often something is still to happen. */
#define NPUMEM_KNOB_COUNT(name) \
	NPUMEM_KNOB(name, atomic_t, INT_MAX, atomic_read(knob), atomic_set(knob, value))

#endif
