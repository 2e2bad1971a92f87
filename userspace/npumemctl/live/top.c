/* SPDX-License-Identifier: MIT */
#include "top.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Characters of the bar that shows how full a bank is. */
#define BAR 24

/* ---------------------------------------------------------------------- rates */

/*
 * struct rates - of a client, or of all, a second
 * @known: there is a time before this one
 * @busy: share of each engine of @file, 1 if it had it all the time
 */
struct rates {
	bool known;
	double busy[LIVE_ENGINES];
	double all_busy;
	double jobs;
	double moved;
};

static double rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static const struct live_client *same_client(const struct top_sample *sample,
					     const struct live_client *client)
{
	for (uint32_t i = 0; i < sample->clients.count; i++) {
		const struct live_client *other = &sample->clients.clients[i];

		if (other->is_seen && other->file.client == client->file.client)
			return other;
	}
	return NULL;
}

/* A client that was not there before began with nothing. */
static struct rates rates_of(const struct live_client *client, const struct top_sample *now,
			     const struct top_sample *before)
{
	struct rates rates = { .known = before && client->is_seen };
	const struct live_client *earlier = before ? same_client(before, client) : NULL;
	struct live_file none = { 0 }, past = earlier ? earlier->file : none;
	double seconds = before ? (double)(now->time_ns - before->time_ns) / 1e9 : 0;

	for (uint32_t i = 0; i < client->file.engine_count && rates.known; i++) {
		const struct live_engine *engine = &client->file.engines[i];
		const struct live_engine *was = live_engine(&past, engine->name);

		rates.busy[i] = rate(engine->ns, was ? was->ns : 0, seconds) / 1e9;
		rates.all_busy += rates.busy[i];
		rates.jobs += rate(engine->jobs, was ? was->jobs : 0, seconds);
	}
	rates.moved = rate(client->file.moved, past.moved, seconds);
	return rates;
}

/* Share of an engine's time that all clients together had. */
static double busy_of(const char *name, const struct top_sample *now,
		      const struct top_sample *before)
{
	double busy = 0;

	for (uint32_t c = 0; c < now->clients.count; c++) {
		const struct live_client *client = &now->clients.clients[c];
		struct rates rates = rates_of(client, now, before);

		for (uint32_t i = 0; i < client->file.engine_count; i++)
			if (!strcmp(client->file.engines[i].name, name))
				busy += rates.busy[i];
	}
	return busy;
}

/* Engines of one name, as slots of engines in a process are, count together: the first stands. */
static uint32_t engines_named(const struct top_sample *sample, uint32_t first)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sample->engine_count; i++) {
		if (strcmp(sample->engines[i].name, sample->engines[first].name) != 0)
			continue;
		if (i < first)
			return 0;
		count++;
	}
	return count;
}

/* ----------------------------------------------------------------------- text */

static char *user_text(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	char number[16];

	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	return plain_text(user && strlen(user->pw_name) <= 8 ? user->pw_name : number, false);
}

static void print_bank(FILE *out, const struct drm_npumem_bank *bank)
{
	uint64_t used = bank->size - bank->free;
	unsigned int full = bank->size ? (unsigned int)((double)used / (double)bank->size * BAR) :
					 0;
	char bar[BAR + 1];

	/* What is not nothing is seen. */
	full = used && !full ? 1 : full;
	memset(bar, '#', full);
	memset(bar + full, '.', BAR - full);
	bar[BAR] = '\0';
	fprintf(out, "bank %" PRIu32 " [%s] %s of %s, largest free %s\n", bank->index, bar,
		short_size(used).s, short_size(bank->size).s, short_size(bank->largest_free).s);
}

/* Whether there may be clients of which it is not seen what they do. */
static bool is_partial(const struct top_sample *now)
{
	bool partial = now->clients.hidden;

	for (uint32_t i = 0; i < now->clients.count; i++)
		partial |= !now->clients.clients[i].is_seen;
	return partial;
}

static void print_engines(FILE *out, const struct top_sample *now, const struct top_sample *before)
{
	fputs("engines", out);
	for (uint32_t i = 0; i < now->engine_count; i++) {
		uint32_t count = engines_named(now, i);
		char *name;

		if (!count)
			continue;
		name = plain_text(now->engines[i].name, false);
		if (before)
			fprintf(out, "  %s %s%.0f %%", name, is_partial(now) ? ">=" : "",
				100 * busy_of(now->engines[i].name, now, before));
		else
			fprintf(out, "  %s -", name);
		if (count > 1)
			fprintf(out, " of %" PRIu32, 100 * count);
		free(name);
	}
	fprintf(out, "  npumemd %s\n", now->daemon ? "registered" : "absent");
}

static void print_client(FILE *out, const struct live_client *client, const struct top_sample *now,
			 const struct top_sample *before)
{
	struct rates rates = rates_of(client, now, before);
	char *user = user_text(client->uid), *command = plain_text(client->command.s, false);

	if (client->pid)
		fprintf(out, "%7d", (int)client->pid);
	else
		fprintf(out, "%7s", "-");
	fprintf(out, " %-8s %10s", user, short_size(client->file.carveout).s);
	if (client->is_seen)
		fprintf(out, " %9s %9s", short_size(client->file.system).s,
			short_size(client->file.kernel).s);
	else
		fprintf(out, " %9s %9s", "-", short_size(client->file.kernel).s);
	if (rates.known)
		fprintf(out, " %4.0f %6.0f %9s", 100 * rates.all_busy, rates.jobs,
			short_size((uint64_t)rates.moved).s);
	else
		fprintf(out, " %4s %6s %9s", "-", "-", "-");
	fprintf(out, " %s%s\n", command, client->pid ? "" : " (closed)");
	free(user);
	free(command);
}

/* What is taken of the carveout by nobody of those listed. */
static uint64_t held_by_others(const struct top_sample *now)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < now->bank_count; i++)
		bytes += now->banks[i].size - now->banks[i].free;
	for (uint32_t i = 0; i < now->clients.count; i++) {
		uint64_t mine = now->clients.clients[i].file.carveout;

		bytes -= mine < bytes ? mine : bytes;
	}
	return bytes;
}

static void print_all(FILE *out, const struct top_sample *now, const struct top_sample *before,
		      unsigned int lines)
{
	unsigned int used = now->bank_count + 3, hidden = now->clients.hidden;
	uint64_t others = hidden ? held_by_others(now) : 0;
	uint32_t count = now->clients.count, shown;

	fprintf(out, "%s\n", now->path);
	for (uint32_t i = 0; i < now->bank_count; i++)
		print_bank(out, &now->banks[i]);
	print_engines(out, now, before);
	fputs("    PID USER       CARVEOUT    SYSTEM    KERNEL BUSY JOBS/S   MOVED/S COMMAND\n",
	      out);
	used += others != 0;
	shown = lines > used ? lines - used : 0;
	if (count > shown)
		shown -= shown ? 1 : 0;
	else
		shown = count;
	for (uint32_t i = 0; i < shown; i++)
		print_client(out, &now->clients.clients[i], now, before);
	if (shown < count)
		fprintf(out, "%7s %" PRIu32 " more clients\n", "...", count - shown);
	if (others)
		fprintf(out, "%7s others, who are not for this user to see, hold %s\n", "",
			short_size(others).s);
}

/* A terminal that is too low for all gets the beginning. */
static void keep_lines(char *text, unsigned int lines)
{
	while (lines-- && (text = strchr(text, '\n')))
		text++;
	if (text)
		*text = '\0';
}

void top_print(FILE *out, const struct top_sample *now, const struct top_sample *before,
	       unsigned int width, unsigned int lines)
{
	char *text = NULL;
	size_t size;
	FILE *all = open_memstream(&text, &size);

	if (!all)
		return;
	print_all(all, now, before, lines);
	if (!fclose(all)) {
		keep_lines(text, lines);
		if (width)
			print_cut(out, text, width);
		else
			fputs(text, out);
	}
	free(text);
}

/* ----------------------------------------------------------------------- JSON */

static json_t *rate_json(bool known, double value)
{
	return known ? json_real(value) : json_null();
}

static json_t *client_json(const struct live_client *client, const struct top_sample *now,
			   const struct top_sample *before)
{
	struct rates rates = rates_of(client, now, before);
	char *command = plain_text(client->command.s, false);
	json_t *engines = json_array(), *object;

	for (uint32_t i = 0; i < client->file.engine_count; i++) {
		const struct live_engine *engine = &client->file.engines[i];

		json_array_append_new(engines, json_pack("{ss sI sI so}", "name", engine->name,
							 "ns", (json_int_t)engine->ns, "jobs",
							 (json_int_t)engine->jobs, "busy",
							 rate_json(rates.known, rates.busy[i])));
	}
	object = json_pack("{sI si sI ss sb sI sI sI sI so so so}", "client",
			   (json_int_t)client->file.client, "pid", (int)client->pid, "uid",
			   (json_int_t)client->uid, "command", command, "seen",
			   (int)client->is_seen, "carveout", (json_int_t)client->file.carveout,
			   "system", (json_int_t)client->file.system, "kernel",
			   (json_int_t)client->file.kernel, "moved", (json_int_t)client->file.moved,
			   "jobs_per_second", rate_json(rates.known, rates.jobs),
			   "moved_per_second", rate_json(rates.known, rates.moved), "engines",
			   engines);
	free(command);
	return object;
}

json_t *top_json(const struct top_sample *now, const struct top_sample *before)
{
	json_t *banks = json_array(), *engines = json_array(), *clients = json_array();

	for (uint32_t i = 0; i < now->bank_count; i++)
		json_array_append_new(
			banks, json_pack("{sI sI sI sI}", "index", (json_int_t)now->banks[i].index,
					 "size", (json_int_t)now->banks[i].size, "free",
					 (json_int_t)now->banks[i].free, "largest_free",
					 (json_int_t)now->banks[i].largest_free));
	for (uint32_t i = 0; i < now->engine_count; i++) {
		uint32_t count = engines_named(now, i);

		if (count)
			json_array_append_new(
				engines, json_pack("{ss sI so}", "name", now->engines[i].name,
						   "count", (json_int_t)count, "busy",
						   rate_json(before, busy_of(now->engines[i].name,
									     now, before))));
	}
	for (uint32_t i = 0; i < now->clients.count; i++)
		json_array_append_new(clients, client_json(&now->clients.clients[i], now, before));
	return json_pack("{ss sb so so so sI so}", "path", now->path, "daemon", (int)now->daemon,
			 "banks", banks, "engines", engines, "clients", clients, "hidden_processes",
			 (json_int_t)now->clients.hidden, "seconds",
			 before ? json_real((double)(now->time_ns - before->time_ns) / 1e9) :
				  json_null());
}
