/* SPDX-License-Identifier: MIT */
/* Values of options. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "size.h"
#include "../../grow/grow.h"

/* Largest size taken, in bytes: what every reader of JSON keeps as it is. */
#define MAX_SIZE      (1ull << 53)
/* Largest alignment taken, in bytes: as npuplan_plan() has it. */
#define MAX_ALIGNMENT 65536u

bool parse_size(const char *text, uint64_t *bytes)
{
	uint64_t value;

	if (npusize_parse(text, &value) || value > MAX_SIZE)
		return false;
	*bytes = value;
	return true;
}

void list_algorithms(const struct argp_state *state, const char *option,
		     const struct algorithms *algorithms, const char *which)
{
	if (which && strcmp(which, "all"))
		usage_error(state, "%s: '%s' is not \"all\"", option, which);
	for (unsigned int i = 0; algorithms->name(i); i++)
		if (which || !algorithms->published(i))
			printf("%-20s %s\n", algorithms->name(i), algorithms->purpose(i));
	exit(EXIT_OK);
}

static bool parse_bank(char *text, struct npuplan_bank *bank)
{
	char *at = strchr(text, '@');
	char *end;

	if (!at)
		return false;
	*at++ = '\0';
	errno = 0;
	bank->bandwidth = strtoull(at, &end, 10);
	/* Up to what plan JSON can say. */
	return parse_size(text, &bank->size) && bank->size && isdigit((unsigned char)*at) &&
	       !*end && !errno && bank->bandwidth && bank->bandwidth <= INT64_MAX;
}

void option_banks(const struct argp_state *state, const char *text,
		  struct npuplan_bank banks[NPUPLAN_BANKS])
{
	char *copy = strdup(text), *second;

	if (!copy)
		abort();
	second = strchr(copy, ',');
	if (second)
		*second++ = '\0';
	if (!second || !parse_bank(copy, &banks[0]) || !parse_bank(second, &banks[1]))
		usage_error(
			state,
			"--banks: '%s' is not BYTES@MBPS,BYTES@MBPS, like 256KiB@8000,2MiB@2000",
			text);
	free(copy);
}

static bool parse_core(char *text, struct npuplan_core *core)
{
	char *equals = strrchr(text, '=');

	if (!equals || equals == text || equals - text >= NPUPLAN_CORE_NAME)
		return false;
	*equals = '\0';
	snprintf(core->name, sizeof(core->name), "%s", text);
	return parse_size(equals + 1, &core->size) && core->size;
}

uint32_t option_cores(const struct argp_state *state, const char *text,
		      struct npuplan_core cores[NPUPLAN_CORES])
{
	char *copy = strdup(text), *rest = copy, *next;
	uint32_t count = 0;

	if (!copy)
		abort();
	while ((next = strsep(&rest, ","))) {
		if (count == NPUPLAN_CORES)
			usage_error(state, "--cores: there are more than %d", NPUPLAN_CORES);
		if (!parse_core(next, &cores[count]))
			usage_error(state,
				    "--cores: '%s' is not NAME=BYTES,NAME=BYTES, like "
				    "a=256KiB,b=1MiB, with names of up to %d bytes",
				    text, NPUPLAN_CORE_NAME - 1);
		for (uint32_t c = 0; c < count; c++)
			if (!strcmp(cores[c].name, cores[count].name))
				usage_error(state, "--cores: there are two named '%s'",
					    cores[c].name);
		count++;
	}
	free(copy);
	return count;
}

uint64_t option_size(const struct argp_state *state, const char *option, const char *text)
{
	uint64_t bytes = 0;

	if (npusize_parse(text, &bytes) == -EDOM)
		usage_error(state, "%s: '%s' makes no whole number of bytes; 1572864 and 1.5MiB do",
			    option, text);
	if (!parse_size(text, &bytes) || !bytes)
		usage_error(state,
			    "%s: '%s' is not a number of bytes; give one like 1572864 or 1.5MiB",
			    option, text);
	return bytes;
}

uint64_t option_number(const struct argp_state *state, const char *option, const char *text,
		       uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value < min || value > max)
		usage_error(state, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, option,
			    text, min, max);
	return value;
}

/* A number of at least @min, above 0 and up to 10^6; @what it is not if it is none of these. */
static double option_real(const struct argp_state *state, const char *option, const char *text,
			  double min, const char *what)
{
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (!isdigit((unsigned char)text[0]) || *end || errno || !(value > 0) || value < min ||
	    value > 1e6)
		usage_error(state, "%s: '%s' is not a %s 1000000", option, text, what);
	return value;
}

const char *option_word(const struct command_option *option, unsigned int i)
{
	if (option->choices)
		return option->choices[i];
	return option->list ? option->list(i) : NULL;
}

uint32_t option_choice(const struct argp_state *state, const struct command_option *option,
		       const char *text)
{
	const char *word;
	char list[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; (word = option_word(option, i)); i++) {
		const char *before = option_word(option, i + 1) ? ", " : " or ";

		if (!strcmp(word, text))
			return i;
		used += snprintf(list + used, sizeof(list) - used, "%s%s", i ? before : "", word);
	}
	usage_error(state, "--%s: '%s' is not %s", option->name, text, list);
	return 0;
}

static uint32_t option_alignment(const struct argp_state *state, const char *option,
				 const char *text)
{
	uint64_t bytes = option_size(state, option, text);

	if (bytes > MAX_ALIGNMENT || (bytes & (bytes - 1)))
		usage_error(state, "%s: %s is not a power of two up to 64KiB", option, text);
	return (uint32_t)bytes;
}

void option_texts_add(struct option_texts *texts, const char *text)
{
	const char **grown = grow_by_one(texts->list, texts->count, sizeof(*grown));

	if (!grown)
		abort();
	texts->list = grown;
	texts->list[texts->count++] = text;
}

void option_store(const struct argp_state *state, const struct command_option *option,
		  const char *arg, void *input)
{
	void *field = (char *)input + option->offset;
	char name[32];

	snprintf(name, sizeof(name), "--%s", option->name);
	switch (option->kind) {
	case VALUE_OTHER:
		break;
	case VALUE_FLAG:
		*(bool *)field = true;
		break;
	case VALUE_TEXT:
		*(const char **)field = arg;
		break;
	case VALUE_TEXTS:
		option_texts_add(field, arg);
		break;
	case VALUE_SIZE:
		*(uint64_t *)field = option_size(state, name, arg);
		break;
	case VALUE_NUMBER:
		*(uint64_t *)field = option_number(state, name, arg, option->min, option->max);
		break;
	case VALUE_COUNT:
		*(uint32_t *)field =
			(uint32_t)option_number(state, name, arg, option->min, option->max);
		break;
	case VALUE_CHOICE:
		*(uint32_t *)field = (uint32_t)option->min + option_choice(state, option, arg);
		break;
	case VALUE_ALIGNMENT:
		*(uint32_t *)field = option_alignment(state, name, arg);
		break;
	case VALUE_SECONDS:
		*(double *)field = option_real(state, name, arg, 0, "number of seconds up to");
		break;
	case VALUE_FACTOR:
		*(double *)field = option_real(state, name, arg, 1, "factor from 1 to");
		break;
	}
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	char *text, *plain;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	plain = plain_text(text, false);
	argp_error(state, "%s", plain);
	free(plain);
	free(text);
}

error_t no_arguments(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	usage_error(state, "'%s': no argument is expected", arg);
	return 0;
}
