/* SPDX-License-Identifier: MIT */
/*
 * What an operator of a TFLite model is as a command of the process engine.
 */
#pragma once

#include "maker.h"

/** maker_run() - operands, scales and attributes of the operator that the maker is of */
void maker_run(struct command_maker *m);
