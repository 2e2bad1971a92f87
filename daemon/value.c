// SPDX-License-Identifier: MIT
#include "value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npuplan.h"
#include "size.h"

static const char *parse_number(const char *value, uint64_t *out)
{
	unsigned long long number;
	char *end;

	if (*value < '0' || *value > '9')
		return "is not a number";
	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno)
		return "is too large";
	if (*end)
		return "is not a number";
	*out = number;
	return NULL;
}

static const char *parse_bytes(const char *value, uint64_t *out)
{
	switch (npusize_parse(value, out)) {
	case 0:
		return NULL;
	case -ERANGE:
		return "is too large";
	case -EDOM:
		return "makes no whole number of bytes";
	default:
		return "is not a number of bytes";
	}
}

const char *value_number(const char *value, const struct value_range *range, uint64_t *out)
{
	uint64_t number;
	const char *wrong = range->bytes ? parse_bytes(value, &number) :
					   parse_number(value, &number);

	if (!wrong && (number < range->least || number > range->most) &&
	    (number || !range->or_zero))
		wrong = range->sentence;
	if (!wrong)
		*out = number;
	return wrong;
}

const char *value_yes(const char *value, bool *out)
{
	bool yes = !strcmp(value, "yes");

	if (!yes && strcmp(value, "no") != 0)
		return "is not one of yes, no";
	*out = yes;
	return NULL;
}

const char *value_planner(const char *value, unsigned int *out)
{
	const char *name;

	for (unsigned int i = 0; (name = npuplan_planner_name(i)); i++) {
		if (!strcmp(name, value)) {
			*out = i;
			return NULL;
		}
	}
	return "is not a planner of this npumemd";
}
