// SPDX-License-Identifier: MIT
#include <stdbool.h>

#include "npumem_fake_daemon.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "npumem_test.h"

#define MAX_ATTRS 31

/* libnl's receive calls turn kernel errors into its own: read messages raw. */

/*
 * struct reply - what one command was answered
 * @attrs: of the answer, within @data; NULL if it was only acknowledged
 */
struct reply {
	int err;
	unsigned char *data;
	struct nlattr *attrs[MAX_ATTRS + 1];
};

int fake_open(struct fake_daemon *daemon)
{
	return fake_open_port(daemon, 0);
}

int fake_open_port(struct fake_daemon *daemon, uint32_t port)
{
	int err;

	memset(daemon, 0, sizeof(*daemon));
	daemon->sock = nl_socket_alloc();
	if (!daemon->sock)
		return -ENOMEM;
	nl_socket_disable_seq_check(daemon->sock);
	if (port)
		nl_socket_set_local_port(daemon->sock, port);
	err = genl_connect(daemon->sock);
	if (!err) {
		daemon->family = genl_ctrl_resolve(daemon->sock, NPUMEM_FAMILY_NAME);
		if (daemon->family < 0)
			err = -ENOENT;
	}
	if (err) {
		nl_socket_free(daemon->sock);
		daemon->sock = NULL;
	}
	return err ? -ENOENT : 0;
}

void fake_close(struct fake_daemon *daemon)
{
	if (daemon->sock)
		nl_socket_free(daemon->sock);
	daemon->sock = NULL;
}

int fake_join(struct fake_daemon *daemon, const char *group)
{
	int id = genl_ctrl_resolve_grp(daemon->sock, NPUMEM_FAMILY_NAME, group);
	int fd = nl_socket_get_fd(daemon->sock);

	if (id < 0)
		return -ENOENT;
	/* Not by libnl: the kernel's own errno is wanted. */
	return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &id, sizeof(id)) ? -errno : 0;
}

/* One datagram, as it comes; *data is malloc'ed. Its bytes, or an errno. */
static int receive(struct fake_daemon *daemon, unsigned char **data)
{
	struct pollfd pfd = { .fd = nl_socket_get_fd(daemon->sock), .events = POLLIN };
	size_t size = 65536;
	ssize_t got;
	int n;

	n = poll(&pfd, 1, NPU_PATIENCE_NS / 1000000);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	*data = malloc(size);
	if (!*data)
		return -ENOMEM;
	got = recv(pfd.fd, *data, size, 0);
	if (got < 0) {
		n = -errno;
		free(*data);
		return n;
	}
	return got;
}

/* Send, and collect answer and acknowledgement. */
static int command(struct fake_daemon *daemon, struct nl_msg *msg, struct reply *reply)
{
	struct nlmsghdr *hdr;
	unsigned char *data;
	bool acked = false;
	uint32_t seq;
	int left;

	memset(reply, 0, sizeof(*reply));
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
	nl_complete_msg(daemon->sock, msg);
	seq = nlmsg_hdr(msg)->nlmsg_seq;
	left = nl_send(daemon->sock, msg);
	nlmsg_free(msg);
	if (left < 0)
		return -EIO;

	while (!acked) {
		left = receive(daemon, &data);
		if (left < 0)
			return left;
		for (hdr = (struct nlmsghdr *)data; nlmsg_ok(hdr, left);
		     hdr = nlmsg_next(hdr, &left)) {
			struct genlmsghdr *genl = nlmsg_data(hdr);

			if (hdr->nlmsg_type == NLMSG_ERROR && hdr->nlmsg_seq == seq) {
				reply->err = ((struct nlmsgerr *)nlmsg_data(hdr))->error;
				acked = true;
			} else if (hdr->nlmsg_type == daemon->family && hdr->nlmsg_seq == seq) {
				nla_parse(reply->attrs, MAX_ATTRS, genlmsg_attrdata(genl, 0),
					  genlmsg_attrlen(genl, 0), NULL);
				reply->data = data;
			} else if (hdr->nlmsg_type == daemon->family &&
				   genl->cmd == NPUMEM_CMD_READY) {
				daemon->ready++;
			}
		}
		if (reply->data != data)
			free(data);
	}
	return reply->err;
}

static struct nl_msg *message(struct fake_daemon *daemon, uint8_t cmd)
{
	/* libnl's default is a page: no room for the longest message text. */
	struct nl_msg *msg = nlmsg_alloc_size(4 * NPUMEM_MAX_MESSAGE);

	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, daemon->family, 0, 0, cmd,
				 NPUMEM_FAMILY_VERSION)) {
		fprintf(stderr, "# no memory\n");
		exit(1);
	}
	return msg;
}

int fake_register(struct fake_daemon *daemon, uint32_t version, const char *name)
{
	struct nl_msg *msg = message(daemon, NPUMEM_CMD_REGISTER);
	struct reply reply;
	int err;

	if (version)
		nla_put_u32(msg, NPUMEM_A_DAEMON_VERSION, version);
	if (name)
		nla_put_string(msg, NPUMEM_A_DAEMON_NAME, name);
	err = command(daemon, msg, &reply);
	free(reply.data);
	return err;
}

static uint32_t number_or_none(const struct nlattr *attribute)
{
	return attribute ? nla_get_u32(attribute) : (uint32_t)-1;
}

int fake_accept(struct fake_daemon *daemon, struct fake_request *request)
{
	struct nlattr *attrs[NPUMEM_A_REQUEST_MAX + 1] = { 0 };
	struct reply reply;
	int err;

	memset(request, 0, sizeof(*request));
	request->fd = -1;
	err = command(daemon, message(daemon, NPUMEM_CMD_ACCEPT), &reply);
	if (!err && (!reply.data || !reply.attrs[NPUMEM_A_UPCALL_ID] ||
		     !reply.attrs[NPUMEM_A_UPCALL_FD] || !reply.attrs[NPUMEM_A_UPCALL_REQUEST] ||
		     nla_parse_nested(attrs, NPUMEM_A_REQUEST_MAX,
				      reply.attrs[NPUMEM_A_UPCALL_REQUEST], NULL) < 0 ||
		     !attrs[NPUMEM_A_REQUEST_GRAPH_SIZE] || !attrs[NPUMEM_A_REQUEST_DEADLINE] ||
		     !attrs[NPUMEM_A_REQUEST_OBJECTIVE] || !attrs[NPUMEM_A_REQUEST_ARENA_BUDGET]))
		err = -EPROTO;
	if (!err) {
		request->id = nla_get_u64(reply.attrs[NPUMEM_A_UPCALL_ID]);
		request->fd = (int32_t)nla_get_u32(reply.attrs[NPUMEM_A_UPCALL_FD]);
		request->graph_size = nla_get_u64(attrs[NPUMEM_A_REQUEST_GRAPH_SIZE]);
		request->objective = nla_get_u32(attrs[NPUMEM_A_REQUEST_OBJECTIVE]);
		request->arena_budget = nla_get_u64(attrs[NPUMEM_A_REQUEST_ARENA_BUDGET]);
		request->deadline = nla_get_u64(attrs[NPUMEM_A_REQUEST_DEADLINE]);
		if (attrs[NPUMEM_A_REQUEST_PLANNER])
			nla_strlcpy(request->planner, attrs[NPUMEM_A_REQUEST_PLANNER],
				    sizeof(request->planner));
		if (attrs[NPUMEM_A_REQUEST_OPTIONS_SIZE])
			request->options_size = nla_get_u64(attrs[NPUMEM_A_REQUEST_OPTIONS_SIZE]);
		request->cut = attrs[NPUMEM_A_REQUEST_CUT];
		request->uid = number_or_none(attrs[NPUMEM_A_REQUEST_UID]);
		request->gid = number_or_none(attrs[NPUMEM_A_REQUEST_GID]);
		request->pid = number_or_none(attrs[NPUMEM_A_REQUEST_PID]);
		if (attrs[NPUMEM_A_REQUEST_CGROUP])
			nla_strlcpy(request->cgroup, attrs[NPUMEM_A_REQUEST_CGROUP],
				    sizeof(request->cgroup));
		daemon->accepted[daemon->accepts].id = request->id;
		daemon->accepted[daemon->accepts].fd = request->fd;
		daemon->accepts = (daemon->accepts + 1) % FAKE_ACCEPTED;
	}
	free(reply.data);
	return err;
}

int fake_outcome(int fd, struct npumem_request_outcome *outcome)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int n = poll(&pfd, 1, NPU_PATIENCE_NS / 1000000);

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = read(fd, outcome, sizeof(*outcome));
	return n < 0 ? -errno : n == sizeof(*outcome) ? 0 : -EPROTO;
}

/* The descriptor of a request accepted; they are few. */
static int fd_of(const struct fake_daemon *daemon, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < FAKE_ACCEPTED; i++)
		if (daemon->accepted[i].id == id)
			return daemon->accepted[i].fd;
	return -1;
}

/* Send DONE, and wait for what becomes of the request. */
static int done(struct fake_daemon *daemon, uint64_t id, struct nl_msg *msg,
		struct fake_settled *settled)
{
	struct npumem_request_outcome outcome;
	struct fake_settled ignored;
	struct reply reply;
	int err;

	settled = settled ? settled : &ignored;
	memset(settled, 0, sizeof(*settled));
	err = command(daemon, msg, &reply);
	free(reply.data);
	if (!err)
		err = fake_outcome(fd_of(daemon, id), &outcome);
	if (err)
		return err;
	settled->status = outcome.status;
	snprintf(settled->message, sizeof(settled->message), "%s", outcome.message);
	settled->has_verdict = outcome.verdict.rule != NPUMEM_RULE_NONE;
	settled->verdict = outcome.verdict;
	return 0;
}

int fake_done(struct fake_daemon *daemon, uint64_t id, uint32_t status, const char *text,
	      struct fake_settled *settled)
{
	struct nl_msg *msg = message(daemon, NPUMEM_CMD_DONE);

	nla_put_u64(msg, NPUMEM_A_UPCALL_ID, id);
	nla_put_u32(msg, NPUMEM_A_UPCALL_STATUS, status);
	if (text)
		nla_put_string(msg, NPUMEM_A_UPCALL_MESSAGE, text);
	return done(daemon, id, msg, settled);
}

int fake_done_cut(struct fake_daemon *daemon, uint64_t id, uint32_t status, uint64_t graph_size,
		  struct fake_settled *settled)
{
	struct nl_msg *msg = message(daemon, NPUMEM_CMD_DONE);

	nla_put_u64(msg, NPUMEM_A_UPCALL_ID, id);
	nla_put_u32(msg, NPUMEM_A_UPCALL_STATUS, status);
	nla_put_u64(msg, NPUMEM_A_UPCALL_GRAPH_SIZE, graph_size);
	return done(daemon, id, msg, settled);
}

int fake_done_only(struct fake_daemon *daemon, uint64_t id)
{
	const uint32_t status = 0;

	return fake_done_without(daemon, &id, &status);
}

int fake_done_without(struct fake_daemon *daemon, const uint64_t *id, const uint32_t *status)
{
	struct nl_msg *msg = message(daemon, NPUMEM_CMD_DONE);
	struct reply reply;
	int err;

	if (id)
		nla_put_u64(msg, NPUMEM_A_UPCALL_ID, *id);
	if (status)
		nla_put_u32(msg, NPUMEM_A_UPCALL_STATUS, *status);
	err = command(daemon, msg, &reply);
	free(reply.data);
	return err;
}

int fake_wait_ready(struct fake_daemon *daemon)
{
	struct nlmsghdr *hdr;
	unsigned char *data;
	int left;

	while (!daemon->ready) {
		left = receive(daemon, &data);
		if (left < 0)
			return left;
		for (hdr = (struct nlmsghdr *)data; nlmsg_ok(hdr, left);
		     hdr = nlmsg_next(hdr, &left)) {
			struct genlmsghdr *genl = nlmsg_data(hdr);

			if (hdr->nlmsg_type == daemon->family && genl->cmd == NPUMEM_CMD_READY)
				daemon->ready++;
		}
		free(data);
	}
	daemon->ready--;
	return 0;
}

int fake_accept_before(struct fake_daemon *daemon, int fd, struct drm_npumem_plan_request *args,
		       int64_t *ns, struct fake_request *request)
{
	struct drm_npumem_handle plan = { 0 };
	int err;

	for (; *ns < NPUMEM_MAX_REQUEST_NS / 2; *ns *= 2) {
		args->deadline_ns = npu_now() + *ns;
		err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, args);
		if (err == -ETIMEDOUT)
			continue;
		if (!err)
			err = fake_accept(daemon, request);
		if (err != -ENOENT)
			return err;
		plan.handle = args->handle;
		err = npu_ioctl(fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, &plan);
		if (err)
			return err;
	}
	return -ETIMEDOUT;
}

static uint32_t index_of(struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : NPUMEM_NONE;
}

/* The verdict that stands in a nested attribute. */
static int parse_verdict(struct nlattr *nest, struct npumem_verdict *verdict)
{
	struct nlattr *attrs[NPUMEM_A_VERDICT_MAX + 1];

	if (!nest || !nla_is_nested(nest) ||
	    nla_parse_nested(attrs, NPUMEM_A_VERDICT_MAX, nest, NULL) < 0 ||
	    !attrs[NPUMEM_A_VERDICT_RULE] ||
	    !attrs[NPUMEM_A_VERDICT_FIRST] != !attrs[NPUMEM_A_VERDICT_LENGTH])
		return -EPROTO;
	*verdict = (struct npumem_verdict){
		.rule = nla_get_u32(attrs[NPUMEM_A_VERDICT_RULE]),
		.position = index_of(attrs[NPUMEM_A_VERDICT_POSITION]),
		.step = index_of(attrs[NPUMEM_A_VERDICT_STEP]),
		.tile = index_of(attrs[NPUMEM_A_VERDICT_TILE]),
		.tensor = index_of(attrs[NPUMEM_A_VERDICT_TENSOR]),
		.other_step = index_of(attrs[NPUMEM_A_VERDICT_OTHER_STEP]),
		.other_tile = index_of(attrs[NPUMEM_A_VERDICT_OTHER_TILE]),
		.other_tensor = index_of(attrs[NPUMEM_A_VERDICT_OTHER_TENSOR]),
	};
	if (attrs[NPUMEM_A_VERDICT_LENGTH]) {
		verdict->first = nla_get_u64(attrs[NPUMEM_A_VERDICT_FIRST]);
		verdict->length = nla_get_u64(attrs[NPUMEM_A_VERDICT_LENGTH]);
	}
	return 0;
}

int fake_wait_event(struct fake_daemon *daemon, struct fake_event *event)
{
	struct nlattr *attrs[MAX_ATTRS + 1];
	struct genlmsghdr *genl;
	struct nlmsghdr *hdr;
	unsigned char *data;
	int left;

	memset(event, 0, sizeof(*event));
	while (!event->cmd) {
		left = receive(daemon, &data);
		if (left < 0)
			return left;
		hdr = (struct nlmsghdr *)data;
		genl = nlmsg_data(hdr);
		if (!nlmsg_ok(hdr, left) || hdr->nlmsg_type != daemon->family ||
		    (genl->cmd != NPUMEM_CMD_VERDICT && genl->cmd != NPUMEM_CMD_FAULT)) {
			free(data);
			continue;
		}
		memset(attrs, 0, sizeof(attrs));
		nla_parse(attrs, MAX_ATTRS, genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0),
			  NULL);
		if (!attrs[NPUMEM_A_EVENT_PID] ||
		    parse_verdict(attrs[NPUMEM_A_EVENT_VERDICT], &event->verdict)) {
			free(data);
			return -EPROTO;
		}
		event->cmd = genl->cmd;
		event->pid = nla_get_u32(attrs[NPUMEM_A_EVENT_PID]);
		if (attrs[NPUMEM_A_EVENT_RUN])
			event->run = nla_get_u64(attrs[NPUMEM_A_EVENT_RUN]);
		if (attrs[NPUMEM_A_EVENT_MESSAGE])
			snprintf(event->message, sizeof(event->message), "%s",
				 nla_get_string(attrs[NPUMEM_A_EVENT_MESSAGE]));
		free(data);
	}
	return 0;
}
