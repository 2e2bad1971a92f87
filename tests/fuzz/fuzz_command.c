/* SPDX-License-Identifier: MIT */
/* Commands of a process engine: whatever they say, nothing but their accesses is touched. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fuzz_check.h"

#define ACCESSES     16
#define ACCESS_BYTES 4096
/* More is a command that would only take long: all of its operands count. */
#define MAX_SCRATCH  32768

/* Every second access is written; all are apart, so that a sanitizer sees what is between. */
static void open_accesses(struct engine_access *accesses)
{
	for (int i = 0; i < ACCESSES; i++) {
		accesses[i] = (struct engine_access){
			.data = malloc(ACCESS_BYTES),
			.size = ACCESS_BYTES,
			.writable = i % 2 == 0 || i == 15,
		};
		for (int b = 0; accesses[i].data && b < ACCESS_BYTES; b++)
			((unsigned char *)accesses[i].data)[b] = (unsigned char)(b * 37 + i);
	}
}

static void close_accesses(struct engine_access *accesses, bool untouched)
{
	for (int i = 0; i < ACCESSES; i++) {
		const unsigned char *data = accesses[i].data;

		for (int b = 0; (untouched || !accesses[i].writable) && b < ACCESS_BYTES; b++)
			FUZZ_ASSERT(data[b] == (unsigned char)(b * 37 + i),
				    "a refusal, or an access that is read, is not written");
		free(accesses[i].data);
	}
}

static void execute(const void *command, size_t size, uint64_t scratch_size)
{
	struct engine_access accesses[ACCESSES];
	void *scratch = malloc(scratch_size);
	const char *why = NULL;
	int err;

	open_accesses(accesses);
	err = engine_execute(command, size, accesses, ACCESSES, scratch, scratch_size, &why);
	FUZZ_ASSERT(!err || why, "a refusal has a reason");
	close_accesses(accesses, err != 0);
	free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* malloc() aligns; what is behind the command is not there. */
	void *command = malloc(size ? size : 1);
	const char *why = NULL;
	uint64_t scratch;
	int err;

	if (!command)
		return 0;
	if (size)
		memcpy(command, data, size);
	err = engine_check(command, size, &scratch, &why);
	FUZZ_ASSERT(!err == !why, "a refusal has a reason, and nothing else has");
	if (!err && scratch <= MAX_SCRATCH)
		execute(command, size, scratch);
	free(command);
	return 0;
}
