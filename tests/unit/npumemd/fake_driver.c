// SPDX-License-Identifier: MIT
#include "fake_driver.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/errno.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "npumem_netlink.h"

/* The linker finds that libnl's libraries want some of them, too. */
#pragma GCC visibility push(default)
int __wrap_genl_ctrl_resolve(struct nl_sock *sk, const char *name);
int __wrap_genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family, const char *group);
int __wrap_nl_socket_add_membership(struct nl_sock *sk, int group);
int __wrap_nl_socket_get_fd(const struct nl_sock *sk);
int __wrap_nl_send_auto(struct nl_sock *sk, struct nl_msg *message);
int __real_nl_recvmsgs(struct nl_sock *sk, struct nl_cb *cb);
int __wrap_nl_recvmsgs(struct nl_sock *sk, struct nl_cb *cb);
int __wrap_nl_recvmsgs_default(struct nl_sock *sk);
#pragma GCC visibility pop

static struct fake_driver now;
/* What the command that was sent last is answered with. */
static int answer;

static int records(void)
{
	const char *number = getenv(FAKE_DRIVER);

	if (!number)
		abort();
	return atoi(number);
}

/* The next record; with @flags MSG_DONTWAIT false if none has come. */
static bool next_record(int flags)
{
	ssize_t n = recv(records(), &now, sizeof(now), flags);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n != sizeof(now))
		abort();
	return true;
}

int __wrap_genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	return now.family ? now.family : -NLE_OBJ_NOTFOUND;
}

int __wrap_genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family, const char *group)
{
	return 1;
}

int __wrap_nl_socket_add_membership(struct nl_sock *sk, int group)
{
	return 0;
}

/* Asked for once, by netlink_open(), before anything else is. */
int __wrap_nl_socket_get_fd(const struct nl_sock *sk)
{
	next_record(0);
	return records();
}

int __wrap_nl_send_auto(struct nl_sock *sk, struct nl_msg *message)
{
	const struct nlmsghdr *header = nlmsg_hdr(message);

	if (header->nlmsg_type != now.family)
		abort();
	/* There are no requests. */
	answer = genlmsg_hdr(nlmsg_hdr(message))->cmd == NPUMEM_CMD_REGISTER ? now.refuses :
									       -ENOENT;
	return (int)header->nlmsg_len;
}

/* As the kernel sends it: @message, which is freed, in memory that libnl frees. */
static int received(struct nl_msg *message, struct sockaddr_nl *from, unsigned char **bytes,
		    struct ucred **creds)
{
	size_t size = nlmsg_hdr(message)->nlmsg_len;

	*bytes = malloc(size);
	if (!*bytes)
		abort();
	memcpy(*bytes, nlmsg_hdr(message), size);
	nlmsg_free(message);
	*from = (struct sockaddr_nl){ .nl_family = AF_NETLINK };
	*creds = NULL;
	return (int)size;
}

static int receive_answer(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **bytes,
			  struct ucred **creds)
{
	const struct nlmsgerr error = { .error = answer };
	struct nl_msg *message = nlmsg_alloc();

	if (!message || !nlmsg_put(message, 0, 0, NLMSG_ERROR, 0, 0) ||
	    nlmsg_append(message, (void *)(uintptr_t)&error, sizeof(error), NLMSG_ALIGNTO))
		abort();
	return received(message, from, bytes, creds);
}

int __wrap_nl_recvmsgs(struct nl_sock *sk, struct nl_cb *cb)
{
	nl_cb_overwrite_recv(cb, receive_answer);
	return __real_nl_recvmsgs(sk, cb);
}

static int receive_notification(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **bytes,
				struct ucred **creds)
{
	struct nl_msg *message = nlmsg_alloc();

	if (!message || !genlmsg_put(message, 0, 0, GENL_ID_CTRL, 0, 0, (uint8_t)now.command, 1) ||
	    nla_put_string(message, CTRL_ATTR_FAMILY_NAME, NPUMEM_FAMILY_NAME))
		abort();
	return received(message, from, bytes, creds);
}

int __wrap_nl_recvmsgs_default(struct nl_sock *sk)
{
	struct nl_cb *cb;
	int err;

	if (!next_record(MSG_DONTWAIT))
		return -NLE_AGAIN;
	if (!now.command)
		return -NLE_NOMEM;
	cb = nl_socket_get_cb(sk);
	nl_cb_overwrite_recv(cb, receive_notification);
	err = __real_nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	return err;
}
