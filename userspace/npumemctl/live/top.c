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

/*
 * A client that was not there before began with nothing, if it is one of those that have come
 * since: their numbers are larger. Another was out of sight, and what it has had by then is not
 * of this time.
 */
static struct rates rates_of(const struct live_client *client, const struct top_sample *now,
			     const struct top_sample *before)
{
	const struct live_list *earlier = &before->clients;
	const struct live_client *was = live_find_number(earlier, client->file.client);
	struct rates rates = { .known = client->is_seen };
	struct live_file past = { 0 };
	double seconds = (double)(now->time_ns - before->time_ns) / 1e9;

	if (was)
		past = was->file;
	if (was ? !was->is_seen :
		  earlier->count &&
			    client->file.client < earlier->clients[earlier->count - 1].file.client)
		rates.known = false;
	if (!rates.known)
		return rates;
	for (uint32_t i = 0; i < client->file.engine_count; i++) {
		const struct live_engine *engine = &client->file.engines[i];
		const struct live_engine *then = live_engine(&past, engine->name);

		rates.busy[i] = rate(engine->ns, then ? then->ns : 0, seconds) / 1e9;
		rates.all_busy += rates.busy[i];
		rates.jobs += rate(engine->jobs, then ? then->jobs : 0, seconds);
	}
	rates.moved = rate(client->file.moved, past.moved, seconds);
	return rates;
}

/* struct row - a client as it is shown */
struct row {
	const struct live_client *client;
	struct rates rates;
};

/* The one that holds most of the carveout first. */
static int by_carveout(const void *a, const void *b)
{
	const struct live_file *first = &((const struct row *)a)->client->file;
	const struct live_file *second = &((const struct row *)b)->client->file;

	if (first->carveout != second->carveout)
		return first->carveout < second->carveout ? 1 : -1;
	return first->client < second->client ? -1 : first->client > second->client;
}

/* A row of each client; free() them. */
static struct row *rows_of(const struct top_sample *now, const struct top_sample *before)
{
	uint32_t count = now->clients.count;
	struct row *rows = calloc(count + 1u, sizeof(*rows));

	if (!rows)
		abort();
	for (uint32_t i = 0; i < count; i++) {
		rows[i].client = &now->clients.clients[i];
		if (before)
			rows[i].rates = rates_of(rows[i].client, now, before);
	}
	qsort(rows, count, sizeof(*rows), by_carveout);
	return rows;
}

/* Share of an engine's time that all clients together had. */
static double busy_of(const char *name, const struct row *rows, uint32_t count)
{
	double busy = 0;

	for (const struct row *row = rows; row < rows + count; row++)
		for (uint32_t i = 0; i < row->client->file.engine_count; i++)
			if (!strcmp(row->client->file.engines[i].name, name))
				busy += row->rates.busy[i];
	return busy;
}

/* Whether there may be clients of which it is not seen what they do. */
static bool is_partial(const struct top_sample *now, const struct row *rows, bool rates)
{
	bool partial = now->clients.partial || now->clients.hidden;

	for (const struct row *row = rows; row < rows + now->clients.count; row++)
		partial |= !row->client->is_seen || (rates && !row->rates.known);
	return partial;
}

/*
 * The name that an open file says an engine's use by. A process that is attached to a slot has
 * given the engine one of its own, which may be any.
 */
static const char *engine_name(const struct drm_npumem_engine *engine)
{
	return engine->flags & NPUMEM_ENGINE_PROCESS ? "process" : engine->name;
}

/* Engines of one name, as slots of engines in a process are, count together: the first stands. */
static uint32_t engines_named(const struct top_sample *sample, uint32_t first)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sample->engine_count; i++) {
		if (strcmp(engine_name(&sample->engines[i]),
			   engine_name(&sample->engines[first])) != 0)
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

	snprintf(number, sizeof(number), uid == (uid_t)-1 ? "-" : "%u", (unsigned int)uid);
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

static void print_engines(FILE *out, const struct top_sample *now, const struct row *rows,
			  bool rates)
{
	const char *least = is_partial(now, rows, rates) ? ">=" : "";

	fputs("engines", out);
	for (uint32_t i = 0; i < now->engine_count; i++) {
		uint32_t count = engines_named(now, i);
		const char *name = engine_name(&now->engines[i]);

		if (!count)
			continue;
		if (rates)
			fprintf(out, "  %s %s%.0f %%", name, least,
				100 * busy_of(name, rows, now->clients.count));
		else
			fprintf(out, "  %s -", name);
		if (count > 1)
			fprintf(out, " of %" PRIu32, 100 * count);
	}
	fprintf(out, "  npumemd %s\n", now->daemon ? "registered" : "absent");
}

static void print_row(FILE *out, const struct row *row)
{
	const struct live_client *client = row->client;
	const struct rates *rates = &row->rates;
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
	if (rates->known)
		fprintf(out, " %4.0f %6.0f %9s", 100 * rates->all_busy, rates->jobs,
			short_size((uint64_t)rates->moved).s);
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
	unsigned int used = now->bank_count + 3;
	bool hidden = now->clients.hidden || now->clients.partial;
	uint64_t others = hidden ? held_by_others(now) : 0;
	struct row *rows = rows_of(now, before);
	uint32_t count = now->clients.count, shown;
	char *path = plain_text(now->path, false);

	fprintf(out, "%s\n", path);
	free(path);
	for (uint32_t i = 0; i < now->bank_count; i++)
		print_bank(out, &now->banks[i]);
	print_engines(out, now, rows, before);
	fputs("    PID USER       CARVEOUT    SYSTEM    KERNEL BUSY JOBS/S   MOVED/S COMMAND\n",
	      out);
	used += others != 0;
	shown = lines > used ? lines - used : 0;
	if (count > shown)
		shown -= shown ? 1 : 0;
	else
		shown = count;
	for (uint32_t i = 0; i < shown; i++)
		print_row(out, &rows[i]);
	free(rows);
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

static json_t *row_json(const struct row *row)
{
	const struct live_client *client = row->client;
	const struct rates *rates = &row->rates;
	char *command = plain_text(client->command.s, false);
	json_t *engines = json_array(), *object;

	for (uint32_t i = 0; i < client->file.engine_count; i++) {
		const struct live_engine *engine = &client->file.engines[i];

		json_array_append_new(engines, json_pack("{ss sI sI so}", "name", engine->name,
							 "ns", (json_int_t)engine->ns, "jobs",
							 (json_int_t)engine->jobs, "busy",
							 rate_json(rates->known, rates->busy[i])));
	}
	object = json_pack("{sI si sI ss sb sI sI sI sI so so so}", "client",
			   (json_int_t)client->file.client, "pid", (int)client->pid, "uid",
			   (json_int_t)client->uid, "command", command, "seen",
			   (int)client->is_seen, "carveout", (json_int_t)client->file.carveout,
			   "system", (json_int_t)client->file.system, "kernel",
			   (json_int_t)client->file.kernel, "moved", (json_int_t)client->file.moved,
			   "jobs_per_second", rate_json(rates->known, rates->jobs),
			   "moved_per_second", rate_json(rates->known, rates->moved), "engines",
			   engines);
	free(command);
	return object;
}

json_t *top_json(const struct top_sample *now, const struct top_sample *before)
{
	struct row *rows = rows_of(now, before);
	uint32_t count = now->clients.count;
	bool complete = !is_partial(now, rows, before);
	char *path = plain_text(now->path, false);
	json_t *banks = json_array(), *engines = json_array(), *clients = json_array();
	json_t *object;

	for (uint32_t i = 0; i < now->bank_count; i++)
		json_array_append_new(
			banks, json_pack("{sI sI sI sI}", "index", (json_int_t)now->banks[i].index,
					 "size", (json_int_t)now->banks[i].size, "free",
					 (json_int_t)now->banks[i].free, "largest_free",
					 (json_int_t)now->banks[i].largest_free));
	for (uint32_t i = 0; i < now->engine_count; i++) {
		const char *name = engine_name(&now->engines[i]);
		uint32_t named = engines_named(now, i);

		if (!named)
			continue;
		json_array_append_new(
			engines, json_pack("{ss sI so}", "name", name, "count", (json_int_t)named,
					   "busy", rate_json(before, busy_of(name, rows, count))));
	}
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(clients, row_json(&rows[i]));
	object = json_pack("{sf ss sI sb sb so so so sI so}", "time", now->clock, "path", path,
			   "device", (json_int_t)now->device, "complete", (int)complete, "daemon",
			   (int)now->daemon, "banks", banks, "engines", engines, "clients", clients,
			   "hidden_processes", (json_int_t)now->clients.hidden, "seconds",
			   before ? json_real((double)(now->time_ns - before->time_ns) / 1e9) :
				    json_null());
	free(path);
	free(rows);
	return object;
}
