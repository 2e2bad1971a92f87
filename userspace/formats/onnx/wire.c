/* SPDX-License-Identifier: MIT */
#include "wire.h"

/* Highest number that a field can have. */
#define MAX_FIELD ((1u << 29) - 1)

static bool next_varint(struct wire *message, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && message->at < message->end; shift += 7) {
		uint8_t byte = *message->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool wire_next(struct wire *message, struct wire_field *field)
{
	uint64_t tag, value, length = 0;

	if (!next_varint(message, &tag))
		return false;
	*field = (struct wire_field){ .number = tag >> 3, .type = tag & 7 };
	if (!field->number || field->number > MAX_FIELD)
		return false;
	switch (field->type) {
	case WIRE_VARINT:
		return next_varint(message, &value);
	case WIRE_64_BITS:
		length = 8;
		break;
	case WIRE_BYTES:
		if (!next_varint(message, &length))
			return false;
		break;
	case WIRE_32_BITS:
		length = 4;
		break;
	default:
		/* Groups: no schema of today has them. */
		return false;
	}
	if (length > (uint64_t)(message->end - message->at))
		return false;
	field->inside = (struct wire){ message->at, message->at + length };
	message->at += length;
	return true;
}

bool onnx_is_model(const uint8_t *data, size_t size)
{
	struct wire message = { data, data + size };
	bool has_version = false, has_graph = false;
	struct wire_field field;

	while (message.at < message.end) {
		if (!wire_next(&message, &field))
			return false;
		has_version |= field.number == ONNX_MODEL_IR_VERSION && field.type == WIRE_VARINT;
		has_graph |= field.number == ONNX_MODEL_GRAPH && field.type == WIRE_BYTES;
	}
	return has_version && has_graph;
}
