/* SPDX-License-Identifier: MIT */
/* Attributes of nodes. One of another type than its operator has fails. */
#include "reader.h"

#include <errno.h>
#include <string.h>

const Onnx__AttributeProto *onnx_attr(const struct onnx_node *n, const char *name)
{
	for (size_t i = 0; i < n->proto->n_attribute; i++)
		if (n->proto->attribute[i]->name && !strcmp(n->proto->attribute[i]->name, name))
			return n->proto->attribute[i];
	return NULL;
}

/* Of one type; NULL if it is not there, or has another. */
static const Onnx__AttributeProto *typed(struct onnx_reader *r, const struct onnx_node *n,
					 const char *name, Onnx__AttributeProto__AttributeType type)
{
	const Onnx__AttributeProto *attr = onnx_attr(n, name);

	/* The oldest models have no types of attributes. */
	if (!attr || attr->type == type ||
	    attr->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
		return attr;
	onnx_fail(r, -EINVAL, "%s: attribute '%s' has type %d, must have %d", onnx_node_text(n).s,
		  name, (int)attr->type, (int)type);
	return NULL;
}

int64_t onnx_attr_int(struct onnx_reader *r, const struct onnx_node *n, const char *name,
		      int64_t otherwise)
{
	const Onnx__AttributeProto *attr =
		typed(r, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

	return attr ? attr->i : otherwise;
}

float onnx_attr_float(struct onnx_reader *r, const struct onnx_node *n, const char *name,
		      float otherwise)
{
	const Onnx__AttributeProto *attr =
		typed(r, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

	return attr ? attr->f : otherwise;
}

/* A text is bytes in the file; protobuf-c puts no NUL behind them. The model's live longer. */
const char *onnx_attr_text(struct onnx_reader *r, const struct onnx_node *n, const char *name,
			   const char *otherwise)
{
	static const char *const known[] = {
		"NOTSET",
		"SAME_UPPER",
		"SAME_LOWER",
		"VALID",
		"nearest",
		"linear",
		"cubic",
		"constant",
		"edge",
		"reflect",
		"wrap",
		"forward",
		"reverse",
		"none",
		"mean",
		"sum",
		"DCR",
		"CRD",
		"bidirectional",
		"stretch",
		"not_larger",
		"not_smaller",
		"tf_crop_and_resize",
		"tf_half_pixel_for_nn",
	};
	const Onnx__AttributeProto *attr =
		typed(r, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

	if (!attr)
		return otherwise;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i]) == attr->s.len && !memcmp(known[i], attr->s.data, attr->s.len))
			return known[i];
	/* Whatever it is: nothing that is asked for. */
	return "?";
}

const int64_t *onnx_attr_ints(struct onnx_reader *r, const struct onnx_node *n, const char *name,
			      size_t *count)
{
	static const int64_t none;
	const Onnx__AttributeProto *attr =
		typed(r, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

	*count = attr ? attr->n_ints : 0;
	if (!attr)
		return NULL;
	return attr->n_ints ? attr->ints : &none;
}

const float *onnx_attr_floats(struct onnx_reader *r, const struct onnx_node *n, const char *name,
			      size_t *count)
{
	static const float none;
	const Onnx__AttributeProto *attr =
		typed(r, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);

	*count = attr ? attr->n_floats : 0;
	if (!attr)
		return NULL;
	return attr->n_floats ? attr->floats : &none;
}

const Onnx__TensorProto *onnx_attr_tensor(struct onnx_reader *r, const struct onnx_node *n,
					  const char *name)
{
	const Onnx__AttributeProto *attr =
		typed(r, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);

	return attr ? attr->t : NULL;
}
