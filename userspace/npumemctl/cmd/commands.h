/* SPDX-License-Identifier: MIT */
/* The commands, one file each. */
#ifndef NPUMEMCTL_COMMANDS_H
#define NPUMEMCTL_COMMANDS_H

/*
 * A command parses its own arguments with argp and returns an exit code.
 * @argv[0] is "npumemctl COMMAND".
 */
int cmd_devices(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_bench(int argc, char **argv);

#endif /* NPUMEMCTL_COMMANDS_H */
