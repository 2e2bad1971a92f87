// SPDX-License-Identifier: MIT
/* npumemd: what the driver's descriptor says of how a request has ended. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "netlink.h"
#include "npumem_request.h"
#include "unit.h"

static struct outcome outcome_of(uint32_t status, uint32_t rule)
{
	struct npumem_request_outcome from = { .status = status, .verdict.rule = rule };
	struct outcome outcome;
	int fd = memfd_create("outcome", MFD_CLOEXEC);

	strcpy(from.message, "the reason");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &from, sizeof(from)), sizeof(from));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(netlink_transport_ops.outcome(NULL, fd, &outcome), 0);
	close(fd);
	assert_int_equal(outcome.status, status);
	assert_string_equal(outcome.message, "the reason");
	return outcome;
}

/* The plan is refused by what the verifier says of it, not by what the client had not. */
TEST(outcome_refused)
{
	static const uint32_t refusals[] = { EBADMSG, EINVAL, E2BIG, EOPNOTSUPP, ENOSPC };
	static const uint32_t others[] = { 0, ENOMEM, EDQUOT, EINTR, ETIMEDOUT, ECANCELED, ENODEV };

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		assert_true(outcome_of(refusals[i], NPUMEM_RULE_NONE).refused);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(outcome_of(others[i], NPUMEM_RULE_NONE).refused);
	assert_true(outcome_of(EINVAL, NPUMEM_RULE_V3_READ).refused);
	/* Of a later version, say. */
	assert_true(outcome_of(EPERM, NPUMEM_RULE_V3_READ).refused);
}
