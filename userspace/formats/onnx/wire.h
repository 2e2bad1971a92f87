/* SPDX-License-Identifier: MIT */
/*
 * Protocol Buffers as bytes: the fields of a message one after another. Needs no schema; with it
 * a file is told to be an ONNX model also where no reader of them was built.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a field's value lies in the file. */
enum {
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_BYTES = 2, /* a length, then a text, a message, or packed numbers */
	WIRE_32_BITS = 5,
};

/* Numbers of ModelProto's fields. */
enum {
	ONNX_MODEL_IR_VERSION = 1,
	ONNX_MODEL_GRAPH = 7,
};

/* struct wire - what is left of a message */
struct wire {
	const uint8_t *at;
	const uint8_t *end;
};

/* struct wire_field - one field of a message
 * @inside: of WIRE_BYTES
 */
struct wire_field {
	uint64_t number;
	unsigned int type;
	struct wire inside;
};

/** wire_next() - the next field; false if what is left of the message does not begin with one */
bool wire_next(struct wire *message, struct wire_field *field);

/** onnx_is_model() - whether all bytes are fields, and an ONNX model's are among them */
bool onnx_is_model(const uint8_t *data, size_t size);
