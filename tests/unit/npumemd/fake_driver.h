/* SPDX-License-Identifier: MIT */
/*
 * A driver for npumemd that is none: npumemd_faked is npumemd, linked with functions that take the
 * place of libnl's. What it finds is what test_npumemd_process says.
 */
#pragma once

/* Environment variable: number of the SOCK_SEQPACKET socket that records come by. */
#define FAKE_DRIVER "NPUMEMD_FAKE_DRIVER"

/*
 * struct fake_driver - a record: what there is, and what npumemd hears of it
 * @family: number of the driver's family; 0: it is not loaded
 * @refuses: negative errno that REGISTER is answered with
 * @command: CTRL_CMD_NEWFAMILY or CTRL_CMD_DELFAMILY; 0: notifications were lost
 *
 * The first one is there before npumemd starts, and is no notification.
 */
struct fake_driver {
	int family;
	int refuses;
	int command;
};
