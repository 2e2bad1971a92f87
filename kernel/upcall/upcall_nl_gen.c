// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/npumem.yaml */
/* YNL-GEN kernel source */
/* To regenerate run: scripts/ynl-gen */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "upcall_nl_gen.h"

#include <uapi/npumem_netlink.h>

/* NPUMEM_CMD_REGISTER - do */
static const struct nla_policy npumem_register_nl_policy[NPUMEM_A_DAEMON_NAME + 1] = {
	[NPUMEM_A_DAEMON_VERSION] = { .type = NLA_U32, },
	[NPUMEM_A_DAEMON_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* NPUMEM_CMD_DONE - do */
static const struct nla_policy npumem_done_nl_policy[NPUMEM_A_UPCALL_GRAPH_SIZE + 1] = {
	[NPUMEM_A_UPCALL_ID] = { .type = NLA_U64, },
	[NPUMEM_A_UPCALL_STATUS] = NLA_POLICY_MAX(NLA_U32, NPUMEM_MAX_STATUS),
	[NPUMEM_A_UPCALL_MESSAGE] = { .type = NLA_NUL_STRING, .len = NPUMEM_MAX_MESSAGE, },
	[NPUMEM_A_UPCALL_GRAPH_SIZE] = { .type = NLA_U64, },
};

/* Ops table for npumem */
static const struct genl_split_ops npumem_nl_ops[] = {
	{
		.cmd		= NPUMEM_CMD_REGISTER,
		.doit		= npumem_nl_register_doit,
		.policy		= npumem_register_nl_policy,
		.maxattr	= NPUMEM_A_DAEMON_NAME,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= NPUMEM_CMD_ACCEPT,
		.doit	= npumem_nl_accept_doit,
		.flags	= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= NPUMEM_CMD_DONE,
		.doit		= npumem_nl_done_doit,
		.policy		= npumem_done_nl_policy,
		.maxattr	= NPUMEM_A_UPCALL_GRAPH_SIZE,
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group npumem_nl_mcgrps[] = {
	[NPUMEM_NLGRP_REQUESTS] = { "requests", },
	[NPUMEM_NLGRP_EVENTS] = { "events", },
};

struct genl_family npumem_nl_family __ro_after_init = {
	.name		= NPUMEM_FAMILY_NAME,
	.version	= NPUMEM_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= npumem_nl_ops,
	.n_split_ops	= ARRAY_SIZE(npumem_nl_ops),
	.mcgrps		= npumem_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(npumem_nl_mcgrps),
};
