/* SPDX-License-Identifier: MIT */
#include "size.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Bytes of the unit that is all the rest of a text; 0: there is none such. */
static uint64_t unit_of(const char *text)
{
	static const char letters[] = "kmgt";
	const char *letter = *text ? strchr(letters, tolower((unsigned char)*text)) : NULL;
	uint64_t unit = 1, step = 1024;

	if (!letter)
		return !*text || !strcasecmp(text, "B") ? 1 : 0;
	text++;
	if (!strcasecmp(text, "B"))
		step = 1000;
	else if (*text && strcasecmp(text, "iB") != 0 && strcasecmp(text, "i") != 0)
		return 0;
	for (const char *l = letters; l <= letter; l++)
		unit *= step;
	return unit;
}

int npusize_parse(const char *text, uint64_t *bytes)
{
	/* The number is value / 10^decimals; a unit makes decimals whole one by one. */
	unsigned __int128 value = 0;
	unsigned int decimals = 0;
	bool point = false, large = false;
	uint64_t unit;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		value = value * 10 + (unsigned int)(*text - '0');
		decimals += point;
		/* So many decimals make whole bytes of no unit. */
		if (point && value > UINT64_MAX)
			return -EINVAL;
		large |= value > UINT64_MAX;
		if (large)
			value = 0;
	}
	text += strspn(text, " ");
	unit = unit_of(text);
	if (!unit)
		return -EINVAL;
	if (large)
		return -ERANGE;
	value *= unit;
	for (; decimals; decimals--) {
		if (value % 10)
			return -EDOM;
		value /= 10;
	}
	if (value > UINT64_MAX)
		return -ERANGE;
	*bytes = (uint64_t)value;
	return 0;
}
