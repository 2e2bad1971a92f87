// SPDX-License-Identifier: MIT
/* Reasons: errno, verdict and log turned into sentences. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device.h"

const char *npumem_rule_name(uint32_t rule)
{
	static const char *const names[] = {
		[NPUMEM_RULE_NONE] = "no rule",
		[NPUMEM_RULE_V1_BOUNDS] = "V1 bounds",
		[NPUMEM_RULE_V2_ORDER] = "V2 order",
		[NPUMEM_RULE_V3_READ] = "V3 read",
		[NPUMEM_RULE_V4_WRITE] = "V4 write",
		[NPUMEM_RULE_V5_SPILL] = "V5 spill",
		[NPUMEM_RULE_V6_EDGE] = "V6 edge",
		[NPUMEM_RULE_V7_EXIT] = "V7 exit",
		[NPUMEM_RULE_FORMAT] = "format",
		[NPUMEM_RULE_ENFORCE_READ] = "read of a tile that is not live",
		[NPUMEM_RULE_ENFORCE_WRITE] = "overwrite of a tile that is still needed",
		[NPUMEM_RULE_ENFORCE_TWICE] = "step submitted twice",
		[NPUMEM_RULE_ENFORCE_LOST] = "run has failed",
		[NPUMEM_RULE_ENFORCE_EDGE] = "block that the run is not in",
		[NPUMEM_RULE_ENFORCE_BIND] = "external tensor that is not bound",
		[NPUMEM_RULE_ENFORCE_BESIDE] = "engine wrote beside a tile",
	};
	const char *name = rule < sizeof(names) / sizeof(names[0]) ? names[rule] : NULL;

	return name ? name : "unknown rule";
}

/* What a person can do about it, or NULL. */
static const char *advice(int code)
{
	static const struct {
		int code;
		const char *text;
	} advices[] = {
		{ -ENOTCONN,
		  "no planning daemon is registered; start npumemd, or load a plan made offline" },
		{ -ENODEV, "the device is gone" },
		{ -EOPNOTSUPP, "this version of the driver does not support it" },
		{ -ENOSPC, "the carveout has no such range free" },
		{ -ECANCELED, "the request was given up" },
		{ -ETIMEDOUT, "the deadline passed" },
		{ -EBADMSG, "it is not well formed" },
		{ -E2BIG, "it is over a limit of the device, see npumem_device_info()" },
		{ -EBUSY, "jobs or requests are under way; wait for them" },
		{ -EIO, "an earlier job of the run failed; reset the run" },
		{ -EUNATCH, "no process is attached to the slot of the engine" },
		{ -ENOLCK, "the arena is shared, and it is not the turn of the run" },
	};

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (advices[i].code == code)
			return advices[i].text;
	return NULL;
}

/* Sentence in the making; what does not fit is left out. */
struct sentence {
	char *text;
	size_t size;
	size_t used;
};

__attribute__((format(printf, 2, 0))) static void say_va(struct sentence *s, const char *format,
							 va_list args)
{
	int n = vsnprintf(s->text + s->used, s->size - s->used, format, args);

	if (n > 0)
		s->used += (size_t)n < s->size - s->used ? (size_t)n : s->size - s->used - 1;
}

__attribute__((format(printf, 2, 3))) static void say(struct sentence *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_va(s, format, args);
	va_end(args);
}

static struct sentence begin(struct npumem_error *error, int code)
{
	memset(error, 0, sizeof(*error));
	error->code = code;
	return (struct sentence){ .text = error->text, .size = sizeof(error->text) };
}

int npumem_fail(struct npumem_error *error, int code, const char *format, ...)
{
	struct sentence s;
	va_list args;

	if (!error)
		return code;
	s = begin(error, code);
	va_start(args, format);
	say_va(&s, format, args);
	va_end(args);
	return code;
}

int npumem_fail_later(struct npumem_error *error, const char *what)
{
	return npumem_fail(error, -E2BIG, "the %s is of a version later than this library's, %s",
			   what, npumem_version());
}

static void say_errno(struct sentence *s, int code)
{
	const char *words = strerrordesc_np(-code);

	if (words)
		say(s, ": %s", words);
	else
		say(s, ": error %d", -code);
	if (advice(code))
		say(s, " (%s)", advice(code));
}

int npumem_fail_errno(struct npumem_error *error, int code, const char *format, ...)
{
	struct sentence s;
	va_list args;

	if (!error)
		return code;
	s = begin(error, code);
	say(&s, "cannot ");
	va_start(args, format);
	say_va(&s, format, args);
	va_end(args);
	say_errno(&s, code);
	return code;
}

static void say_index(struct sentence *s, const char **separator, const char *what, uint32_t index)
{
	if (index == NPUMEM_NONE)
		return;
	say(s, "%s%s %u", *separator, what, index);
	*separator = ", ";
}

const char *npumem_verdict_space(const struct npumem_verdict *verdict)
{
	if (verdict->rule == NPUMEM_RULE_FORMAT)
		return "blob";
	if (verdict->rule != NPUMEM_RULE_ENFORCE_BESIDE)
		return "arena";
	return verdict->tile == NPUMEM_NONE ? "engine's window" : "copy of the tile";
}

static void say_verdict(struct sentence *s, const struct npumem_verdict *v)
{
	const char *separator = ", ";

	say(s, ": rule \"%s\"", npumem_rule_name(v->rule));
	say_index(s, &separator, "position", v->position);
	say_index(s, &separator, "step", v->step);
	say_index(s, &separator, "tile", v->tile);
	say_index(s, &separator, "tensor", v->tensor);
	if (v->length)
		say(s, ", bytes [%llu, %llu) of the %s", (unsigned long long)v->first,
		    (unsigned long long)(v->first + v->length), npumem_verdict_space(v));
	separator = "; against ";
	say_index(s, &separator, "tensor", v->other_tensor);
	say_index(s, &separator, "tile", v->other_tile);
	say_index(s, &separator, "step", v->other_step);
}

int npumem_fail_verdict(struct npumem_error *error, int code, const char *what,
			const struct npumem_verdict *verdict, const char *log)
{
	struct sentence s;
	size_t length;

	if (verdict->rule == NPUMEM_RULE_NONE && !(log && *log))
		return npumem_fail_errno(error, code, "accept %s", what);
	if (!error)
		return code;
	s = begin(error, code);
	error->verdict = *verdict;
	say(&s, "%s was refused", what);
	if (verdict->rule != NPUMEM_RULE_NONE)
		say_verdict(&s, verdict);
	if (log && *log)
		say(&s, ". %s", log);
	length = s.used;
	while (length && s.text[length - 1] == '\n')
		s.text[--length] = '\0';
	return code;
}

int npumem_fail_lost(struct npumem_error *error, int cause, const struct npumem_verdict *verdict)
{
	struct sentence s;

	if (!error)
		return -EIO;
	s = begin(error, -EIO);
	error->verdict = *verdict;
	say(&s, "the run is lost, a job of it failed: %s", strerror(cause));
	if (verdict->rule != NPUMEM_RULE_NONE && verdict->rule != NPUMEM_RULE_ENFORCE_LOST)
		say_verdict(&s, verdict);
	return -EIO;
}
