// SPDX-License-Identifier: MIT
/* npumemd: searches for better plans that led to nothing are not made again at once. */
#include "tries.h"
#include "unit.h"

#define MINUTE_US 60000000ull

static struct plancache_key key_of(unsigned int number)
{
	struct plancache_key key = { { (uint8_t)number, (uint8_t)(number >> 8) } };

	return key;
}

/* Each try in vain doubles how long the next one waits, up to an hour. */
TEST(tries_wait)
{
	static const uint64_t minutes[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	struct plancache_key key = key_of(1), other = key_of(2);
	struct tries tries = { 0 };
	uint64_t now = 7;

	assert_int_equal(tries_wait_us(&tries, &key, now), 0);
	for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
		uint64_t wait = minutes[i] * MINUTE_US;

		assert_int_equal(tries_in_vain(&tries, &key, now), wait);
		assert_int_equal(tries_wait_us(&tries, &key, now), wait);
		assert_int_equal(tries_wait_us(&tries, &key, now + wait - 1), 1);
		assert_int_equal(tries_wait_us(&tries, &key, now + wait), 0);
		assert_int_equal(tries_wait_us(&tries, &other, now), 0);
		now += 3 * wait;
		assert_int_equal(tries_wait_us(&tries, &key, now), 0);
	}
	/* What led to something begins anew. */
	tries_in_vain(&tries, &key, now);
	tries_forget(&tries, &key);
	assert_int_equal(tries_wait_us(&tries, &key, now), 0);
	assert_int_equal(tries_in_vain(&tries, &key, now), MINUTE_US);
	tries_forget(&tries, &other);
	assert_int_equal(tries_wait_us(&tries, &key, now), MINUTE_US);
}

/* Where there is no room, the one that may be tried soonest is forgotten. */
TEST(tries_bounded)
{
	struct tries tries = { 0 };
	struct plancache_key key;

	for (unsigned int i = 0; i < TRIES_MAX; i++) {
		key = key_of(i);
		tries_in_vain(&tries, &key, i);
	}
	key = key_of(0);
	assert_int_equal(tries_in_vain(&tries, &key, TRIES_MAX), 2 * MINUTE_US);
	key = key_of(TRIES_MAX);
	tries_in_vain(&tries, &key, TRIES_MAX);
	for (unsigned int i = 0; i <= TRIES_MAX; i++) {
		key = key_of(i);
		if (i == 1)
			assert_int_equal(tries_wait_us(&tries, &key, TRIES_MAX), 0);
		else
			assert_true(tries_wait_us(&tries, &key, TRIES_MAX));
	}
}
