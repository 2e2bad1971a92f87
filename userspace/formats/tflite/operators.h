/* SPDX-License-Identifier: MIT */
/*
 * What an operator of a TFLite model is as a command of the process engine.
 */
#pragma once

#include "maker.h"

/** maker_run() - put operands, scales and attributes of the maker's operator into its command */
void maker_run(struct command_maker *m);
