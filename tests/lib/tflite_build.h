/* SPDX-License-Identifier: MIT */
/*
 * Small TFLite models for tests: a description in C, and a FlatBuffers writer
 * that turns it into a file. Nothing is checked: descriptions may be wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_MAX 20

struct tb_tensor {
	const char *name;
	uint8_t type;
	uint32_t rank;
	int32_t shape[9];
	uint32_t buffer;
	uint8_t variable;
	uint8_t sparse;
	const int32_t *signature; /* NULL, or @rank dimensions */
};

struct tb_code {
	uint8_t deprecated;
	int32_t builtin;
	const char *custom;
};

struct tb_op {
	uint32_t code;
	uint32_t input_count;
	uint32_t output_count;
	int32_t inputs[6];
	int32_t outputs[4];
	uint8_t options_type;
	uint32_t option_count; /* 32-bit values of fields 0, 1, ... */
	int32_t options[9];
	uint8_t no_options_table;
	const char *texts[2]; /* strings of the options' fields 0 and 1, if not NULL */
};

struct tb_buffer {
	uint32_t size;
	const void *data; /* NULL: zeroes */
	uint64_t offset;
	uint64_t offset_size;
};

struct tb_metadata {
	const char *name;
	uint32_t buffer;
};

/* A subgraph but the first. */
struct tb_subgraph {
	uint32_t tensor_count;
	uint32_t op_count;
	uint32_t input_count;
	uint32_t output_count;
	struct tb_tensor tensors[TB_MAX];
	struct tb_op ops[TB_MAX];
	int32_t inputs[TB_MAX];
	int32_t outputs[TB_MAX];
};

/*
 * struct tb_model - model, whose first subgraph's parts are its own
 * @subgraphs: how many there are
 * @more: those after the first, up to @more_count of them; others are empty
 */
struct tb_model {
	uint32_t version;
	uint32_t subgraphs;
	uint32_t tensor_count;
	uint32_t code_count;
	uint32_t op_count;
	uint32_t buffer_count;
	uint32_t input_count;
	uint32_t output_count;
	struct tb_tensor tensors[TB_MAX];
	struct tb_code codes[TB_MAX];
	struct tb_op ops[TB_MAX];
	struct tb_buffer buffers[TB_MAX];
	uint32_t metadata_count;
	struct tb_metadata metadata[4];
	int32_t inputs[TB_MAX];
	int32_t outputs[TB_MAX];
	uint32_t more_count;
	const struct tb_subgraph *more;
};

/*
 * struct tb_file - file in the making
 *
 * Places of some parts, for tests that spoil single bytes.
 */
struct tb_file {
	uint8_t bytes[65536];
	size_t size;
	size_t model;
	size_t subgraph;
	size_t tensors; /* first element of the vector */
	size_t shape;	/* of tensor 0: first element */
};

/* A conv2d (SAME, stride 2) of 1x8x8x3 to 1x4x4x2 and a softmax. */
struct tb_model tb_valid(void);
void tb_build(const struct tb_model *model, struct tb_file *file);
/*
 * The model's file in memory of exactly its size, so that sanitizers see reads beyond it; the
 * caller frees it.
 */
void *tb_exact(const struct tb_model *model, size_t *size);
void tb_put(struct tb_file *file, size_t at, uint64_t value, unsigned int bytes);
uint64_t tb_get(const struct tb_file *file, size_t at, unsigned int bytes);
