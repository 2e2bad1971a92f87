/* SPDX-License-Identifier: MIT */
/* One request after the other to npumemd, with a cache, and what is searched for behind them. */
#pragma once

#include "npumemd_request.h"

#include "improve.h"

/* What a planning process says of its plan if it has much time: "COST FINAL". */
#define RATED "NPUMEMD_TEST_RATED"

/* A folder for supplies, which has nothing but what a test puts there. */
extern char supplies[80];
/* The clock by which searches have their share; one of 10 ms, instead of an hour. */
extern uint64_t fake_now;

int improve_setup(void **state);
int improve_teardown(void **state);
#define IMPROVE_TEST(name) TEST_WITH(name, improve_setup, improve_teardown)

/* A request, to its end; ask_good() for the fixture's graph. */
void ask_for(struct accepted *accepted);
void ask_good(void);
/* One with a plan of its own for each @budget: always a new search. */
void ask_anew(uint64_t budget);
/* One for the fixture's graph, and what its search, which finds what @rated says, ends with. */
void ask_and_search(const char *rated);
/* Runs the loop until no search runs or waits, or for so many milliseconds. */
void wait_for_searches(void);
void run_for(uint64_t ms);
/* A process has ended that nobody has waited for; until all are gone, which takes their time. */
bool has_child(void);
void run_until_gone(void);
/* Whether the metrics have that. */
bool tells(const char *line);
