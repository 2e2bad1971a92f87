/* SPDX-License-Identifier: MIT */
/*
 * The kernel's test harness, with another limit for tests that name none: its 30 seconds
 * are too few for an emulated machine on a busy one. Limits here are for hangs.
 */
#pragma once

#include_next "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 300
