/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the TFLite FlatBuffers schema that the reader uses: identifiers of
 * fields within their tables, and enumerations. Internal to the importer.
 */
#pragma once

#define TFLITE_IDENTIFIER "TFL3"
#define TFLITE_VERSION	  3

/* Offline memory plan: metadata of this name; 32-bit integers before the offsets. */
#define TFLITE_OFFLINE_NAME	 "OfflineMemoryAllocation"
#define TFLITE_OFFLINE_HEAD	 3
#define TFLITE_OFFLINE_UNPLANNED (-1)
/* TFLM's arena: every offset is a multiple of this. */
#define TFLITE_OFFLINE_ALIGN	 16

enum tflite_model {
	MODEL_VERSION = 0,
	MODEL_OPERATOR_CODES = 1,
	MODEL_SUBGRAPHS = 2,
	MODEL_BUFFERS = 4,
	MODEL_METADATA = 6,
	MODEL_FIELDS = 8, /* known; all but MODEL_VERSION are offsets */
};

enum tflite_metadata {
	METADATA_NAME = 0,
	METADATA_BUFFER = 1,
};

enum tflite_operator_code {
	CODE_DEPRECATED_BUILTIN = 0, /* int8; 127 if the code is larger */
	CODE_CUSTOM = 1,
	CODE_BUILTIN = 3, /* int32 */
};

enum tflite_subgraph_field {
	SUBGRAPH_TENSORS = 0,
	SUBGRAPH_INPUTS = 1,
	SUBGRAPH_OUTPUTS = 2,
	SUBGRAPH_OPERATORS = 3,
	SUBGRAPH_NAME = 4,
};

enum tflite_tensor {
	TENSOR_SHAPE = 0,
	TENSOR_TYPE = 1,
	TENSOR_BUFFER = 2,
	TENSOR_NAME = 3,
	TENSOR_QUANTIZATION = 4,
	TENSOR_IS_VARIABLE = 5,
	TENSOR_SPARSITY = 6,
	TENSOR_SHAPE_SIGNATURE = 7, /* int32; -1: not known */
};

enum tflite_quantization {
	QUANTIZATION_SCALE = 2,	     /* float */
	QUANTIZATION_ZERO_POINT = 3, /* int64 */
};

enum tflite_operator {
	OPERATOR_CODE = 0,
	OPERATOR_INPUTS = 1,
	OPERATOR_OUTPUTS = 2,
	OPERATOR_OPTIONS_TYPE = 3,
	OPERATOR_OPTIONS = 4,
	OPERATOR_INTERMEDIATES = 8,
	OPERATOR_LARGE_OFFSET = 9, /* as BUFFER_OFFSET */
};

enum tflite_buffer {
	BUFFER_DATA = 0,
	BUFFER_OFFSET = 1, /* of data behind the FlatBuffer, from the file's start; <= 1: none */
	BUFFER_SIZE = 2,
};

/* Types of the union OPERATOR_OPTIONS. */
enum tflite_options {
	OPTIONS_CONV_2D = 1,
	OPTIONS_DEPTHWISE_CONV_2D = 2,
	OPTIONS_POOL_2D = 5,
	OPTIONS_CONCATENATION = 10,
	OPTIONS_CALL = 16,
	OPTIONS_TRANSPOSE_CONV = 49,
	OPTIONS_IF = 92,
	OPTIONS_WHILE = 93,
	OPTIONS_CALL_ONCE = 103,
	OPTIONS_CONV_3D = 106,
	OPTIONS_VAR_HANDLE = 111,
};

/* Numbers of a fused activation's field. */
enum tflite_activation_field {
	CONV_2D_ACTIVATION = 3,
	DEPTHWISE_ACTIVATION = 4,
	POOL_2D_ACTIVATION = 5,
	FULLY_CONNECTED_ACTIVATION = 0,
	CONCATENATION_ACTIVATION = 1,
	ADD_ACTIVATION = 0,
	MUL_ACTIVATION = 0,
	LSTM_ACTIVATION = 0,
};

enum tflite_activation {
	ACTIVATION_NONE = 0,
	ACTIVATION_RELU = 1,
	ACTIVATION_RELU_N1_TO_1 = 2,
	ACTIVATION_RELU6 = 3,
	ACTIVATION_TANH = 4,
};

enum tflite_fully_connected {
	FULLY_CONNECTED_FORMAT = 1, /* of the weights; 0: as they are */
};

enum tflite_softmax {
	SOFTMAX_BETA = 0, /* float */
};

enum tflite_resize_bilinear {
	RESIZE_BILINEAR_ALIGN = 2,
	RESIZE_BILINEAR_HALF_PIXEL = 3,
};

enum tflite_resize_nearest {
	RESIZE_NEAREST_ALIGN = 0,
	RESIZE_NEAREST_HALF_PIXEL = 1,
};

/* Inputs of UNIDIRECTIONAL_SEQUENCE_LSTM, by number. */
enum tflite_lstm {
	LSTM_CELL_CLIP = 1,	  /* float */
	LSTM_PROJECTION_CLIP = 2, /* float */
	LSTM_TIME_MAJOR = 3,
};

enum tflite_lstm_input {
	LSTM_INPUT = 0,
	LSTM_INPUT_WEIGHTS = 1,
	LSTM_HIDDEN_WEIGHTS = 5,
	LSTM_PEEPHOLES = 9,
	LSTM_BIASES = 12,
	LSTM_PROJECTION = 16,
	LSTM_HIDDEN = 18,
	LSTM_CELL = 19,
	LSTM_NORMS = 20,
	LSTM_INPUTS = 24,
};

enum tflite_conv_2d {
	CONV_2D_PADDING = 0,
	CONV_2D_STRIDE_W = 1,
	CONV_2D_STRIDE_H = 2,
	CONV_2D_DILATION_W = 4,
	CONV_2D_DILATION_H = 5,
};

enum tflite_depthwise_conv_2d {
	DEPTHWISE_PADDING = 0,
	DEPTHWISE_STRIDE_W = 1,
	DEPTHWISE_STRIDE_H = 2,
	DEPTHWISE_DILATION_W = 5,
	DEPTHWISE_DILATION_H = 6,
};

enum tflite_pool_2d {
	POOL_2D_PADDING = 0,
	POOL_2D_STRIDE_W = 1,
	POOL_2D_STRIDE_H = 2,
	POOL_2D_FILTER_WIDTH = 3,
	POOL_2D_FILTER_HEIGHT = 4,
};

enum tflite_transpose_conv {
	TRANSPOSE_CONV_PADDING = 0,
	TRANSPOSE_CONV_STRIDE_W = 1,
	TRANSPOSE_CONV_STRIDE_H = 2,
};

enum tflite_conv_3d {
	CONV_3D_PADDING = 0,
	CONV_3D_STRIDE_D = 1,
	CONV_3D_STRIDE_W = 2,
	CONV_3D_STRIDE_H = 3,
	CONV_3D_DILATION_D = 5,
	CONV_3D_DILATION_W = 6,
	CONV_3D_DILATION_H = 7,
};

enum tflite_concatenation {
	CONCATENATION_AXIS = 0,
};

/* Operators that run subgraphs: the subgraphs' numbers. */
enum tflite_control_field {
	CALL_SUBGRAPH = 0,
	CALL_ONCE_SUBGRAPH = 0,
	IF_THEN = 0,
	IF_ELSE = 1,
	WHILE_TEST = 0,
	WHILE_BODY = 1,
};

enum tflite_var_handle {
	VAR_HANDLE_CONTAINER = 0,
	VAR_HANDLE_NAME = 1,
};

enum tflite_padding {
	PADDING_SAME = 0,
	PADDING_VALID = 1,
};

/* Builtin operators that need more than a name. */
enum tflite_builtin {
	BUILTIN_ADD = 0,
	BUILTIN_AVERAGE_POOL_2D = 1,
	BUILTIN_CONCATENATION = 2,
	BUILTIN_CONV_2D = 3,
	BUILTIN_DEPTHWISE_CONV_2D = 4,
	BUILTIN_DEQUANTIZE = 6,
	BUILTIN_FULLY_CONNECTED = 9,
	BUILTIN_L2_POOL_2D = 12,
	BUILTIN_LOGISTIC = 14,
	BUILTIN_MAX_POOL_2D = 17,
	BUILTIN_MUL = 18,
	BUILTIN_RELU = 19,
	BUILTIN_RELU_N1_TO_1 = 20,
	BUILTIN_RELU6 = 21,
	BUILTIN_RESHAPE = 22,
	BUILTIN_RESIZE_BILINEAR = 23,
	BUILTIN_SOFTMAX = 25,
	BUILTIN_TANH = 28,
	BUILTIN_CALL = 31,
	BUILTIN_CUSTOM = 32,
	BUILTIN_PAD = 34,
	BUILTIN_SQUEEZE = 43,
	BUILTIN_UNIDIRECTIONAL_SEQUENCE_LSTM = 44,
	BUILTIN_LOG_SOFTMAX = 50,
	BUILTIN_PADV2 = 60,
	BUILTIN_TRANSPOSE_CONV = 67,
	BUILTIN_EXPAND_DIMS = 70,
	BUILTIN_SHAPE = 77,
	BUILTIN_RESIZE_NEAREST = 97,
	BUILTIN_UNIQUE = 103,
	BUILTIN_WHERE = 109,
	BUILTIN_RANK = 110,
	BUILTIN_QUANTIZE = 114,
	BUILTIN_IF = 118,
	BUILTIN_WHILE = 119,
	BUILTIN_CALL_ONCE = 129,
	BUILTIN_VAR_HANDLE = 142,
	BUILTIN_READ_VARIABLE = 143,
	BUILTIN_ASSIGN_VARIABLE = 144,
	BUILTIN_CONV_3D = 132,
	BUILTIN_PLACEHOLDER = 127, /* in CODE_DEPRECATED_BUILTIN: see CODE_BUILTIN */
};

enum tflite_type {
	TYPE_FLOAT32 = 0,
	TYPE_FLOAT16 = 1,
	TYPE_INT32 = 2,
	TYPE_UINT8 = 3,
	TYPE_INT64 = 4,
	TYPE_STRING = 5,
	TYPE_BOOL = 6,
	TYPE_INT16 = 7,
	TYPE_COMPLEX64 = 8,
	TYPE_INT8 = 9,
	TYPE_FLOAT64 = 10,
	TYPE_COMPLEX128 = 11,
	TYPE_UINT64 = 12,
	TYPE_RESOURCE = 13,
	TYPE_VARIANT = 14,
	TYPE_UINT32 = 15,
	TYPE_UINT16 = 16,
	TYPE_INT4 = 17,
	TYPE_BFLOAT16 = 18,
};
