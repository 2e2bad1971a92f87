/* SPDX-License-Identifier: MIT */
/*
 * What of TensorFlow Lite's C interface a delegate that borrows kernels depends on: the layouts of
 * 2.9.0 to 2.14.1 on 64-bit machines. Structs that have grown since are here as far as all of
 * these versions have them; what comes behind is never read, and written as zeros.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tfl_status {
	TFL_OK = 0,
	TFL_ERROR = 1,
	TFL_DELEGATE_ERROR = 2,
};

enum tfl_type {
	TFL_FLOAT32 = 1,
	TFL_INT32 = 2,
	TFL_UINT8 = 3,
	TFL_INT64 = 4,
	TFL_STRING = 5,
	TFL_BOOL = 6,
	TFL_INT16 = 7,
	TFL_COMPLEX64 = 8,
	TFL_INT8 = 9,
	TFL_FLOAT16 = 10,
	TFL_FLOAT64 = 11,
	TFL_COMPLEX128 = 12,
	TFL_UINT64 = 13,
	TFL_RESOURCE = 14,
	TFL_VARIANT = 15,
	TFL_UINT32 = 16,
	TFL_UINT16 = 17,
	/* Types of later versions have larger numbers, but not as large as this. */
	TFL_TYPES = 64,
};

enum tfl_allocation {
	TFL_NONE = 0,
	TFL_MMAP_RO = 1,
	TFL_ARENA = 2,
	TFL_ARENA_PERSISTENT = 3,
	TFL_DYNAMIC = 4,
	TFL_PERSISTENT_RO = 5,
	TFL_CUSTOM = 6,
	TFL_ALLOCATIONS = 16,
};

/* Numbers of operators that are treated otherwise than the rest. */
enum tfl_operator {
	TFL_OP_ADD = 0,
	TFL_OP_MUL = 18,
	TFL_OP_CALL = 31,
	TFL_OP_CUSTOM = 32,
	TFL_OP_SUB = 41,
	TFL_OP_DELEGATE = 51,
	TFL_OP_IF = 118,
	TFL_OP_WHILE = 119,
	TFL_OP_CALL_ONCE = 129,
};

#define TFL_MAX_DIMS 64
#define TFL_OPTIONAL (-1) /* an input that the node does without */

struct tfl_ints {
	int size;
	int data[];
};

struct tfl_floats {
	int size;
	float data[];
};

/* What a tensor's quantization points to if it is of TFL_AFFINE. */
struct tfl_affine {
	struct tfl_floats *scale;
	struct tfl_ints *zero_point;
	int32_t dimension;
};

#define TFL_AFFINE 1

/* What an integer stands for: @scale * (it - @zero_point). */
struct tfl_quantization {
	float scale;
	int32_t zero_point;
};

struct tfl_delegate;

struct tfl_tensor {
	int type;
	union {
		void *raw;
	} data;
	struct tfl_ints *dims;
	struct tfl_quantization params;
	int allocation_type;
	size_t bytes;
	const void *allocation;
	const char *name;
	struct tfl_delegate *delegate;
	int buffer_handle;
	uint8_t data_is_stale;
	uint8_t is_variable;
	struct {
		int type;
		void *params;
	} quantization;
	void *sparsity;
	const struct tfl_ints *dims_signature;
};

struct tfl_node {
	struct tfl_ints *inputs;
	struct tfl_ints *outputs;
	struct tfl_ints *intermediates;
	struct tfl_ints *temporaries;
	void *user_data;
	void *builtin_data;
	const void *custom_initial_data;
	int custom_initial_data_size;
	struct tfl_delegate *delegate;
	uint8_t might_have_side_effect;
};

struct tfl_context;

/* Versions after 2.9 have more at the end: tfl_registration_padded is what they are given. */
struct tfl_registration {
	void *(*init)(struct tfl_context *context, const char *buffer, size_t length);
	void (*free)(struct tfl_context *context, void *buffer);
	int (*prepare)(struct tfl_context *context, struct tfl_node *node);
	int (*invoke)(struct tfl_context *context, struct tfl_node *node);
	const char *(*profiling_string)(const struct tfl_context *context,
					const struct tfl_node *node);
	int32_t builtin_code;
	const char *custom_name;
	int version;
};

/* It is passed by value, so a runtime reads as much as its own struct has. */
struct tfl_registration_padded {
	struct tfl_registration known;
	uint8_t later[128];
};

struct tfl_context {
	size_t tensors_size;
	int (*get_execution_plan)(struct tfl_context *context, struct tfl_ints **plan);
	struct tfl_tensor *tensors;
	void *impl;
	int (*resize_tensor)(struct tfl_context *context, struct tfl_tensor *tensor,
			     struct tfl_ints *size);
	void (*report_error)(struct tfl_context *context, const char *format, ...);
	int (*add_tensors)(struct tfl_context *context, int count, int *first);
	int (*get_node_and_registration)(struct tfl_context *context, int index,
					 struct tfl_node **node,
					 struct tfl_registration **registration);
	int (*replace_nodes)(struct tfl_context *context,
			     struct tfl_registration_padded registration,
			     const struct tfl_ints *nodes, struct tfl_delegate *delegate);
};

/* What the init function of a delegate's node gets as its buffer. */
struct tfl_delegate_params {
	struct tfl_delegate *delegate;
	struct tfl_ints *nodes;
	struct tfl_ints *inputs;
	struct tfl_ints *outputs;
};

/* The delegate may claim nodes of a graph with dynamic tensors; its inputs can be resized. */
#define TFL_DELEGATE_ALLOW_DYNAMIC 1

struct tfl_delegate {
	void *data;
	int (*prepare)(struct tfl_context *context, struct tfl_delegate *delegate);
	int (*copy_from)(struct tfl_context *context, struct tfl_delegate *delegate, int handle,
			 struct tfl_tensor *tensor);
	int (*copy_to)(struct tfl_context *context, struct tfl_delegate *delegate, int handle,
		       struct tfl_tensor *tensor);
	void (*free_handle)(struct tfl_context *context, struct tfl_delegate *delegate,
			    int *handle);
	int64_t flags;
	uint8_t later[64];
};

#define TFL_AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is elsewhere")

_Static_assert(sizeof(void *) == 8, "the layouts are those of 64-bit machines");
_Static_assert(sizeof(struct tfl_tensor) == 112, "tfl_tensor has another size");
TFL_AT(tfl_tensor, data, 8);
TFL_AT(tfl_tensor, dims, 16);
TFL_AT(tfl_tensor, allocation_type, 32);
TFL_AT(tfl_tensor, bytes, 40);
TFL_AT(tfl_tensor, name, 56);
TFL_AT(tfl_tensor, delegate, 64);
TFL_AT(tfl_tensor, buffer_handle, 72);
TFL_AT(tfl_tensor, data_is_stale, 76);
TFL_AT(tfl_tensor, is_variable, 77);
TFL_AT(tfl_tensor, quantization, 80);
TFL_AT(tfl_tensor, sparsity, 96);
_Static_assert(sizeof(struct tfl_node) == 80, "tfl_node has another size");
TFL_AT(tfl_node, temporaries, 24);
TFL_AT(tfl_node, builtin_data, 40);
TFL_AT(tfl_node, delegate, 64);
_Static_assert(sizeof(struct tfl_registration) == 64, "tfl_registration has another size");
TFL_AT(tfl_registration, builtin_code, 40);
TFL_AT(tfl_registration, custom_name, 48);
TFL_AT(tfl_context, tensors, 16);
TFL_AT(tfl_context, resize_tensor, 32);
TFL_AT(tfl_context, report_error, 40);
TFL_AT(tfl_context, get_node_and_registration, 56);
TFL_AT(tfl_context, replace_nodes, 64);
TFL_AT(tfl_delegate_params, outputs, 24);
TFL_AT(tfl_delegate, flags, 40);
