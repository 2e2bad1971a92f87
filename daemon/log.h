/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log. It goes to the journal, with fields, or to stderr, one line a message.
 *
 * Text that comes from outside (graph names, workers) becomes plain text (plain.h), so that no
 * graph can forge a line, or move the cursor of who reads it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

struct accepted;

/**
 * struct log_fields - journal fields of a message about a plan request
 * @request: NPUMEM_REQUEST=, its number; 0 for none
 * @planner: NPUMEM_PLANNER=; NULL or "" for none
 * @status: ERRNO=, positive errno that it ended with
 * @duration_us: NPUMEM_DURATION_USEC=, since it was accepted; 0 for none
 * @known: the driver says who asked
 * @uid: NPUMEM_UID=, who that is
 */
struct log_fields {
	uint64_t request;
	const char *planner;
	uint32_t status;
	uint64_t duration_us;
	bool known;
	uint32_t uid;
};

/** log_fields_of() - fields of a message about a request, which has to outlive them */
struct log_fields log_fields_of(const struct accepted *accepted);

/**
 * log_setup() - set where messages go and which of them
 * @to_stderr: to stderr; else to the journal, or to stderr if there is none
 *	(which is said there)
 * @level: LOG_ERR .. LOG_DEBUG; less important messages are dropped
 */
void log_setup(bool to_stderr, int level);
void log_set_level(int level);

/** log_level_parse() - level of "error", "warning", "notice", "info" or "debug"; else -EINVAL */
int log_level_parse(const char *name, int *level);

/*
 * Log a message. @fields is NULL if it is about no request. Of one user's requests a message may be
 * left out, but no error, and its number is told (log_share.h), unless the level is LOG_DEBUG. A
 * message that nobody takes at once (log_journal.h) is lost, which is told, too.
 */
__attribute__((format(printf, 3, 4))) void log_request(int level, const struct log_fields *fields,
						       const char *format, ...);

/* Log a message about a request that the driver gave. */
#define log_accepted(level, accepted, ...) \
	log_request(level, (const struct log_fields[]){ log_fields_of(accepted) }, __VA_ARGS__)

#define log_error(...)	 log_request(LOG_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_request(LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...)	 log_request(LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...)	 log_request(LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...)	 log_request(LOG_DEBUG, NULL, __VA_ARGS__)
