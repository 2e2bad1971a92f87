// SPDX-License-Identifier: MIT
/* What programs find in libnpumem-tflite.so. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sized/sized.h"
#include "delegate.h"
#include "plugin.h"
#include "version.h"

/* The runtime says its version if it is a library; one that is part of the program may not. */
static int check_version(struct why *why)
{
	const char *(*get)(void) = NULL;
	const char *version;

	*(void **)&get = dlsym(RTLD_DEFAULT, "TfLiteVersion");
	version = get ? get() : NULL;
	if (tfl_version_is_known(version))
		return 0;
	return why_fail(why, -EOPNOTSUPP, TFL_OTHER_VERSION, version, TFL_OLDEST_MINOR);
}

static int create(char **keys, char **values, size_t count, struct delegate **out, struct why *why)
{
	struct enforcer *enforcer = NULL;
	struct options options;
	int err;

	err = options_read(&options, keys, values, count, why);
	if (!err)
		err = check_version(why);
	if (!err)
		err = enforcer_open(&options, &enforcer, why);
	if (!err) {
		*out = delegate_new(&options, enforcer);
		if (*out)
			return 0;
		err = why_fail(why, -ENOMEM, "out of memory");
		if (enforcer)
			enforcer->ops->free(enforcer);
	}
	options_fini(&options);
	return err;
}

void *plugin_create(char **keys, char **values, size_t count,
		    void (*report_error)(const char *text))
{
	struct delegate *delegate = NULL;
	struct why why, line;

	if (!create(keys, values, count, &delegate, &why))
		return &delegate->tfl;
	why_fail(&line, 0, "npumem: %.1500s", why.text);
	if (report_error)
		report_error(line.text);
	else
		say("%s", why.text);
	return NULL;
}

static void add_partition(struct npumem_tflite_stats *stats, const struct partition *p)
{
	const struct memory *m = p->memory;

	stats->partitions++;
	if (!m)
		return;
	stats->arena_bytes += m->info.arena_size;
	stats->lower_bound += m->info.lower_bound;
	stats->spilled_bytes += m->info.spill_bytes;
	stats->plan_ns += m->plan_ns;
	stats->cached += m->cached;
	stats->swaps += p->swaps;
	for (uint32_t i = 0; i < p->planned_count; i++)
		stats->tensor_bytes += p->planned[i].bytes;
	stats->enforced_by = m->enforcer->ops->enforced_by;
}

int plugin_stats(void *delegate, struct npumem_tflite_stats *stats)
{
	const struct delegate *d = delegate;
	struct npumem_tflite_stats own;
	uint32_t size;

	if (!d || !stats || stats->size < sizeof(stats->size))
		return -EINVAL;
	size = stats->size;
	memset(&own, 0, sizeof(own));
	own.claimed = d->claimed;
	own.operators = d->operators;
	for (const struct partition *p = d->partitions; p; p = p->next)
		add_partition(&own, p);
	own.size = size;
	sized_give(stats, size, &own, sizeof(own));
	return 0;
}

int plugin_bind_input(void *delegate, const void *tensor, int dma_buf, uint64_t offset,
		      struct why *why)
{
	struct delegate *d = delegate;
	const struct tfl_tensor *t = tensor;

	if (!d || !t || dma_buf < 0)
		return why_fail(why, -EINVAL, "no delegate, no tensor, or no descriptor");
	if (!d->context || (uintptr_t)t < (uintptr_t)d->context->tensors ||
	    (uintptr_t)t >= (uintptr_t)(d->context->tensors + d->context->tensors_size))
		return why_fail(why, -ENOENT, "the tensor is none of the delegate's interpreter");
	return partition_bind(d, (int)(t - d->context->tensors), dma_buf, offset, why);
}

/* ------------------------------------------------------------------- exported */

void *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
				    void (*report_error)(const char *text))
{
	return plugin_create(keys, values, count, report_error);
}

void tflite_plugin_destroy_delegate(void *delegate)
{
	delegate_free(delegate);
}

int npumem_tflite_get_stats(void *delegate, struct npumem_tflite_stats *stats)
{
	return plugin_stats(delegate, stats);
}

int npumem_tflite_bind_input(void *delegate, const void *tensor, int dma_buf, uint64_t offset)
{
	struct why why;
	int err = plugin_bind_input(delegate, tensor, dma_buf, offset, &why);

	if (err)
		say("an input cannot be bound: %s", why.text);
	return err;
}
