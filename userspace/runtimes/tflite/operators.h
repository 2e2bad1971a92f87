/* SPDX-License-Identifier: MIT */
/* What is known of TensorFlow Lite's operators, by their numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Name as the schema has it; "operator 300" if it is not known here. */
struct operator_text {
	char s[40];
};
struct operator_text operator_name(int32_t code);
/* It runs other graphs, whose memory no plan of this one has. */
bool operator_runs_graphs(int32_t code);
/* Its kernels write byte i of the output after they have read byte i of inputs of equal size. */
bool operator_is_inplace(int32_t code);
