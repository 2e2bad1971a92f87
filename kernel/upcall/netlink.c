// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink side of the upcall: family, commands, multicast groups. The
 * tables are generated from uapi/npumem.yaml (upcall_nl_gen.c).
 *
 * Commands come from user space, in the init network namespace only. The daemon is known
 * by the socket that sent REGISTER, and not by that socket's portid, which another socket
 * may get as soon as the daemon's is closed. A notifier of netlink tells when a socket is
 * closed. (Netlink's private data per socket, genl_sk_priv_get(), would do so more
 * directly, but is not exported to modules.) A command runs inside the daemon's
 * sendmsg(), which holds the socket, so it is not closed meanwhile.
 *
 * Generic netlink holds a lock that all families of the machine share during a command, so
 * no command may take long: DONE leaves verification to a work (upcall.c).
 *
 * No command ends with EINTR or EAGAIN: netlink sends no acknowledgement for the former.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "base/client.h"
#include "upcall_nl_gen.h"
#include "request.h"

/* This takes the place of the generated table, which has no place for flags. */
static const struct genl_multicast_group npumem_nl_groups[] = {
	/* Only the daemon may learn when clients ask for plans. */
	[NPUMEM_NLGRP_REQUESTS] = {
		.name = NPUMEM_MCGRP_REQUESTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
	[NPUMEM_NLGRP_EVENTS] = {
		.name = NPUMEM_MCGRP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

/* --------------------------------------------------------------- multicast */

void npumem_upcall_nl_ready(void)
{
	struct sk_buff *msg;
	void *header;

	/*
	 * A message that is lost for want of memory or room does no lasting harm: the
	 * daemon accepts until nothing waits, and deadlines end the rest.
	 */
	msg = genlmsg_new(0, GFP_KERNEL);
	if (!msg)
		return;
	header = genlmsg_put(msg, 0, 0, &npumem_nl_family, 0, NPUMEM_CMD_READY);
	if (!header) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, header);
	genlmsg_multicast(&npumem_nl_family, msg, 0, NPUMEM_NLGRP_REQUESTS, GFP_KERNEL);
}

static u32 minor(const struct npu_device *dev)
{
	return dev->drm.accel ? dev->drm.accel->index : dev->drm.render->index;
}

/* Room for nl_put_verdict(). */
static size_t nl_verdict_size(void)
{
	return nla_total_size(8 * nla_total_size(sizeof(u32)) +
			      2 * nla_total_size_64bit(sizeof(u64)));
}

/* An index that is none is left out. */
static int nl_put_index(struct sk_buff *msg, int attribute, u32 index)
{
	return index == NPUMEM_NONE ? 0 : nla_put_u32(msg, attribute, index);
}

static int nl_put_verdict(struct sk_buff *msg, const struct npumem_verdict *v)
{
	struct nlattr *nest = nla_nest_start(msg, NPUMEM_A_EVENT_VERDICT);

	if (!nest || nla_put_u32(msg, NPUMEM_A_VERDICT_RULE, v->rule) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_POSITION, v->position) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_STEP, v->step) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_TILE, v->tile) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_TENSOR, v->tensor) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_OTHER_STEP, v->other_step) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_OTHER_TILE, v->other_tile) ||
	    nl_put_index(msg, NPUMEM_A_VERDICT_OTHER_TENSOR, v->other_tensor))
		return -EMSGSIZE;
	if (v->length &&
	    (nla_put_u64_64bit(msg, NPUMEM_A_VERDICT_FIRST, v->first, NPUMEM_A_VERDICT_PAD) ||
	     nla_put_u64_64bit(msg, NPUMEM_A_VERDICT_LENGTH, v->length, NPUMEM_A_VERDICT_PAD)))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

/* Longest message of an event without its NUL, in bytes. */
#define NL_MAX_MESSAGE 447

/**
 * struct nl_event - what is told to listeners of "events"
 * @command: NPUMEM_CMD_VERDICT or NPUMEM_CMD_FAULT
 * @dev: device that it is of
 * @run: number of the run, of a fault
 * @pid: process, or zero
 * @message: for people, or NULL
 * @g: where that is NULL: graph whose steps and tensors have names; or NULL
 * @verdict: what was refused
 */
struct nl_event {
	u8 command;
	struct npu_device *dev;
	u64 run;
	pid_t pid;
	const char *message;
	const struct npuv_graph *g;
	const struct npumem_verdict *verdict;
};

static int nl_put_event(struct sk_buff *msg, const struct nl_event *event, const char *message)
{
	void *header = genlmsg_put(msg, 0, 0, &npumem_nl_family, 0, event->command);

	if (!header || nla_put_u32(msg, NPUMEM_A_EVENT_DEVICE, minor(event->dev)) ||
	    nla_put_u32(msg, NPUMEM_A_EVENT_PID, event->pid) || nl_put_verdict(msg, event->verdict))
		return -EMSGSIZE;
	if (event->command == NPUMEM_CMD_FAULT &&
	    nla_put_u64_64bit(msg, NPUMEM_A_EVENT_RUN, event->run, NPUMEM_A_EVENT_PAD))
		return -EMSGSIZE;
	if (*message && nla_put_string(msg, NPUMEM_A_EVENT_MESSAGE, message))
		return -EMSGSIZE;
	genlmsg_end(msg, header);
	return 0;
}

static void upcall_nl_event(const struct nl_event *event)
{
	char message[NL_MAX_MESSAGE + 1] = "";
	struct sk_buff *msg;

	if (!genl_has_listeners(&npumem_nl_family, &init_net, NPUMEM_NLGRP_EVENTS))
		return;
	if (event->message)
		strscpy(message, event->message, sizeof(message));
	else if (event->g)
		npuv_verdict_text(event->g, event->verdict, message, sizeof(message));
	/* A log's lines end. */
	message[strcspn(message, "\n")] = '\0';
	msg = genlmsg_new(2 * nla_total_size(sizeof(u32)) + nla_total_size_64bit(sizeof(u64)) +
				  nl_verdict_size() + nla_total_size(strlen(message) + 1),
			  GFP_KERNEL);
	if (!msg)
		return;
	if (nl_put_event(msg, event, message))
		nlmsg_free(msg);
	else
		genlmsg_multicast(&npumem_nl_family, msg, 0, NPUMEM_NLGRP_EVENTS, GFP_KERNEL);
}

void npumem_upcall_event_verdict(struct npu_device *dev, pid_t pid, const char *message,
				 const struct npuv_graph *g, const struct npumem_verdict *verdict)
{
	const struct nl_event event = {
		.command = NPUMEM_CMD_VERDICT,
		.dev = dev,
		.pid = pid,
		.message = message,
		.g = g,
		.verdict = verdict,
	};

	upcall_nl_event(&event);
}

void npumem_upcall_event_fault(struct npu_device *dev, u64 run, pid_t pid, const char *message,
			       const struct npuv_graph *g, const struct npumem_verdict *verdict)
{
	const struct nl_event event = {
		.command = NPUMEM_CMD_FAULT,
		.dev = dev,
		.run = run,
		.pid = pid,
		.message = message,
		.g = g,
		.verdict = verdict,
	};

	upcall_nl_event(&event);
}

/* ---------------------------------------------------------------- commands */

/* Netlink's EAGAIN means that the daemon's receive buffer is full, which is its own doing. */
static int nl_reply(struct sk_buff *msg, struct genl_info *info)
{
	int err = genlmsg_reply(msg, info);

	return err == -EAGAIN ? -ENOBUFS : err;
}

static int nl_check_daemon(const struct sk_buff *skb, struct genl_info *info)
{
	if (npumem_upcall_is_daemon(NETLINK_CB(skb).sk))
		return 0;
	GENL_SET_ERR_MSG(info, "this socket is not the registered daemon's");
	return -EPERM;
}

int npumem_nl_register_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *name;
	u32 version;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, NPUMEM_A_DAEMON_VERSION) ||
	    GENL_REQ_ATTR_CHECK(info, NPUMEM_A_DAEMON_NAME))
		return -EINVAL;
	version = nla_get_u32(info->attrs[NPUMEM_A_DAEMON_VERSION]);
	if (version != NPUMEM_VERSION) {
		GENL_SET_ERR_MSG_FMT(info, "version %u of the protocol, not %u, is spoken here",
				     NPUMEM_VERSION, version);
		return -EPROTONOSUPPORT;
	}
	err = npumem_upcall_register(NETLINK_CB(skb).sk, info->snd_portid);
	if (err) {
		GENL_SET_ERR_MSG(info, "another daemon is registered");
		return err;
	}
	name = info->attrs[NPUMEM_A_DAEMON_NAME];
	pr_debug("npumem: daemon %*pE registered\n", (int)strlen(nla_data(name)), nla_data(name));
	return 0;
}

/* Whoever may be the daemon has its rights in the initial user namespace; pids are of that, too. */
static int nl_put_client(struct sk_buff *msg, const struct npu_client *client)
{
	uid_t uid = from_kuid(&init_user_ns, npumem_client_uid(client));
	gid_t gid = from_kgid(&init_user_ns, client->gid);

	if (nla_put_u32(msg, NPUMEM_A_REQUEST_UID, uid) ||
	    nla_put_u32(msg, NPUMEM_A_REQUEST_GID, gid) ||
	    nla_put_u32(msg, NPUMEM_A_REQUEST_PID, pid_nr(client->pid)))
		return -EMSGSIZE;
	return client->cgroup ? nla_put_string(msg, NPUMEM_A_REQUEST_CGROUP, client->cgroup) : 0;
}

static int nl_put_request(struct sk_buff *msg, const struct npu_request *req, int fd)
{
	struct nlattr *nest;

	if (nla_put_u64_64bit(msg, NPUMEM_A_UPCALL_ID, req->id, NPUMEM_A_UPCALL_PAD) ||
	    nla_put_s32(msg, NPUMEM_A_UPCALL_FD, fd))
		return -EMSGSIZE;
	nest = nla_nest_start(msg, NPUMEM_A_UPCALL_REQUEST);
	if (!nest ||
	    nla_put_u64_64bit(msg, NPUMEM_A_REQUEST_GRAPH_SIZE, req->graph->size,
			      NPUMEM_A_REQUEST_PAD) ||
	    nla_put_u32(msg, NPUMEM_A_REQUEST_OBJECTIVE, req->objective) ||
	    nla_put_u64_64bit(msg, NPUMEM_A_REQUEST_ARENA_BUDGET, req->arena_budget,
			      NPUMEM_A_REQUEST_PAD) ||
	    nla_put_s64(msg, NPUMEM_A_REQUEST_DEADLINE, req->deadline_ns, NPUMEM_A_REQUEST_PAD))
		return -EMSGSIZE;
	if (req->planner[0] && nla_put_string(msg, NPUMEM_A_REQUEST_PLANNER, req->planner))
		return -EMSGSIZE;
	if (req->options_size && nla_put_u64_64bit(msg, NPUMEM_A_REQUEST_OPTIONS_SIZE,
						   req->options_size, NPUMEM_A_REQUEST_PAD))
		return -EMSGSIZE;
	if (req->cut && nla_put_flag(msg, NPUMEM_A_REQUEST_CUT))
		return -EMSGSIZE;
	if (nl_put_client(msg, req->client))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

/*
 * The fd is put into the daemon's table only when its number is on the way, so
 * that no failure has to take it back; the daemon can use it when its sendmsg()
 * has returned.
 */
int npumem_nl_accept_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct npu_request *req;
	struct sk_buff *msg;
	struct file *file;
	void *header;
	int fd, err;

	err = nl_check_daemon(skb, info);
	if (err)
		return err;
	req = npumem_request_accept();
	if (!req)
		return -ENOENT;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		err = fd;
		goto unaccept;
	}
	file = npumem_request_file(req);
	if (IS_ERR(file)) {
		err = PTR_ERR(file);
		goto put_fd;
	}
	err = -ENOMEM;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		goto put_file;
	header = genlmsg_put_reply(msg, info, &npumem_nl_family, 0, NPUMEM_CMD_ACCEPT);
	err = header ? nl_put_request(msg, req, fd) : -EMSGSIZE;
	if (err) {
		nlmsg_free(msg);
		goto put_file;
	}
	genlmsg_end(msg, header);
	err = nl_reply(msg, info);
	if (err)
		goto put_file;
	npumem_request_opened(req, file);
	fd_install(fd, file);
	npumem_request_put(req);
	return 0;

put_file:
	fput(file);
put_fd:
	put_unused_fd(fd);
unaccept:
	npumem_request_unaccept(req);
	npumem_request_put(req);
	return err;
}

int npumem_nl_done_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *message = info->attrs[NPUMEM_A_UPCALL_MESSAGE];
	const struct nlattr *graph = info->attrs[NPUMEM_A_UPCALL_GRAPH_SIZE];
	struct npu_request_done done = {};
	int err;

	err = nl_check_daemon(skb, info);
	if (err)
		return err;
	if (GENL_REQ_ATTR_CHECK(info, NPUMEM_A_UPCALL_ID) ||
	    GENL_REQ_ATTR_CHECK(info, NPUMEM_A_UPCALL_STATUS))
		return -EINVAL;
	done.id = nla_get_u64(info->attrs[NPUMEM_A_UPCALL_ID]);
	done.status = nla_get_u32(info->attrs[NPUMEM_A_UPCALL_STATUS]);
	if (graph) {
		done.graph_size = nla_get_u64(graph);
		if (done.status || !done.graph_size || done.graph_size % 8) {
			NL_SET_ERR_MSG_ATTR(info->extack, graph,
					    "a graph has a multiple of 8 bytes, and status zero");
			return -EINVAL;
		}
	}
	done.text = kzalloc(NPUMEM_MAX_MESSAGE + 1, GFP_KERNEL);
	if (!done.text)
		return -ENOMEM;
	if (message)
		nla_strscpy(done.text, message, NPUMEM_MAX_MESSAGE + 1);
	err = npumem_request_done(&done);
	if (err == -EINVAL)
		NL_SET_ERR_MSG_ATTR(info->extack, graph, "the request lets nobody cut its graph");
	if (err)
		kfree(done.text);
	return err;
}

/* ------------------------------------------------------------------- family */

static int nl_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *notify = data;

	if (event == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC &&
	    net_eq(notify->net, &init_net))
		npumem_upcall_unregister(notify->portid);
	return NOTIFY_DONE;
}

static struct notifier_block npumem_nl_notifier = {
	.notifier_call = nl_notify,
};

int npumem_upcall_nl_init(void)
{
	int err;

	/* scripts/ynl-gen has no way to say either of these. */
	npumem_nl_family.netnsok = false;
	npumem_nl_family.mcgrps = npumem_nl_groups;
	npumem_nl_family.n_mcgrps = ARRAY_SIZE(npumem_nl_groups);

	/* The notifier comes first, so that no daemon can register and die unseen. */
	err = netlink_register_notifier(&npumem_nl_notifier);
	if (err)
		return err;
	err = genl_register_family(&npumem_nl_family);
	if (err)
		netlink_unregister_notifier(&npumem_nl_notifier);
	return err;
}

void npumem_upcall_nl_exit(void)
{
	genl_unregister_family(&npumem_nl_family);
	netlink_unregister_notifier(&npumem_nl_notifier);
}

MODULE_ALIAS_GENL_FAMILY(NPUMEM_FAMILY_NAME);
