// SPDX-License-Identifier: MIT
/* npumemd: which requests have a place among those whose plans are to be improved. */
#include "searches.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory_limit.h"
#include "unit.h"

#define MIB (1ull << 20)

static struct search search_of(uint32_t uid, uint64_t id, uint64_t bytes)
{
	return (struct search){
		.accepted = { .id = id, .fd = -1, .client = { .known = true, .uid = uid } },
		.bytes = bytes,
	};
}

/* Where a user asks for a place, whether there is one. */
static bool ask(struct searches *searches, uint32_t uid, uint64_t id, uint64_t bytes)
{
	struct search search = search_of(uid, id, bytes);

	if (!searches_make_room(searches, &search, UINT64_MAX))
		return false;
	searches_add(searches, &search);
	return true;
}

static void assert_waiting(const struct searches *searches, const uint64_t *ids, size_t count)
{
	uint64_t bytes = 0;

	assert_int_equal(searches->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(searches->waiting[i].accepted.id, ids[i]);
		bytes += searches->waiting[i].bytes;
	}
	assert_int_equal(searches->bytes, bytes);
}

/* Who is refused, in spite of all that others could give, has taken nothing from them. */
TEST(nobody_gives_in_vain)
{
	static const uint64_t all[] = { 1, 2, 3, 11, 12, 13 }, left[] = { 1, 2, 3, 11, 12, 21 };
	struct searches searches = { 0 };

	for (uint64_t i = 1; i <= 3; i++)
		assert_true(ask(&searches, 7, i, 10 * MIB));
	for (uint64_t i = 11; i <= 13; i++)
		assert_true(ask(&searches, 8, i, 10 * MIB));
	/* Users give until they have as much as the one who asks would have: 40 MiB stay. */
	assert_false(ask(&searches, 9, 21, 24 * MIB + 1));
	assert_waiting(&searches, all, 6);
	assert_false(ask(&searches, 9, 21, 44 * MIB));
	assert_false(ask(&searches, 9, 21, SEARCHES_MAX_BYTES + 1));
	assert_false(ask(&searches, 9, 21, UINT64_MAX));
	assert_waiting(&searches, all, 6);
	/* Those who have most give first, and the one whose search came last. */
	assert_true(ask(&searches, 9, 21, 14 * MIB));
	assert_waiting(&searches, left, 6);
}

/* All that others need not have may be needed, and is given then. */
TEST(all_that_is_needed_is_given)
{
	static const uint64_t left[] = { 1, 2, 11, 12, 21 };
	struct searches searches = { 0 };

	for (uint64_t i = 1; i <= 3; i++)
		ask(&searches, 7, i, 10 * MIB);
	for (uint64_t i = 11; i <= 13; i++)
		ask(&searches, 8, i, 10 * MIB);
	assert_true(ask(&searches, 9, 21, 24 * MIB));
	assert_waiting(&searches, left, 5);
}

/* A large search keeps out no other user's small ones, though each of them has as many. */
TEST(a_large_one_gives_way)
{
	static const uint64_t large[] = { 1 }, small[] = { 11 }, both[] = { 11, 21 };
	struct searches searches = { 0 };

	assert_true(ask(&searches, 7, 1, 63 * MIB));
	/* Nor does its user give it for another one of his own. */
	assert_false(ask(&searches, 7, 2, 2 * MIB));
	assert_waiting(&searches, large, 1);
	assert_true(ask(&searches, 8, 11, 2 * MIB));
	assert_waiting(&searches, small, 1);
	/* It does not push out the small one in turn. */
	assert_false(ask(&searches, 7, 1, 63 * MIB));
	assert_waiting(&searches, small, 1);
	assert_true(ask(&searches, 9, 21, 62 * MIB));
	assert_waiting(&searches, both, 2);
}

/* Bytes lack: who has many small ones keeps them, and who has the bytes gives. */
TEST(who_has_the_bytes_gives)
{
	static const uint64_t left[] = { 1, 2, 3, 4, 11, 21 };
	struct searches searches = { 0 };

	for (uint64_t i = 1; i <= 4; i++)
		ask(&searches, 7, i, MIB);
	ask(&searches, 8, 11, 20 * MIB);
	ask(&searches, 8, 12, 40 * MIB);
	assert_true(ask(&searches, 9, 21, 3 * MIB));
	assert_waiting(&searches, left, 6);
}

/* Places lack: who has most of these gives, though another one has the bytes. */
TEST(who_has_the_places_gives)
{
	struct searches searches = { 0 };

	ask(&searches, 8, 100, 40 * MIB);
	for (uint64_t i = 1; i < SEARCHES_MAX; i++)
		assert_true(ask(&searches, 7, i, 1));
	assert_true(ask(&searches, 9, 200, 1));
	assert_int_equal(searches.count, SEARCHES_MAX);
	assert_int_equal(searches.waiting[0].accepted.id, 100);
	assert_int_equal(searches.waiting[SEARCHES_MAX - 2].accepted.id, SEARCHES_MAX - 2);
	assert_int_equal(searches.waiting[SEARCHES_MAX - 1].accepted.id, 200);
}

/* Both lack: the bytes are given first, and with them a place. */
TEST(bytes_and_places_lack)
{
	struct searches searches = { 0 };

	for (uint64_t i = 1; i < SEARCHES_MAX; i++)
		ask(&searches, 7, i, 1);
	ask(&searches, 8, 100, 63 * MIB);
	assert_int_equal(searches.count, SEARCHES_MAX);
	assert_true(ask(&searches, 9, 200, 2 * MIB));
	assert_int_equal(searches.count, SEARCHES_MAX);
	assert_int_equal(searches.waiting[SEARCHES_MAX - 2].accepted.id, SEARCHES_MAX - 1);
	assert_int_equal(searches.waiting[SEARCHES_MAX - 1].accepted.id, 200);
}

/* The one that runs is not given, even by a user who has most. */
TEST(what_runs_stays)
{
	static const uint64_t before[] = { 1, 2 }, after[] = { 1, 11 };
	struct searches searches = { 0 };

	ask(&searches, 7, 1, 40 * MIB);
	ask(&searches, 7, 2, 10 * MIB);
	searches.running = true;
	assert_false(ask(&searches, 8, 11, 30 * MIB));
	assert_waiting(&searches, before, 2);
	assert_true(ask(&searches, 8, 11, 20 * MIB));
	assert_waiting(&searches, after, 2);
	/* It has most of the bytes, and nobody else has more than this one. */
	assert_false(ask(&searches, 9, 21, 30 * MIB));
	assert_waiting(&searches, after, 2);
}

/* Requests whose user the driver does not tell are one user's. */
TEST(unknown_users_are_one)
{
	struct searches searches = { 0 };
	struct search search = search_of(0, 100, 1);

	search.accepted.client.known = false;
	for (uint64_t i = 0; i < SEARCHES_MAX; i++)
		assert_true(ask(&searches, 0, i, 1));
	assert_true(searches_make_room(&searches, &search, UINT64_MAX));
	searches_add(&searches, &search);
	assert_int_equal(searches.count, SEARCHES_MAX);
	assert_int_equal(searches.waiting[SEARCHES_MAX - 1].accepted.id, 100);
	assert_int_equal(searches.waiting[SEARCHES_MAX - 2].accepted.id, SEARCHES_MAX - 2);
	/* User 0 asks for what he has most of. */
	assert_false(ask(&searches, 0, 200, 1));
}

/* Of little memory what waits takes a part. It may have become less since the others came. */
TEST(part_of_the_memory)
{
	struct searches searches = { 0 };
	struct search search = search_of(7, 1, 10 * MIB);

	assert_false(searches_make_room(&searches, &search, 80 * MIB - 8));
	assert_true(searches_make_room(&searches, &search, 80 * MIB));
	searches_add(&searches, &search);
	search = search_of(8, 2, 8 * MIB);
	assert_false(searches_make_room(&searches, &search, 64 * MIB - 8));
	/* Who has more gives it. */
	assert_true(searches_make_room(&searches, &search, 64 * MIB));
	assert_int_equal(searches.count, 0);
	assert_false(searches_make_room(&searches, &search, 0));
}

/* ------------------------------------------------------------------------ memory.max */

#define GROUPS "groups"

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

TEST(limit_of_memory)
{
	char folder[] = "/tmp/npumemd-limits-XXXXXX", command[64];

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir(GROUPS, 0700), 0);
	assert_int_equal(mkdir(GROUPS "/a.slice", 0700), 0);
	assert_int_equal(mkdir(GROUPS "/a.slice/b.service", 0700), 0);
	/* Nobody says; and version 1 alone. */
	assert_int_equal(memory_limit("process", GROUPS), UINT64_MAX);
	write_file("process", "3:memory:/a.slice/b.service\n");
	assert_int_equal(memory_limit("process", GROUPS), UINT64_MAX);
	write_file("process", "3:memory:/elsewhere\n0::/a.slice/b.service\n");
	assert_int_equal(memory_limit("process", GROUPS), UINT64_MAX);
	write_file(GROUPS "/a.slice/b.service/memory.max", "max\n");
	assert_int_equal(memory_limit("process", GROUPS), UINT64_MAX);
	write_file(GROUPS "/a.slice/b.service/memory.max", "12582912\n");
	assert_int_equal(memory_limit("process", GROUPS), 12582912);
	write_file(GROUPS "/a.slice/memory.max", "12582913\n");
	assert_int_equal(memory_limit("process", GROUPS), 12582912);
	write_file(GROUPS "/a.slice/memory.max", "4096\n");
	assert_int_equal(memory_limit("process", GROUPS), 4096);
	/* As in a container. */
	write_file(GROUPS "/memory.max", "4095\n");
	assert_int_equal(memory_limit("process", GROUPS), 4095);
	write_file("process", "0::/\n");
	assert_int_equal(memory_limit("process", GROUPS), 4095);
	assert_int_equal(unlink(GROUPS "/memory.max"), 0);
	assert_int_equal(memory_limit("process", GROUPS), UINT64_MAX);
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* What gives its place is closed, and nothing else is. */
TEST(descriptors_are_closed)
{
	struct searches searches = { 0 };
	int fds[3];

	for (size_t i = 0; i < 3; i++) {
		struct search search = search_of(7, i, 20 * MIB);

		search.accepted.fd = fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
		assert_true(searches_make_room(&searches, &search, UINT64_MAX));
		searches_add(&searches, &search);
	}
	assert_false(ask(&searches, 8, 9, 60 * MIB));
	for (size_t i = 0; i < 3; i++)
		assert_int_not_equal(fcntl(fds[i], F_GETFD), -1);
	assert_true(ask(&searches, 8, 9, 24 * MIB));
	assert_int_equal(fcntl(fds[2], F_GETFD), -1);
	while (searches.count)
		searches_drop(&searches, 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	assert_int_equal(searches.bytes, 0);
}

/* What else a user waits for comes behind what others wait for, and each in its order. */
TEST(turns_go_round)
{
	static const uint64_t after[] = { 1, 11, 21, 12, 2, 3 };
	struct searches searches = { 0 };

	ask(&searches, 7, 1, 1);
	ask(&searches, 7, 2, 1);
	ask(&searches, 8, 11, 1);
	ask(&searches, 7, 3, 1);
	ask(&searches, 9, 21, 1);
	ask(&searches, 8, 12, 1);
	searches_take_turn(&searches);
	assert_waiting(&searches, after, 6);
}
