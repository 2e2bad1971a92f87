/* SPDX-License-Identifier: MIT */
/* One worker of npumemd from its start to its result. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "unit.h"
#include "worker.h"

#define RESULT_LIMIT 65536

/*
 * struct outcome - result of the last worker, copied
 * @done: how often it was called
 * @writable: the bytes of the result could still be changed
 */
struct outcome {
	struct worker_result result;
	char data[64];
	int done;
	bool writable;
	sd_event *event;
};

/* Make the outcome of a test, and see that no process is left. */
int worker_setup(void **state);
int worker_teardown(void **state);
#define WORKER_TEST(name) TEST_WITH(name, worker_setup, worker_teardown)

/* CLOCK_MONOTONIC, in microseconds. */
uint64_t now_us(void);

/* What a worker is done by: the outcome gets a copy of the result, and the loop ends. */
void keep_result(struct worker *worker, const struct worker_result *result, void *userdata);
/* Arguments of a worker that runs the job of that name. */
struct worker_args default_args(struct outcome *outcome, const char *job);
/* Run a worker to its end; the second by default_args(). */
const struct worker_result *run_args(struct outcome *outcome, const struct worker_args *args);
const struct worker_result *run(struct outcome *outcome, const char *job);

/* The result is exactly this, and no data if it is a failure. */
void assert_result(const struct worker_result *result, uint32_t status, const char *text);
