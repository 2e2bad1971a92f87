/* SPDX-License-Identifier: MIT */
/* Who is who in a recording, over boots of the device, too. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "recording.h"

/* Among so many clients of a number, the latest ones, that of a look is looked for. */
#define LOOKED_BACK 64

/* --------------------------------------------------------------------- looks */

static int compare_looks(const void *left, const void *right)
{
	const struct history_look *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->uid != b->uid)
		return a->uid < b->uid ? -1 : 1;
	return strcmp(a->command, b->command);
}

static void free_look(void *pointer)
{
	struct history_look *look = pointer;

	free(look->command);
	free(look);
}

const struct history_look *history_look(struct history *history, struct history_look look)
{
	struct history_look **found = tfind(&look, &history->looks, compare_looks);
	struct history_look *own;

	if (found) {
		free(look.command);
		return *found;
	}
	own = malloc(sizeof(*own));
	if (own)
		*own = look;
	if (own && tsearch(own, &history->looks, compare_looks))
		return own;
	free(own);
	free(look.command);
	return NULL;
}

void history_free_looks(struct history *history)
{
	tdestroy(history->looks, free_look);
	history->looks = NULL;
}

/* ------------------------------------------------------------------- clients */

/* struct sight - a share, and the how manyth it is in the order of times */
struct sight {
	struct history_share *share;
	size_t order;
};

static int by_number(const void *left, const void *right)
{
	const struct sight *a = left, *b = right;
	uint64_t first = a->share->look->number, second = b->share->look->number;

	if (first != second)
		return first < second ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_same(const struct history_client *client, const struct history_look *look)
{
	return !client->pid || !look->pid || client->pid == look->pid ||
	       !strcmp(client->command, look->command);
}

static void see(struct history_client *client, const struct history_share *share)
{
	const struct history_look *look = share->look;

	if (look->pid || !client->command) {
		client->pid = look->pid;
		client->uid = look->uid;
		client->command = look->command;
	}
	if (share->bytes > client->peak)
		client->peak = share->bytes;
	if (share->jobs > client->jobs)
		client->jobs = share->jobs;
}

/*
 * The client that a look is of, the latest first: two boots that begin in 1970 are seen in turn.
 * NULL: it is a new one.
 */
static struct history_client *find_client(const struct history *history,
					  const struct history_look *look)
{
	for (size_t i = 1; i <= history->client_count && i <= LOOKED_BACK; i++) {
		struct history_client *client = &history->clients[history->client_count - i];

		if (client->number != look->number)
			break;
		if (is_same(client, look))
			return client;
	}
	return NULL;
}

static int tell_apart(struct history *history, struct sight *sights)
{
	for (size_t i = 0; i < history->share_count; i++) {
		struct history_share *share = sights[i].share;
		struct history_client *client = find_client(history, share->look), *clients;

		if (!client) {
			clients = grow_by_one(history->clients, history->client_count,
					      sizeof(*clients));
			if (!clients)
				return -ENOMEM;
			history->clients = clients;
			client = &clients[history->client_count++];
			*client = (struct history_client){ .number = share->look->number };
		}
		share->client = (size_t)(client - history->clients);
		see(client, share);
	}
	return 0;
}

int history_find_clients(struct history *history)
{
	struct sight *sights = calloc(history->share_count + 1, sizeof(*sights));
	size_t count = 0;
	int err;

	if (!sights)
		return -ENOMEM;
	for (size_t i = 0; i < history->sample_count; i++) {
		const struct history_sample *sample = &history->samples[i];

		for (uint32_t k = 0; k < sample->count; k++, count++)
			sights[count] =
				(struct sight){ &history->shares[sample->first + k], count };
	}
	qsort(sights, count, sizeof(*sights), by_number);
	err = tell_apart(history, sights);
	free(sights);
	return err;
}
