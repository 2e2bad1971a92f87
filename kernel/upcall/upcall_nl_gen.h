/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/npumem.yaml */
/* YNL-GEN kernel header */
/* To regenerate run: scripts/ynl-gen */

#ifndef _LINUX_NPUMEM_GEN_H
#define _LINUX_NPUMEM_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/npumem_netlink.h>

int npumem_nl_register_doit(struct sk_buff *skb, struct genl_info *info);
int npumem_nl_accept_doit(struct sk_buff *skb, struct genl_info *info);
int npumem_nl_done_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	NPUMEM_NLGRP_REQUESTS,
	NPUMEM_NLGRP_EVENTS,
};

extern struct genl_family npumem_nl_family;

#endif /* _LINUX_NPUMEM_GEN_H */
