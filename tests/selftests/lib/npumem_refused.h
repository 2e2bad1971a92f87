/* SPDX-License-Identifier: MIT */
/*
 * Blobs that the driver must refuse. Each is a good one but for one field.
 */
#pragma once

#include <string.h>

#include "kselftest_harness.h"
#include "npumem_world.h"

/*
 * struct offers - one way of offering a model's blobs, and what the driver said of the last
 * @fd: the device's; whoever fills this structure owns it
 * @make: makes the good blob of @model
 * @call: offers a blob and fills all that follows: 0 or a negative errno
 * @handle: of the object that was made; 0 if none was
 * @log_size: what the driver says to be the size of the whole log, with its NUL
 */
struct offers {
	int fd;
	struct model model;
	struct blob (*make)(const struct model *model);
	int (*call)(struct offers *offers, const struct blob *blob);
	struct npu_log log;
	struct npumem_verdict verdict;
	uint32_t handle;
	uint64_t log_size;
};

/* The driver refuses the blob as the edit says: errno, rule, first words; and makes nothing. */
static inline void expect_refused(struct __test_metadata *_metadata, struct offers *offers,
				  const struct blob *blob, const struct blob_edit *edit)
{
	EXPECT_EQ(edit->err, offers->call(offers, blob))
	TH_LOG("%s: %s", edit->what, offers->log.text);
	EXPECT_EQ(edit->rule, offers->verdict.rule)
	TH_LOG("%s", edit->what);
	EXPECT_EQ(0, strncmp(edit->log, offers->log.text, strlen(edit->log)))
	TH_LOG("%s: log is: %s", edit->what, offers->log.text);
	EXPECT_EQ(strlen(offers->log.text) + 1, offers->log_size);
	EXPECT_EQ(0, offers->handle);
}

/* Each of the edits spoils a blob that the driver takes. */
static inline void spoil(struct __test_metadata *_metadata, struct offers *offers,
			 const struct blob_edit *edits, unsigned int count)
{
	struct blob blob;
	unsigned int i;

	for (i = 0; i < count; i++) {
		blob = offers->make(&offers->model);
		ASSERT_EQ(0, offers->call(offers, &blob));
		blob_apply(&blob, &edits[i]);
		expect_refused(_metadata, offers, &blob, &edits[i]);
		blob_free(&blob);
	}
}

/* The driver refuses the model as the test has changed it. */
static inline const struct npumem_verdict *refused(struct __test_metadata *_metadata,
						   struct offers *offers, int err, uint32_t rule,
						   const char *log)
{
	const struct blob_edit edit = { .what = "model", .err = err, .rule = rule, .log = log };
	struct blob blob = offers->make(&offers->model);

	expect_refused(_metadata, offers, &blob, &edit);
	blob_free(&blob);
	return &offers->verdict;
}
