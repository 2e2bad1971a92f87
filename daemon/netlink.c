// SPDX-License-Identifier: MIT
#include "netlink.h"

#include <ctype.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "log.h"
#include "npumem_netlink.h"
#include "npumem_request.h"
#include "planner.h"

#define RETRY_US    1000000
/* Bytes of room for all attributes of a command but its text. */
#define HEADER_ROOM 512
#define DAEMON_NAME "npumemd " NPUMEM_PACKAGE_VERSION

/*
 * struct netlink - the daemon's two netlink sockets
 * @command: sends commands and reads their answers
 * @notify: reads notifications
 * @source: event source of @notify
 * @retry: timer after a failure that may pass, or NULL
 * @family: number of the driver's family; 0 while detached
 * @other: number of the family of a driver of another version, which is loaded; 0: none
 */
struct netlink {
	sd_event *event;
	const struct netlink_events *events;
	void *userdata;
	struct nl_sock *command;
	struct nl_sock *notify;
	sd_event_source *source;
	sd_event_source *retry;
	int family;
	int other;
};

/* A negative errno for an error number of libnl, which are not errnos. */
static int from_libnl(int err)
{
	switch (-err) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_PERM:
		return -EPERM;
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_BUSY:
		return -EBUSY;
	case NLE_NOACCESS:
		return -EACCES;
	default:
		return -EIO;
	}
}

/* ----------------------------------------------------------------- commands */

/*
 * struct call - command that waits for its answer
 * @err: negative errno that the kernel answered with
 * @parse: reads the reply; NULL if there is only an acknowledgement
 */
struct call {
	int err;
	bool answered;
	int (*parse)(struct nlattr **attributes, void *out);
	void *out;
};

static int on_error(struct sockaddr_nl *address, struct nlmsgerr *error, void *data)
{
	struct call *call = data;

	call->err = error->error;
	call->answered = true;
	return NL_STOP;
}

static int on_ack(struct nl_msg *message, void *data)
{
	struct call *call = data;

	call->answered = true;
	return NL_STOP;
}

static int on_reply(struct nl_msg *message, void *data)
{
	static struct nla_policy policy[NPUMEM_A_UPCALL_MAX + 1] = {
		[NPUMEM_A_UPCALL_ID] = { .type = NLA_U64 },
		[NPUMEM_A_UPCALL_FD] = { .type = NLA_S32 },
		[NPUMEM_A_UPCALL_REQUEST] = { .type = NLA_NESTED },
		[NPUMEM_A_UPCALL_STATUS] = { .type = NLA_U32 },
		[NPUMEM_A_UPCALL_MESSAGE] = { .type = NLA_NUL_STRING },
	};
	struct nlattr *attributes[NPUMEM_A_UPCALL_MAX + 1];
	struct call *call = data;

	call->answered = true;
	if (!call->parse ||
	    genlmsg_parse(nlmsg_hdr(message), 0, attributes, NPUMEM_A_UPCALL_MAX, policy) < 0)
		call->err = -EPROTO;
	else
		call->err = call->parse(attributes, call->out);
	return NL_STOP;
}

/* Send a command, if all of it was put into it, and wait for its one answer. Frees the message. */
static int call_driver(struct netlink *netlink, struct nl_msg *message, bool put, struct call *call)
{
	struct nl_cb *cb = put ? nl_cb_alloc(NL_CB_DEFAULT) : NULL;
	int err;

	if (!cb) {
		nlmsg_free(message);
		return -ENOMEM;
	}
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, call);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, call);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_reply, call);
	err = nl_send_auto(netlink->command, message);
	nlmsg_free(message);
	while (err >= 0 && !call->answered)
		err = nl_recvmsgs(netlink->command, cb);
	nl_cb_put(cb);
	return call->answered ? call->err : from_libnl(err);
}

/* Make a message; NULL if there is no memory. Commands with a reply need no acknowledgement. */
static struct nl_msg *new_command(const struct netlink *netlink, uint8_t command, int flags)
{
	struct nl_msg *message = nlmsg_alloc_size(HEADER_ROOM + TRANSPORT_MESSAGE_SIZE);

	if (message && !genlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, netlink->family, 0, flags,
				    command, NPUMEM_FAMILY_VERSION)) {
		nlmsg_free(message);
		return NULL;
	}
	return message;
}

static int do_register(struct netlink *netlink)
{
	struct nl_msg *message = new_command(netlink, NPUMEM_CMD_REGISTER, NLM_F_ACK);
	struct call call = { 0 };
	bool put = message && !nla_put_u32(message, NPUMEM_A_DAEMON_VERSION, NPUMEM_VERSION) &&
		   !nla_put_string(message, NPUMEM_A_DAEMON_NAME, DAEMON_NAME);

	return call_driver(netlink, message, put, &call);
}

static void parse_client(struct nlattr **attributes, struct client *client)
{
	client->known = attributes[NPUMEM_A_REQUEST_UID] && attributes[NPUMEM_A_REQUEST_GID];
	if (client->known) {
		client->uid = nla_get_u32(attributes[NPUMEM_A_REQUEST_UID]);
		client->gid = nla_get_u32(attributes[NPUMEM_A_REQUEST_GID]);
	}
	if (attributes[NPUMEM_A_REQUEST_PID])
		client->pid = nla_get_u32(attributes[NPUMEM_A_REQUEST_PID]);
	if (attributes[NPUMEM_A_REQUEST_CGROUP])
		nla_strlcpy(client->cgroup, attributes[NPUMEM_A_REQUEST_CGROUP],
			    sizeof(client->cgroup));
}

/* What is asked for; members that are not known here are passed over. */
static int parse_request(struct nlattr *request, struct accepted *accepted)
{
	static struct nla_policy policy[NPUMEM_A_REQUEST_MAX + 1] = {
		[NPUMEM_A_REQUEST_GRAPH_SIZE] = { .type = NLA_U64 },
		[NPUMEM_A_REQUEST_PLANNER] = { .type = NLA_NUL_STRING },
		[NPUMEM_A_REQUEST_OBJECTIVE] = { .type = NLA_U32 },
		[NPUMEM_A_REQUEST_ARENA_BUDGET] = { .type = NLA_U64 },
		[NPUMEM_A_REQUEST_DEADLINE] = { .type = NLA_S64 },
		[NPUMEM_A_REQUEST_OPTIONS_SIZE] = { .type = NLA_U64 },
		[NPUMEM_A_REQUEST_CUT] = { .type = NLA_FLAG },
		[NPUMEM_A_REQUEST_UID] = { .type = NLA_U32 },
		[NPUMEM_A_REQUEST_GID] = { .type = NLA_U32 },
		[NPUMEM_A_REQUEST_CGROUP] = { .type = NLA_NUL_STRING },
		[NPUMEM_A_REQUEST_PID] = { .type = NLA_U32 },
	};
	struct nlattr *attributes[NPUMEM_A_REQUEST_MAX + 1];

	if (nla_parse_nested(attributes, NPUMEM_A_REQUEST_MAX, request, policy) < 0 ||
	    !attributes[NPUMEM_A_REQUEST_GRAPH_SIZE] || !attributes[NPUMEM_A_REQUEST_DEADLINE])
		return -EPROTO;
	accepted->graph_size = nla_get_u64(attributes[NPUMEM_A_REQUEST_GRAPH_SIZE]);
	accepted->deadline_ns = nla_get_s64(attributes[NPUMEM_A_REQUEST_DEADLINE]);
	if (attributes[NPUMEM_A_REQUEST_OBJECTIVE])
		accepted->objective = nla_get_u32(attributes[NPUMEM_A_REQUEST_OBJECTIVE]);
	if (attributes[NPUMEM_A_REQUEST_ARENA_BUDGET])
		accepted->arena_budget = nla_get_u64(attributes[NPUMEM_A_REQUEST_ARENA_BUDGET]);
	if (attributes[NPUMEM_A_REQUEST_PLANNER])
		nla_strlcpy(accepted->planner, attributes[NPUMEM_A_REQUEST_PLANNER],
			    sizeof(accepted->planner));
	/* Answers and the log name it, whatever bytes the client took for a name. */
	for (char *c = accepted->planner; *c; c++)
		if (!isgraph((unsigned char)*c))
			*c = '?';
	if (attributes[NPUMEM_A_REQUEST_OPTIONS_SIZE])
		accepted->options_size = nla_get_u64(attributes[NPUMEM_A_REQUEST_OPTIONS_SIZE]);
	accepted->cut = attributes[NPUMEM_A_REQUEST_CUT];
	parse_client(attributes, &accepted->client);
	return 0;
}

static int parse_accept(struct nlattr **attributes, void *out)
{
	struct accepted *accepted = out;

	/* The descriptor comes first, since it is ours to close whatever else the reply has. */
	accepted->fd = -1;
	if (attributes[NPUMEM_A_UPCALL_FD])
		accepted->fd = nla_get_s32(attributes[NPUMEM_A_UPCALL_FD]);
	if (accepted->fd < 0 || !attributes[NPUMEM_A_UPCALL_ID] ||
	    !attributes[NPUMEM_A_UPCALL_REQUEST])
		return -EPROTO;
	accepted->id = nla_get_u64(attributes[NPUMEM_A_UPCALL_ID]);
	return parse_request(attributes[NPUMEM_A_UPCALL_REQUEST], accepted);
}

static int netlink_accept(void *data, struct accepted *accepted)
{
	struct netlink *netlink = data;
	struct call call = { .parse = parse_accept, .out = accepted };
	struct nl_msg *message;
	int err;

	memset(accepted, 0, sizeof(*accepted));
	accepted->fd = -1;
	if (!netlink->family)
		return -ENOTCONN;
	message = new_command(netlink, NPUMEM_CMD_ACCEPT, 0);
	err = call_driver(netlink, message, message, &call);
	if (err && accepted->fd >= 0)
		close(accepted->fd);
	return err;
}

static int netlink_done(void *data, uint64_t id, const struct answer *answer)
{
	struct netlink *netlink = data;
	struct call call = { 0 };
	struct nl_msg *message;
	bool put;

	if (!netlink->family)
		return -ENOTCONN;
	message = new_command(netlink, NPUMEM_CMD_DONE, NLM_F_ACK);
	put = message && !nla_put_u64(message, NPUMEM_A_UPCALL_ID, id) &&
	      !nla_put_u32(message, NPUMEM_A_UPCALL_STATUS, answer->status) &&
	      !(answer->message &&
		nla_put_string(message, NPUMEM_A_UPCALL_MESSAGE, answer->message)) &&
	      !(answer->graph_size &&
		nla_put_u64(message, NPUMEM_A_UPCALL_GRAPH_SIZE, answer->graph_size));
	return call_driver(netlink, message, put, &call);
}

/* POLLHUP, which says that the request was given up, need not be asked for. */
static int request_watch(void *data, int fd, sd_event *event, sd_event_io_handler_t handler,
			 void *userdata, sd_event_source **source)
{
	int err = sd_event_add_io(event, source, fd, EPOLLIN, handler, userdata);

	return err < 0 ? err : 0;
}

/* Whether the plan is refused, and not what the client had left for it. */
static bool is_refused(const struct npumem_request_outcome *outcome)
{
	return planner_judged(outcome->status) || outcome->verdict.rule != NPUMEM_RULE_NONE;
}

static int request_outcome(void *data, int fd, struct outcome *outcome)
{
	struct npumem_request_outcome from;
	ssize_t n = read(fd, &from, sizeof(from));

	if (n != sizeof(from))
		return n < 0 ? -errno : -EPROTO;
	outcome->status = from.status;
	outcome->refused = is_refused(&from);
	snprintf(outcome->message, sizeof(outcome->message), "%.*s",
		 (int)sizeof(outcome->message) - 1, from.message);
	/* The driver's sentences end with their line, or are cut off before. */
	outcome->message[strcspn(outcome->message, "\n")] = '\0';
	return 0;
}

const struct transport_ops netlink_transport_ops = {
	.accept = netlink_accept,
	.done = netlink_done,
	.watch = request_watch,
	.outcome = request_outcome,
};

/* --------------------------------------------------------- attach and detach */

static int try_attach(struct netlink *netlink)
{
	int family, group, err;

	family = genl_ctrl_resolve(netlink->command, NPUMEM_FAMILY_NAME);
	if (family < 0)
		return from_libnl(family);
	group = genl_ctrl_resolve_grp(netlink->command, NPUMEM_FAMILY_NAME, NPUMEM_MCGRP_REQUESTS);
	if (group < 0)
		return from_libnl(group);
	/* Requests come only after registering, so by listening before it none is missed. */
	err = nl_socket_add_membership(netlink->notify, group);
	if (err < 0)
		return from_libnl(err);
	netlink->family = family;
	err = do_register(netlink);
	if (err)
		netlink->family = 0;
	/* The same driver says the same each time that it is asked. */
	if (err == -EPROTONOSUPPORT && family == netlink->other)
		return -EALREADY;
	if (!err || err == -EPROTONOSUPPORT)
		netlink->other = err ? family : 0;
	return err;
}

static void attach(struct netlink *netlink);

static int on_retry(sd_event_source *source, uint64_t now, void *data)
{
	struct netlink *netlink = data;

	if (!netlink->family)
		attach(netlink);
	return 0;
}

static void retry_later(struct netlink *netlink)
{
	int err;

	netlink->retry = sd_event_source_disable_unref(netlink->retry);
	err = sd_event_add_time_relative(netlink->event, &netlink->retry, CLOCK_MONOTONIC, RETRY_US,
					 0, on_retry, netlink);
	if (err < 0)
		log_error("no timer to try again with: %s", strerror(-err));
}

static void attach(struct netlink *netlink)
{
	int err = try_attach(netlink);

	switch (err) {
	case 0:
		netlink->events->attached(netlink->userdata);
		break;
	case -ENOENT:
		netlink->events->absent(netlink->userdata);
		break;
	case -EALREADY:
		break;
	case -EBUSY:
	case -EPERM:
	case -EPROTONOSUPPORT:
		netlink->events->refused(err, netlink->userdata);
		break;
	default:
		log_warning("cannot register with the driver, trying again: %s", strerror(-err));
		retry_later(netlink);
	}
}

static void detach(struct netlink *netlink)
{
	if (!netlink->family && !netlink->other)
		return;
	netlink->family = 0;
	netlink->other = 0;
	netlink->events->detached(netlink->userdata);
}

/* ------------------------------------------------------------ notifications */

static void on_family(struct netlink *netlink, struct nl_msg *message)
{
	static struct nla_policy policy[CTRL_ATTR_MAX + 1] = {
		[CTRL_ATTR_FAMILY_NAME] = { .type = NLA_NUL_STRING },
	};
	struct nlattr *attributes[CTRL_ATTR_MAX + 1];
	const struct genlmsghdr *header = genlmsg_hdr(nlmsg_hdr(message));

	if (genlmsg_parse(nlmsg_hdr(message), 0, attributes, CTRL_ATTR_MAX, policy) < 0 ||
	    !attributes[CTRL_ATTR_FAMILY_NAME] ||
	    strcmp(nla_get_string(attributes[CTRL_ATTR_FAMILY_NAME]), NPUMEM_FAMILY_NAME) != 0)
		return;
	if (header->cmd == CTRL_CMD_NEWFAMILY && !netlink->family)
		attach(netlink);
	else if (header->cmd == CTRL_CMD_DELFAMILY)
		detach(netlink);
}

static int on_notification(struct nl_msg *message, void *data)
{
	struct netlink *netlink = data;
	const struct nlmsghdr *header = nlmsg_hdr(message);

	/*
	 * Any process may send to a netlink socket; messages of others than the kernel are
	 * ignored.
	 */
	if (nlmsg_get_src(message)->nl_pid || !genlmsg_valid_hdr(nlmsg_hdr(message), 0))
		return NL_SKIP;
	if (header->nlmsg_type == GENL_ID_CTRL)
		on_family(netlink, message);
	else if (netlink->family && header->nlmsg_type == netlink->family &&
		 genlmsg_hdr(nlmsg_hdr(message))->cmd == NPUMEM_CMD_READY)
		netlink->events->ready(netlink->userdata);
	return NL_OK;
}

/* Notifications were lost: find out by commands what they would have said. */
static void look_again(struct netlink *netlink)
{
	int family = genl_ctrl_resolve(netlink->command, NPUMEM_FAMILY_NAME);
	int known = netlink->family ? netlink->family : netlink->other;

	if (known && family != known)
		detach(netlink);
	if (!netlink->family)
		attach(netlink);
	else
		netlink->events->ready(netlink->userdata);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct netlink *netlink = data;
	int err;

	do {
		errno = 0;
		err = nl_recvmsgs_default(netlink->notify);
	} while (err >= 0);
	if (err != -NLE_AGAIN) {
		/* ENOBUFS is what libnl calls NLE_NOMEM here. */
		log_debug("netlink notifications were lost: %s", nl_geterror(err));
		look_again(netlink);
	}
	return 0;
}

/* ----------------------------------------------------------- open and close */

static int open_sockets(struct netlink *netlink)
{
	int group, err;

	netlink->command = nl_socket_alloc();
	netlink->notify = nl_socket_alloc();
	if (!netlink->command || !netlink->notify)
		return -ENOMEM;
	err = genl_connect(netlink->command);
	if (err >= 0)
		err = genl_connect(netlink->notify);
	if (err < 0)
		return from_libnl(err);
	/* A command that has no reply asks for an acknowledgement itself. */
	nl_socket_disable_auto_ack(netlink->command);
	nl_socket_disable_seq_check(netlink->notify);
	err = nl_socket_modify_cb(netlink->notify, NL_CB_VALID, NL_CB_CUSTOM, on_notification,
				  netlink);
	if (err >= 0)
		err = nl_socket_set_nonblocking(netlink->notify);
	if (err < 0)
		return from_libnl(err);
	group = genl_ctrl_resolve_grp(netlink->command, "nlctrl", "notify");
	if (group < 0)
		return from_libnl(group);
	err = nl_socket_add_membership(netlink->notify, group);
	return err < 0 ? from_libnl(err) : 0;
}

int netlink_open(sd_event *event, const struct netlink_events *events, void *userdata,
		 struct netlink **out)
{
	struct netlink *netlink = calloc(1, sizeof(*netlink));
	int err;

	if (!netlink)
		return -ENOMEM;
	netlink->event = event;
	netlink->events = events;
	netlink->userdata = userdata;
	err = open_sockets(netlink);
	if (!err)
		err = sd_event_add_io(event, &netlink->source, nl_socket_get_fd(netlink->notify),
				      EPOLLIN, on_readable, netlink);
	if (err < 0) {
		netlink_close(netlink);
		return err;
	}
	*out = netlink;
	return 0;
}

void netlink_start(struct netlink *netlink)
{
	attach(netlink);
}

void netlink_close(struct netlink *netlink)
{
	if (!netlink)
		return;
	sd_event_source_disable_unref(netlink->source);
	sd_event_source_disable_unref(netlink->retry);
	nl_socket_free(netlink->notify);
	nl_socket_free(netlink->command);
	free(netlink);
}
