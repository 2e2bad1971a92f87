/* SPDX-License-Identifier: MIT */
/*
 * What the steps of a TFLite model's graph compute, as commands of a process engine
 * (npumem_command.h), and what its tensors hold before the first of them.
 *
 * A command takes the bytes of each access as they are handed to an engine that gets copies of
 * tiles: those of the access's region, one behind the other, in ascending order.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "npuplan.h"

struct tflite_commands;

/**
 * tflite_commands_new() - look into a model for what its graph does not say
 * @model: the file, which @graph was read from; it has to stay
 * @size: bytes of @model
 * @graph: whole or cut, with its parameters (npuplan_tiling.with_parameters); it has to stay
 * @out: out: tflite_commands_free() it
 * @error: filled in if the call fails; may be NULL
 *
 * -EBADMSG, -EINVAL: as npuimport_tflite(). -EINVAL: the graph is not cut, or is another model's.
 * -EOPNOTSUPP: its tensors are not in N,H,W,C order, it has loops or branches, or operators of
 * subgraphs but the first.
 */
int tflite_commands_new(const void *model, size_t size, const struct npuplan_graph *graph,
			struct tflite_commands **out, struct npuplan_error *error);
void tflite_commands_free(struct tflite_commands *commands);

/**
 * tflite_command() - what one step computes
 * @commands: of the graph
 * @step: of the graph
 * @command: out: malloc'ed, its accesses by their numbers in the step; free() it
 * @size: out: bytes at @command
 * @error: filled in if the call fails; may be NULL
 *
 * -EOPNOTSUPP: the engine has no such operator, or not of these types; the sentence says which.
 * -EINVAL: the step does not access what its operator needs, as parameters.
 */
int tflite_command(struct tflite_commands *commands, uint32_t step, void **command, size_t *size,
		   struct npuplan_error *error);

/**
 * tflite_initial_value() - bytes of a tensor before the first inference
 * @commands: of the graph
 * @tensor: of the graph: a parameter, or state
 * @value: as many bytes as the tensor has; written
 * @error: filled in if the call fails; may be NULL
 *
 * State begins with what stands for zero; a resource variable with the constant that CALL_ONCE
 * assigns. -EINVAL: the model says nothing of that tensor. -EOPNOTSUPP: a resource variable begins
 * with something else.
 */
int tflite_initial_value(struct tflite_commands *commands, uint32_t tensor, void *value,
			 struct npuplan_error *error);
