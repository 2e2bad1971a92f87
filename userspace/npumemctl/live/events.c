/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <errno.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npumem_netlink.h"

/*
 * struct live_listener - a socket that has joined the driver's group, and the one that tells which
 * families come and go
 * @family: number of the driver's family; 0: it is gone
 * @tell, @context: of the call of live_next() under way
 */
struct live_listener {
	struct nl_sock *socket;
	int family;
	const struct live_tell *tell;
	void *context;
};

static void read_index(struct nlattr *const *attributes, int attribute, uint32_t *index)
{
	*index = attributes[attribute] ? nla_get_u32(attributes[attribute]) : NPUMEM_NONE;
}

static int read_verdict(struct nlattr *nest, struct npumem_verdict *verdict)
{
	static struct nla_policy policy[NPUMEM_A_VERDICT_MAX + 1] = {
		[NPUMEM_A_VERDICT_RULE] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_POSITION] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_STEP] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_TILE] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_TENSOR] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_OTHER_STEP] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_OTHER_TILE] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_OTHER_TENSOR] = { .type = NLA_U32 },
		[NPUMEM_A_VERDICT_FIRST] = { .type = NLA_U64 },
		[NPUMEM_A_VERDICT_LENGTH] = { .type = NLA_U64 },
	};
	struct nlattr *attributes[NPUMEM_A_VERDICT_MAX + 1];

	if (nla_parse_nested(attributes, NPUMEM_A_VERDICT_MAX, nest, policy) < 0 ||
	    !attributes[NPUMEM_A_VERDICT_RULE])
		return -EPROTO;
	verdict->rule = nla_get_u32(attributes[NPUMEM_A_VERDICT_RULE]);
	read_index(attributes, NPUMEM_A_VERDICT_POSITION, &verdict->position);
	read_index(attributes, NPUMEM_A_VERDICT_STEP, &verdict->step);
	read_index(attributes, NPUMEM_A_VERDICT_TILE, &verdict->tile);
	read_index(attributes, NPUMEM_A_VERDICT_TENSOR, &verdict->tensor);
	read_index(attributes, NPUMEM_A_VERDICT_OTHER_STEP, &verdict->other_step);
	read_index(attributes, NPUMEM_A_VERDICT_OTHER_TILE, &verdict->other_tile);
	read_index(attributes, NPUMEM_A_VERDICT_OTHER_TENSOR, &verdict->other_tensor);
	if (attributes[NPUMEM_A_VERDICT_FIRST] && attributes[NPUMEM_A_VERDICT_LENGTH]) {
		verdict->first = nla_get_u64(attributes[NPUMEM_A_VERDICT_FIRST]);
		verdict->length = nla_get_u64(attributes[NPUMEM_A_VERDICT_LENGTH]);
	}
	return 0;
}

static int on_event(struct live_listener *listener, struct nlmsghdr *header)
{
	static struct nla_policy policy[NPUMEM_A_EVENT_MAX + 1] = {
		[NPUMEM_A_EVENT_DEVICE] = { .type = NLA_U32 },
		[NPUMEM_A_EVENT_RUN] = { .type = NLA_U64 },
		[NPUMEM_A_EVENT_VERDICT] = { .type = NLA_NESTED },
		[NPUMEM_A_EVENT_PID] = { .type = NLA_U32 },
		[NPUMEM_A_EVENT_MESSAGE] = { .type = NLA_STRING },
	};
	struct nlattr *attributes[NPUMEM_A_EVENT_MAX + 1];
	struct live_event event = { 0 };
	uint8_t command = genlmsg_hdr(header)->cmd;

	if ((command != NPUMEM_CMD_VERDICT && command != NPUMEM_CMD_FAULT) ||
	    genlmsg_parse(header, 0, attributes, NPUMEM_A_EVENT_MAX, policy) < 0 ||
	    !attributes[NPUMEM_A_EVENT_DEVICE] || !attributes[NPUMEM_A_EVENT_VERDICT] ||
	    read_verdict(attributes[NPUMEM_A_EVENT_VERDICT], &event.verdict))
		return NL_SKIP;
	event.is_fault = command == NPUMEM_CMD_FAULT;
	event.device = nla_get_u32(attributes[NPUMEM_A_EVENT_DEVICE]);
	if (attributes[NPUMEM_A_EVENT_PID])
		event.pid = nla_get_u32(attributes[NPUMEM_A_EVENT_PID]);
	if (attributes[NPUMEM_A_EVENT_RUN])
		event.run = nla_get_u64(attributes[NPUMEM_A_EVENT_RUN]);
	if (attributes[NPUMEM_A_EVENT_MESSAGE])
		snprintf(event.message, sizeof(event.message), "%s",
			 nla_get_string(attributes[NPUMEM_A_EVENT_MESSAGE]));
	listener->tell->event(listener->context, &event);
	return NL_OK;
}

/* Join the group of the driver that is loaded. Returns 0, or an error of libnl. */
static int join(struct live_listener *listener)
{
	/* Of its own: an answer that is waited for stands behind all events on the other one. */
	struct nl_sock *ask = nl_socket_alloc();
	int err = ask ? genl_connect(ask) : -NLE_NOMEM, family = 0, group;

	if (!err) {
		family = genl_ctrl_resolve(ask, NPUMEM_FAMILY_NAME);
		err = family < 0 ? family : 0;
	}
	if (!err) {
		group = genl_ctrl_resolve_grp(ask, NPUMEM_FAMILY_NAME, NPUMEM_MCGRP_EVENTS);
		err = group < 0 ? group : nl_socket_add_membership(listener->socket, group);
	}
	nl_socket_free(ask);
	if (!err)
		listener->family = family;
	return err;
}

static void set_driver(struct live_listener *listener, bool there)
{
	int before = listener->family;

	/* A group goes with its family, and a new one may have its number. */
	listener->family = 0;
	if (there)
		(void)join(listener);
	if (!before != !listener->family)
		listener->tell->driver(listener->context, listener->family);
}

static int on_family(struct live_listener *listener, struct nlmsghdr *header)
{
	static struct nla_policy policy[CTRL_ATTR_MAX + 1] = {
		[CTRL_ATTR_FAMILY_ID] = { .type = NLA_U16 },
		[CTRL_ATTR_FAMILY_NAME] = { .type = NLA_NUL_STRING },
	};
	struct nlattr *attributes[CTRL_ATTR_MAX + 1];
	uint8_t command = genlmsg_hdr(header)->cmd;

	if (genlmsg_parse(header, 0, attributes, CTRL_ATTR_MAX, policy) < 0 ||
	    !attributes[CTRL_ATTR_FAMILY_NAME] ||
	    strcmp(nla_get_string(attributes[CTRL_ATTR_FAMILY_NAME]), NPUMEM_FAMILY_NAME) != 0)
		return NL_SKIP;
	/* One that was gone before, of which this comes late. */
	if (command == CTRL_CMD_DELFAMILY && attributes[CTRL_ATTR_FAMILY_ID] &&
	    nla_get_u16(attributes[CTRL_ATTR_FAMILY_ID]) != listener->family)
		return NL_SKIP;
	if (command == CTRL_CMD_NEWFAMILY || command == CTRL_CMD_DELFAMILY)
		set_driver(listener, command == CTRL_CMD_NEWFAMILY);
	return NL_OK;
}

/* A message that is no event, makes no sense, or is not the kernel's, is passed over. */
static int on_message(struct nl_msg *message, void *context)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct live_listener *listener = context;

	if (nlmsg_get_src(message)->nl_pid || !genlmsg_valid_hdr(header, 0))
		return NL_SKIP;
	if (header->nlmsg_type == GENL_ID_CTRL)
		return on_family(listener, header);
	if (listener->family && header->nlmsg_type == listener->family)
		return on_event(listener, header);
	return NL_SKIP;
}

/* Puts a sentence for an error number of libnl, which is no errno; returns an errno. */
static int failed(struct npumem_error *error, int err)
{
	int code = -EIO;

	if (err == -NLE_OBJ_NOTFOUND || err == -NLE_NOATTR)
		code = -ENOENT;
	else if (err == -NLE_PERM)
		code = -EPERM;
	else if (err == -NLE_NOMEM)
		code = -ENOMEM;
	snprintf(error->text, sizeof(error->text), "%s",
		 code == -ENOENT ? "the driver is not there: is the module npumem loaded?" :
		 code == -EPERM	 ? "who is told of refusals needs CAP_NET_ADMIN" :
				   nl_geterror(err));
	return code;
}

int live_listen(struct live_listener **out, struct npumem_error *error)
{
	struct live_listener *listener = calloc(1, sizeof(*listener));
	int err = -NLE_NOMEM, group;

	*out = NULL;
	if (listener)
		listener->socket = nl_socket_alloc();
	if (!listener || !listener->socket)
		goto fail;
	nl_socket_disable_seq_check(listener->socket);
	nl_socket_modify_cb(listener->socket, NL_CB_VALID, NL_CB_CUSTOM, on_message, listener);
	err = genl_connect(listener->socket);
	if (err)
		goto fail;
	/* First, so that nothing comes in between. */
	group = genl_ctrl_resolve_grp(listener->socket, "nlctrl", "notify");
	err = group < 0 ? group : nl_socket_add_membership(listener->socket, group);
	if (!err)
		err = join(listener);
	if (err)
		goto fail;
	nl_socket_set_nonblocking(listener->socket);
	*out = listener;
	return 0;
fail:
	live_listen_end(listener);
	return failed(error, err);
}

int live_listen_fd(const struct live_listener *listener)
{
	return nl_socket_get_fd(listener->socket);
}

int live_next(struct live_listener *listener, const struct live_tell *tell, void *context)
{
	int err;

	listener->tell = tell;
	listener->context = context;
	err = nl_recvmsgs_default(listener->socket);
	if (err == -NLE_AGAIN || err >= 0)
		return 0;
	/* The kernel's ENOBUFS, which libnl gives as want of memory. */
	if (err != -NLE_NOMEM)
		return -EIO;
	/* That the driver went, or came, may be among what was lost. */
	set_driver(listener, true);
	return -ENOBUFS;
}

void live_listen_end(struct live_listener *listener)
{
	if (listener)
		nl_socket_free(listener->socket);
	free(listener);
}
