/* SPDX-License-Identifier: MIT */
/*
 * Commands of a process engine: what one job computes, by tiles (docs/engine.md).
 *
 * A command is a head, then its sections one behind the other, each of records of a fixed
 * size: operands, pieces, scales, attributes. Integers are little-endian. It has no addresses:
 * a piece of an operand names an access of the job's step by its number in the step, and where
 * in that access's bytes it lies. Where these bytes are is told when the command is executed.
 * Reserved fields are zero.
 */
#ifndef NPUMEM_COMMAND_H
#define NPUMEM_COMMAND_H

#include <linux/types.h>

/* "NPCM" read as a little-endian word. */
#define NPUMEM_COMMAND_MAGIC	    0x4d43504eu
#define NPUMEM_COMMAND_VERSION	    1
#define NPUMEM_COMMAND_MAX_BYTES    (1u << 20)
#define NPUMEM_COMMAND_MAX_OPERANDS 32
#define NPUMEM_COMMAND_MAX_PIECES   256
/* Largest dimension of a tensor, in elements; bytes of an operand's tile. */
#define NPUMEM_COMMAND_MAX_DIM	    (1u << 30)
#define NPUMEM_COMMAND_MAX_TILE	    (1u << 30)
#define NPUMEM_COMMAND_DIMS	    4

/*
 * enum npumem_command_operator - what is computed
 *
 * Operand 0 is the output, or the first one. docs/engine.md says which operands, scales and
 * attributes each has.
 */
enum npumem_command_operator {
	NPUMEM_COMMAND_COPY = 1,
	NPUMEM_COMMAND_CONVERT = 2, /* between types and scales, and clamp */
	NPUMEM_COMMAND_ADD = 3,
	NPUMEM_COMMAND_MUL = 4,
	NPUMEM_COMMAND_CONV = 5,
	NPUMEM_COMMAND_DEPTHWISE = 6,
	NPUMEM_COMMAND_AVERAGE_POOL = 7,
	NPUMEM_COMMAND_MAX_POOL = 8,
	NPUMEM_COMMAND_SOFTMAX = 9,
	NPUMEM_COMMAND_LOGISTIC = 10,
	NPUMEM_COMMAND_TANH = 11,
	NPUMEM_COMMAND_PAD = 12,
	NPUMEM_COMMAND_CONCATENATION = 13,
	NPUMEM_COMMAND_RESIZE_BILINEAR = 14,
	NPUMEM_COMMAND_RESIZE_NEAREST = 15,
	NPUMEM_COMMAND_LSTM = 16,
	NPUMEM_COMMAND_SLICE = 17,
	NPUMEM_COMMAND_SPLIT = 18, /* all operands but the last are outputs */
};

enum npumem_command_type {
	NPUMEM_COMMAND_FLOAT32 = 1,
	NPUMEM_COMMAND_FLOAT16 = 2,
	NPUMEM_COMMAND_INT8 = 3,
	NPUMEM_COMMAND_UINT8 = 4,
	NPUMEM_COMMAND_INT16 = 5,
	NPUMEM_COMMAND_INT32 = 6,
};

enum npumem_command_mode {
	NPUMEM_COMMAND_READ = 1,
	NPUMEM_COMMAND_WRITE = 2,
	NPUMEM_COMMAND_UPDATE = 3, /* read, then written */
};

/**
 * struct npumem_command - head of a command
 * @magic: NPUMEM_COMMAND_MAGIC
 * @version: NPUMEM_COMMAND_VERSION
 * @operation: enum npumem_command_operator
 * @size: bytes of the whole command, this head included
 * @operand_count: records of struct npumem_command_operand behind the head
 * @piece_count: records of struct npumem_command_piece behind the operands
 * @scale_count: records of struct npumem_command_scale behind the pieces
 * @attribute_count: 32-bit words behind the scales; one of zero more if that is odd
 */
struct npumem_command {
	__u32 magic;
	__u16 version;
	__u16 operation;
	__u32 size;
	__u16 operand_count;
	__u16 piece_count;
	__u32 scale_count;
	__u32 attribute_count;
};

/**
 * struct npumem_command_operand - tile of a tensor, seen as N x H x W x C
 * @type: enum npumem_command_type
 * @mode: enum npumem_command_mode
 * @first_piece: of this operand's; the operands' pieces are consecutive, in order
 * @piece_count: 0 if the tile is empty
 * @reserved: zero
 * @zero_point: of integers, the value that stands for zero
 * @dims: elements of the tile; all 0 if the step needs nothing of the tensor
 * @shape: of the whole tensor
 * @origin: where in the tensor the tile begins
 */
struct npumem_command_operand {
	__u8 type;
	__u8 mode;
	__u16 first_piece;
	__u16 piece_count;
	__u16 reserved;
	__s32 zero_point;
	__u32 dims[NPUMEM_COMMAND_DIMS];
	__u32 shape[NPUMEM_COMMAND_DIMS];
	__u32 origin[NPUMEM_COMMAND_DIMS];
};

/**
 * struct npumem_command_piece - where some rows of a tile lie
 * @access: number of the access in the job's step
 * @rows: of dimension H; a tile's pieces have one another's next rows
 * @offset: of the first byte in the access's bytes
 * @stride: bytes from an element to the next one along each dimension
 */
struct npumem_command_piece {
	__u32 access;
	__u32 rows;
	__u64 offset;
	__u64 stride[NPUMEM_COMMAND_DIMS];
};

/**
 * struct npumem_command_scale - a factor: multiplier * 2^(shift - 31)
 * @multiplier: see above; at least 0
 * @shift: -31 to 30
 */
struct npumem_command_scale {
	__s32 multiplier;
	__s32 shift;
};

/* Attributes of operators, by number. Floating-point ones are the bits of a float. */

enum npumem_command_window {
	NPUMEM_COMMAND_STRIDE_H = 0,
	NPUMEM_COMMAND_STRIDE_W = 1,
	NPUMEM_COMMAND_DILATION_H = 2,
	NPUMEM_COMMAND_DILATION_W = 3,
	NPUMEM_COMMAND_PAD_TOP = 4,
	NPUMEM_COMMAND_PAD_LEFT = 5,
	NPUMEM_COMMAND_KERNEL_H = 6,
	NPUMEM_COMMAND_KERNEL_W = 7,
	NPUMEM_COMMAND_WINDOW_MIN = 8, /* of the output: an integer, or a float */
	NPUMEM_COMMAND_WINDOW_MAX = 9,
	NPUMEM_COMMAND_WINDOW_ATTRIBUTES = 10,
};

/* Of all that clamp but windows: CONVERT, ADD, MUL. */
enum npumem_command_clamp {
	NPUMEM_COMMAND_CLAMP_MIN = 0,
	NPUMEM_COMMAND_CLAMP_MAX = 1,
	NPUMEM_COMMAND_CLAMP_ATTRIBUTES = 2,
	NPUMEM_COMMAND_CONVERT_FACTOR = 2, /* float, of what is no integer on one side */
	NPUMEM_COMMAND_CONVERT_ATTRIBUTES = 3,
};

enum npumem_command_softmax {
	NPUMEM_COMMAND_SOFTMAX_BETA = 0,     /* float; of floats */
	NPUMEM_COMMAND_SOFTMAX_DIFF_MIN = 1, /* of integers: what is further below counts as 0 */
	NPUMEM_COMMAND_SOFTMAX_ATTRIBUTES = 2,
};

enum npumem_command_logistic {
	NPUMEM_COMMAND_LOGISTIC_FACTOR = 0, /* float; of integers: what one of the input is worth */
	NPUMEM_COMMAND_LOGISTIC_ATTRIBUTES = 1,
};

enum npumem_command_pad {
	NPUMEM_COMMAND_PAD_BEFORE = 0, /* four: of N, H, W, C */
	NPUMEM_COMMAND_PAD_VALUE = 4,  /* the element's bits */
	NPUMEM_COMMAND_PAD_ATTRIBUTES = 5,
};

enum npumem_command_slice {
	NPUMEM_COMMAND_SLICE_FIRST = 0, /* four: of N, H, W, C */
	NPUMEM_COMMAND_SLICE_ATTRIBUTES = 4,
};

enum npumem_command_resize {
	NPUMEM_COMMAND_ALIGN_CORNERS = 0,
	NPUMEM_COMMAND_HALF_PIXEL = 1,
	NPUMEM_COMMAND_RESIZE_ATTRIBUTES = 2,
};

enum npumem_command_lstm {
	NPUMEM_COMMAND_LSTM_CELL_SHIFT = 0,  /* the cell state's scale is 2^this */
	NPUMEM_COMMAND_LSTM_CELL_CLIP = 1,   /* of the cell state, quantized; 0: none */
	NPUMEM_COMMAND_LSTM_HIDDEN_ZERO = 2, /* zero point of what the output gate makes */
	NPUMEM_COMMAND_LSTM_ATTRIBUTES = 3,
};

#endif /* NPUMEM_COMMAND_H */
