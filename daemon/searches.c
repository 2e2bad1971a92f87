// SPDX-License-Identifier: MIT
#include "searches.h"

#include <string.h>
#include <unistd.h>

bool searches_have(const struct searches *searches, const struct plancache_key *key)
{
	for (size_t i = 0; i < searches->count; i++)
		if (!memcmp(&searches->waiting[i].key, key, sizeof(*key)))
			return true;
	return false;
}

static uint64_t user_of(const struct search *search)
{
	return client_user(&search->accepted.client);
}

/*
 * struct places - what would be left of the searches if some gave their places
 * @given: per search: its place is another's
 * @count, @bytes: of those that are left
 */
struct places {
	const struct searches *searches;
	bool given[SEARCHES_MAX];
	size_t count;
	uint64_t bytes;
};

/* What is left of a user's: how many bytes, or how many there are. */
static uint64_t amount_of(const struct places *places, uint64_t user, bool in_bytes)
{
	uint64_t amount = 0;

	for (size_t i = 0; i < places->searches->count; i++) {
		const struct search *search = &places->searches->waiting[i];

		if (!places->given[i] && user_of(search) == user)
			amount += in_bytes ? search->bytes : 1;
	}
	return amount;
}

/*
 * The last that waits of the user who has most, and more than @newcomer's would then have; or as
 * many as wait: nobody has.
 */
static size_t one_too_many(const struct places *places, const struct search *newcomer,
			   bool in_bytes)
{
	const struct searches *searches = places->searches;
	uint64_t most =
		amount_of(places, user_of(newcomer), in_bytes) + (in_bytes ? newcomer->bytes : 1);
	size_t found = searches->count;

	for (size_t i = searches->count; i > (searches->running ? 1 : 0); i--) {
		uint64_t amount = 0;

		if (!places->given[i - 1])
			amount = amount_of(places, user_of(&searches->waiting[i - 1]), in_bytes);
		if (amount > most) {
			most = amount;
			found = i - 1;
		}
	}
	return found;
}

uint64_t searches_most(uint64_t memory)
{
	uint64_t part = memory / SEARCHES_MEMORY_PART;

	return part < SEARCHES_MAX_BYTES ? part : SEARCHES_MAX_BYTES;
}

bool searches_make_room(struct searches *searches, const struct search *search, uint64_t memory)
{
	const uint64_t most = searches_most(memory);
	struct places places = {
		.searches = searches,
		.count = searches->count,
		.bytes = searches->bytes,
	};

	if (search->bytes > most)
		return false;
	for (;;) {
		/* There may be more of them than could come now. */
		bool bytes_lack = places.bytes + search->bytes > most;
		size_t from;

		if (!bytes_lack && places.count < SEARCHES_MAX)
			break;
		/* One large search would keep out many users' small ones if only places counted. */
		from = one_too_many(&places, search, bytes_lack);
		if (from == searches->count)
			return false;
		places.given[from] = true;
		places.count--;
		places.bytes -= searches->waiting[from].bytes;
	}
	for (size_t i = searches->count; i > 0; i--)
		if (places.given[i - 1])
			searches_drop(searches, i - 1);
	return true;
}

void searches_add(struct searches *searches, const struct search *search)
{
	searches->waiting[searches->count++] = *search;
	searches->bytes += search->bytes;
}

void searches_drop(struct searches *searches, size_t i)
{
	searches->bytes -= searches->waiting[i].bytes;
	close(searches->waiting[i].accepted.fd);
	searches->count--;
	memmove(&searches->waiting[i], &searches->waiting[i + 1],
		(searches->count - i) * sizeof(searches->waiting[0]));
}

void searches_take_turn(struct searches *searches)
{
	struct search of_user[SEARCHES_MAX];
	size_t others = 1, count = 0;

	for (size_t i = 1; i < searches->count; i++) {
		if (user_of(&searches->waiting[i]) == user_of(&searches->waiting[0]))
			of_user[count++] = searches->waiting[i];
		else
			searches->waiting[others++] = searches->waiting[i];
	}
	memcpy(&searches->waiting[others], of_user, count * sizeof(of_user[0]));
}
