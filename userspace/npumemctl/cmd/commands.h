/* SPDX-License-Identifier: MIT */
/*
 * The commands, in the order of the help text: COMMAND(NAME, summary) is cmd_NAME() in
 * cmd/NAME.c, but help in main.c. It parses its own arguments with argp and returns an exit
 * code; argv[0] is "npumemctl NAME".
 */
#pragma once

#include <stdbool.h>

#define COMMANDS(COMMAND)                                                               \
	COMMAND(devices, "list npumem devices, their carveouts and engines")            \
	COMMAND(device, "list or show devices, as devices does")                        \
	COMMAND(graph, "list or show graphs that are alive in the driver")              \
	COMMAND(top, "show who holds a carveout, and what runs, again and again")       \
	COMMAND(monitor, "print what the driver refuses, as it does")                   \
	COMMAND(history, "draw what top and monitor have recorded")                     \
	COMMAND(status, "show what npumemd has done so far")                            \
	COMMAND(import, "read a model (TFLite, graph JSON, blob), write graph JSON")    \
	COMMAND(plan, "plan a model's memory; no device is needed")                     \
	COMMAND(verify, "check a plan with the kernel's verifier; no device is needed") \
	COMMAND(run, "run a planned model on a device and compare its outputs")         \
	COMMAND(cache, "list, make and remove the plans that npumemd keeps")            \
	COMMAND(show, "draw a plan: one line a step")                                   \
	COMMAND(bench, "pack: pack buffers of CSV files; no device is needed")          \
	COMMAND(help, "print this, or the options of a command")

#define DECLARE(name, summary) int cmd_##name(int argc, char **argv);
COMMANDS(DECLARE)
#undef DECLARE

struct npumem_error;

/* no_device() - say that npumem_device_list() has failed or found none; EXIT_FAILED */
int no_device(const struct npumem_error *error);
/* devices_print() - print what a device says of itself, or all devices, if @device is NULL */
int devices_print(const char *device, bool json);
/*
 * is_verb() - whether the first word after "plan" or "run" is "list" or "show": then it is not a
 * model's file, and what is alive in the driver is meant, which these commands list and show
 */
bool is_verb(int argc, char **argv);
int plan_verb(int argc, char **argv);
int run_verb(int argc, char **argv);
/* Print those verbs that begin so. */
void verbs_complete(const char *typed);
