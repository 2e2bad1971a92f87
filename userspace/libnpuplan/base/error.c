// SPDX-License-Identifier: MIT
/* Errors as sentences, and the words they are made of. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "sized.h"

#define MAX_ALIGN 65536u

int npuplan_fail(struct npuplan_error *error, int err, const char *format, ...)
{
	va_list args;

	if (!error)
		return err;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	error->status = 0;
	error->needed = 0;
	error->step = NPUMEM_NONE;
	return err;
}

int npuplan_fail_later(struct npuplan_error *error, const char *what)
{
	return npuplan_fail(error, -E2BIG,
			    "the %s asked for are of a version later than this library's, %s", what,
			    npuplan_version());
}

/* One planner's options, whose size is their first field; @given may be NULL. */
static int take_own(void *own, size_t own_size, const void *given, struct npuplan_error *error)
{
	size_t size = 0;

	if (!given)
		return 0;
	memcpy(&size, given, sizeof(size));
	if (size < sizeof(size))
		return npuplan_fail(error, -EINVAL,
				    "the options of one planner do not say their size");
	if (!sized_take(own, own_size, given, size))
		return npuplan_fail_later(error, "options");
	memcpy(own, &own_size, sizeof(own_size));
	return 0;
}

int npuplan_take_machine(struct npuplan_machine *taken, const struct npuplan_machine *given,
			 struct npuplan_error *error)
{
	return take_own(taken, sizeof(*taken), given, error);
}

/* Values that make no sense, whoever is asked. */
static int check_values(const struct npuplan_options *options, struct npuplan_error *error)
{
	if (options->alignment > MAX_ALIGN || (options->alignment & (options->alignment - 1)))
		return npuplan_fail(error, -EINVAL, "alignment %u is not a power of two up to %u",
				    options->alignment, MAX_ALIGN);
	if (!isfinite(options->deadline_seconds) || options->deadline_seconds < 0)
		return npuplan_fail(error, -EINVAL, "a deadline of %g seconds makes no sense",
				    options->deadline_seconds);
	return 0;
}

int npuplan_take_options(struct npuplan_taken_options *taken, const struct npuplan_options *given,
			 size_t size, struct npuplan_error *error)
{
	int err;

	memset(taken, 0, sizeof(*taken));
	if (!sized_take(&taken->all, sizeof(taken->all), given, size))
		return npuplan_fail_later(error, "options");
	err = take_own(&taken->cosma, sizeof(taken->cosma), taken->all.cosma, error);
	if (!err && taken->all.cosma)
		err = npuplan_take_machine(&taken->machine, taken->cosma.machine, error);
	if (!err)
		err = take_own(&taken->tilesched, sizeof(taken->tilesched), taken->all.tilesched,
			       error);
	taken->cosma.machine = taken->cosma.machine ? &taken->machine : NULL;
	taken->all.cosma = taken->all.cosma ? &taken->cosma : NULL;
	taken->all.tilesched = taken->all.tilesched ? &taken->tilesched : NULL;
	return err ? err : check_values(&taken->all, error);
}

int npuplan_check_taken(const char *planner, uint32_t traits, const struct npuplan_options *options,
			struct npuplan_error *error)
{
	/* Who takes it has a trait of @takers, unless that is 0, and none of @others. */
	const struct {
		bool given;
		uint32_t takers;
		uint32_t others;
		const char *what;
	} all[] = {
		{ options->cosma, NPUPLAN_PLANNER_COSMA, 0, "the options of planner cosma" },
		{ options->tilesched, NPUPLAN_PLANNER_TILESCHED, 0,
		  "the options of planner tile-scheduled" },
		{ options->objective != NPUPLAN_OBJECTIVE_OWN, NPUPLAN_PLANNER_MOVES, 0,
		  "the objectives of planner cosma" },
		{ options->schedule >= NPUPLAN_SCHEDULE_LEAST_PEAK, NPUPLAN_PLANNER_MOVES, 0,
		  "the schedules of planner cosma" },
		/* Planners that only place tensors keep to the graph's order. */
		{ options->schedule == NPUPLAN_SCHEDULE_GIVEN, 0, NPUPLAN_PLANNER_TILESCHED,
		  "the schedules of planner cosma" },
		{ options->memory_limit, 0, NPUPLAN_PLANNER_TILESCHED, "a limit of memory" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].given &&
		    ((all[i].takers && !(traits & all[i].takers)) || (traits & all[i].others)))
			return npuplan_fail(error, -EOPNOTSUPP, "planner %s does not take %s",
					    planner, all[i].what);
	return 0;
}

const char *npuplan_format_bytes(uint64_t bytes, char text[32])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = bytes;
	unsigned int unit = 0;

	if (bytes < 1024) {
		snprintf(text, 32, "%u B", (unsigned int)bytes);
		return text;
	}
	value /= 1024;
	while (value >= 1024 && unit < 3) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 32, "%.1f %s", value, units[unit]);
	return text;
}

static const char *label(const char *name, const char *kind, uint32_t index, char text[96])
{
	if (name && name[0])
		snprintf(text, 96, "%s", name);
	else
		snprintf(text, 96, "%s %u", kind, index);
	return text;
}

const char *npuplan_tensor_label(const struct npuplan_graph *graph, uint32_t tensor, char text[96])
{
	return label(tensor < graph->tensor_count ? graph->tensors[tensor].name : NULL, "tensor",
		     tensor, text);
}

const char *npuplan_step_label(const struct npuplan_graph *graph, uint32_t step, char text[96])
{
	return label(step < graph->step_count ? graph->steps[step].name : NULL, "step", step, text);
}

int npuplan_fail_verdict(struct npuplan_error *error, int err, const char *what, const char *log)
{
	int length = strcspn(log, "\n");

	/* The first line of the verifier's log names rule, step, tensors and bytes. */
	if (length)
		return npuplan_fail(error, err, "%s refused: %.*s", what, length, log);
	return npuplan_fail(error, err, "%s refused: %s", what, strerror(-err));
}
