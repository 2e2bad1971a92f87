// SPDX-License-Identifier: MIT
#include "keeping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../grow/grow.h"
#include "cli/cli.h"

/**
 * struct keeping_plan - a plan that was put
 * @key: its key
 * @what: what it is, for messages
 * @fits: it is no larger than the limit
 */
struct keeping_plan {
	struct plancache_key key;
	char *what;
	bool fits;
};

/* Puts an entry, or, of one that stays where nothing can be written, says that it is used. */
static int put_or_use(struct plancache *cache, const struct plancache_key *key,
		      const struct plancache_entry *entry, bool stays)
{
	struct plancache_entry there = { 0 };
	int err = plancache_put(cache, key, entry);

	if (!stays || (err != -ENOSPC && err != -EDQUOT) || plancache_get(cache, key, &there))
		return err;
	free(there.data);
	return 0;
}

int keeping_put(struct keeping *keeping, const struct plancache_key *key,
		const struct plancache_entry *entry, bool stays, const char *what, json_t *object,
		bool *fits)
{
	int err = put_or_use(keeping->to, key, entry, stays);
	struct keeping_plan *plan;

	*fits = err != -EFBIG;
	if (err && (*fits || keeping->limit == PLANCACHE_NO_LIMIT)) {
		json_decref(object);
		return failure(keeping->folder, "%s: %s", what, strerror(-err));
	}
	keeping->plans = grow_by_one(keeping->plans, keeping->count, sizeof(*plan));
	if (!keeping->plans)
		abort();
	plan = &keeping->plans[keeping->count++];
	*plan = (struct keeping_plan){ .key = *key, .what = strdup(what), .fits = *fits };
	if (!plan->what)
		abort();
	if (keeping->array)
		json_array_append_new(keeping->array, object);
	return EXIT_OK;
}

static int by_key(const void *a, const void *b)
{
	const struct plancache_file *x = a, *y = b;

	return memcmp(x->key.bytes, y->key.bytes, sizeof(x->key.bytes));
}

static int say_gone(const struct keeping *keeping)
{
	struct plancache_file *there;
	int err, status = EXIT_OK;
	size_t count;

	err = plancache_list(keeping->to, &there, &count);
	if (err)
		return failure(keeping->folder, "%s", strerror(-err));
	if (count)
		qsort(there, count, sizeof(*there), by_key);
	for (size_t i = 0; i < keeping->count; i++) {
		const struct keeping_plan *plan = &keeping->plans[i];
		const struct plancache_file file = { .key = plan->key };

		if (plan->fits && count && bsearch(&file, there, count, sizeof(file), by_key))
			continue;
		if (plan->fits && plancache_was_full(keeping->to))
			status = failure(keeping->folder, "%s: no room for it on the disk",
					 plan->what);
		else
			status = failure(keeping->folder, "%s: no room for it in %s", plan->what,
					 size_text(keeping->limit).s);
		if (keeping->array)
			json_object_set_new(json_array_get(keeping->array, i), "kept",
					    json_string("none"));
	}
	free(there);
	return status;
}

int keeping_end(struct keeping *keeping)
{
	/* Without a limit only others can have removed some. */
	int status = keeping->limit == PLANCACHE_NO_LIMIT ? EXIT_OK : say_gone(keeping);

	for (size_t i = 0; i < keeping->count; i++)
		free(keeping->plans[i].what);
	free(keeping->plans);
	keeping->plans = NULL;
	keeping->count = 0;
	return status;
}
