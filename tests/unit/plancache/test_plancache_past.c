// SPDX-License-Identifier: MIT
/*
 * The cache of plans: the history of an entry, which comes back, is bounded, and costs no plan,
 * whatever becomes of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"

/* The plan is there, and so many of its past. */
static void has_past(const struct plancache_key *key, uint32_t count)
{
	struct plancache_entry entry;

	assert_int_equal(plancache_get(folder_cache, key, &entry), 0);
	assert_memory_equal(entry.data, "a plan", 7);
	assert_int_equal(entry.past_count, count);
	free(entry.data);
}

CACHE_TEST(past_comes_back)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[8] = "a plan";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), 3), got;

	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	folder_reopen(PLENTY);
	assert_int_equal(plancache_get(folder_cache, &key, &got), 0);
	assert_memory_equal(got.data, data, sizeof(data));
	free(got.data);
	assert_int_equal(got.past_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(got.past[i].cost, 1000 - i);
		assert_int_equal(got.past[i].took_us, 500 + i);
		assert_int_equal(got.past[i].maker, i ? PLANCACHE_BY_SEARCH : PLANCACHE_BY_ANSWER);
		assert_true(got.past[i].made_ns > 1500000000ll * 1000000000);
	}
	/* One without takes its place. */
	entry = folder_entry(data, sizeof(data));
	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	has_past(&key, 0);
}

TEST(the_last_ones_are_kept)
{
	char data[8] = "a plan";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), PLANCACHE_HISTORY + 3);

	assert_int_equal(entry.past_count, PLANCACHE_HISTORY);
	for (uint32_t i = 0; i < PLANCACHE_HISTORY; i++)
		assert_int_equal(entry.past[i].cost, 1000 - 3 - i);
}

/* The same with history behind it: the plan is as good without. */
CACHE_TEST(cut_in_its_past)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[8] = "a plan";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), 3);
	const size_t plan = sizeof(struct plancache_header) + sizeof(data);
	char path[256], whole[2048], part[2048];
	size_t size;

	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	folder_path(&key, path);
	size = folder_read(path, whole, sizeof(whole));
	assert_int_equal(size, plan + sizeof(struct plancache_history));
	for (size_t n = 0; n < plan; n++) {
		folder_write(path, whole, n);
		folder_has_not(&key, -EBADMSG);
	}
	for (size_t n = plan; n < size; n++) {
		folder_write(path, whole, n);
		has_past(&key, 0);
		memset(part, 0, sizeof(part));
		memcpy(part, whole, n);
		folder_write(path, part, size);
		/* What is lost may have been zeros. */
		has_past(&key, memcmp(part, whole, size) ? 0 : 3);
	}
	folder_write(path, whole, size);
	has_past(&key, 3);
	folder_write(path, whole, size + 1);
	folder_has_not(&key, -EBADMSG);
}

CACHE_TEST(every_bit_of_its_past)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[8] = "a plan";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), PLANCACHE_HISTORY);
	const size_t plan = sizeof(struct plancache_header) + sizeof(data);
	char path[256], bytes[2048];
	size_t size;

	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	folder_path(&key, path);
	size = folder_read(path, bytes, sizeof(bytes));
	for (size_t i = 0; i < 8 * size; i++) {
		char old = bytes[i / 8];

		bytes[i / 8] ^= (char)(1 << i % 8);
		folder_write(path, bytes, size);
		if (i / 8 < plan)
			folder_has_not(&key, -EBADMSG);
		else
			has_past(&key, 0);
		bytes[i / 8] = old;
	}
}

/* That of another plan is none of this one, whole as it is. */
CACHE_TEST(past_of_another_plan)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[8] = "a plan", path[256], bytes[2048], others[2048];
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), 3);
	const size_t plan = sizeof(struct plancache_header) + sizeof(data);
	size_t size;

	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	folder_path(&key, path);
	size = folder_read(path, others, sizeof(others));
	entry.cost++;
	assert_int_equal(plancache_put(folder_cache, &key, &entry), 0);
	assert_int_equal(folder_read(path, bytes, sizeof(bytes)), size);
	memcpy(bytes + plan, others + plan, size - plan);
	folder_write(path, bytes, size);
	has_past(&key, 0);
}

/* A file of the version before, which had no history. */
CACHE_TEST(version_before)
{
	struct plancache_key key = folder_key(&folder_request);
	char data[8] = "a plan", path[256], bytes[2048];
	struct plancache_entry entry = folder_entry(data, sizeof(data));
	struct plancache_header header;
	struct plancache_history history;

	plancache_encode(&key, &entry, &header);
	header.magic = PLANCACHE_MAGIC_2;
	plancache_seal(&header, data);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), data, sizeof(data));
	folder_path(&key, path);
	folder_write(path, bytes, sizeof(header) + sizeof(data));
	has_past(&key, 0);
	/* There is nothing behind its data. */
	entry = folder_entry_past(data, sizeof(data), 1);
	assert_int_equal(plancache_encode_history(&header, &entry, &history), sizeof(history));
	memcpy(bytes + sizeof(header) + sizeof(data), &history, sizeof(history));
	folder_write(path, bytes, sizeof(header) + sizeof(data) + sizeof(history));
	folder_has_not(&key, -EBADMSG);
}

/* The same of history: then there is none, and the plan is as it was. */
static void forget(uint32_t count, uint32_t maker, uint32_t left)
{
	struct plancache_key key = folder_key(&folder_request);
	struct plancache_header header;
	struct plancache_history history;
	char data[8] = "a plan";
	struct plancache_entry entry = folder_entry_past(data, sizeof(data), 2);
	char file[sizeof(header) + sizeof(data) + sizeof(history)];

	plancache_encode(&key, &entry, &header);
	plancache_encode_history(&header, &entry, &history);
	history.count = count;
	history.past[1].maker = maker;
	plancache_seal_history(&header, &history);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), data, sizeof(data));
	memcpy(file + sizeof(header) + sizeof(data), &history, sizeof(history));
	assert_int_equal(plancache_decode(&key, file, sizeof(file), &entry), 0);
	assert_int_equal(entry.past_count, left);
}

TEST(nonsense_of_its_past)
{
	forget(2, PLANCACHE_BY_SEARCH, 2);
	forget(8, PLANCACHE_BY_SEARCH, 8);
	forget(9, PLANCACHE_BY_SEARCH, 0);
	forget(UINT32_MAX, PLANCACHE_BY_SEARCH, 0);
	forget(2, PLANCACHE_MAKERS, 0);
}
