/* SPDX-License-Identifier: MIT */
/*
 * libnpumem-tflite: what a program may ask the external delegate beyond TensorFlow Lite's own
 * interface. docs/tflite.md says how to use it.
 */
#ifndef NPUMEM_TFLITE_H
#define NPUMEM_TFLITE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPUMEM_TFLITE_EXPORT __attribute__((visibility("default")))

enum npumem_tflite_enforcer {
	NPUMEM_TFLITE_NOBODY = 0,  /* nothing is planned yet */
	NPUMEM_TFLITE_DRIVER = 1,  /* the npumem driver, each step a job */
	NPUMEM_TFLITE_PROCESS = 2, /* the driver's verifier, in this process */
};

/**
 * struct npumem_tflite_stats - what a delegate has planned
 * @size: sizeof(struct npumem_tflite_stats) of the caller, who sets it
 * @claimed: operators that run in planned memory
 * @operators: operators of the model
 * @partitions: plans: one for each run of claimed operators
 * @arena_bytes: bytes of arena of all plans
 * @lower_bound: bytes that no plans for these schedules can go below; 0: not known
 * @tensor_bytes: bytes of all planned tensors together
 * @plan_ns: nanoseconds that planning and verifying took
 * @spilled_bytes: bytes that one inference moves to host memory
 * @enforced_by: enum npumem_tflite_enforcer
 * @cached: plans that came from the cache
 * @swaps: better plans that took the place of others between two inferences
 * @pad: zero
 */
struct npumem_tflite_stats {
	uint32_t size;
	uint32_t claimed;
	uint32_t operators;
	uint32_t partitions;
	uint64_t arena_bytes;
	uint64_t lower_bound;
	uint64_t tensor_bytes;
	uint64_t plan_ns;
	uint64_t spilled_bytes;
	uint32_t enforced_by;
	uint32_t cached;
	uint32_t swaps;
	uint32_t pad;
};

/**
 * tflite_plugin_create_delegate() - make a delegate, as TensorFlow Lite loads external ones
 * @keys: names of options (docs/tflite.md)
 * @values: their values
 * @count: number of @keys and @values
 * @report_error: gets the reason if none is made; NULL: standard error does
 *
 * NULL: an option is unknown or has a bad value, or the runtime is another than those that are
 * known, or driver or daemon are missing and option "fallback" is "error".
 */
NPUMEM_TFLITE_EXPORT void *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
							 void (*report_error)(const char *text));
/**
 * tflite_plugin_destroy_delegate() - give up a delegate, after its interpreter
 * @delegate: may be NULL
 */
NPUMEM_TFLITE_EXPORT void tflite_plugin_destroy_delegate(void *delegate);
/**
 * npumem_tflite_get_stats() - what a delegate has planned so far
 * @delegate: of tflite_plugin_create_delegate()
 * @stats: out: as much of it as @stats->size says
 *
 * -EINVAL: NULL argument, or a size that has no room for @size itself.
 */
NPUMEM_TFLITE_EXPORT int npumem_tflite_get_stats(void *delegate, struct npumem_tflite_stats *stats);
/**
 * npumem_tflite_bind_input() - have an input of the model lie in a dma-buf, without a copy
 * @delegate: of tflite_plugin_create_delegate(), with option "inputs" at "bound"
 * @tensor: what TfLiteInterpreterGetInputTensor() gives, once memory is allocated
 * @dma_buf: descriptor, which stays the caller's and may be closed: of another device, or of
 *	another process. Without the driver memory sealed with F_SEAL_SHRINK (memfd_create())
 *	will do
 * @offset: of the input's first byte in it, a multiple of 64
 *
 * It replaces an earlier binding, and lasts until the interpreter is freed, or gets memory for
 * inputs of another size. Each inference waits for what the dma-buf's other users write, and then
 * reads what is there; the program does not write to the tensor. All inputs have to be
 * bound before an inference. The interpreter may not run meanwhile.
 *
 * A line on standard error says why it fails; the input is bound to nothing then. -EINVAL: NULL
 * argument, no descriptor, or @offset is no such multiple; -ENOENT: the tensor is no input of the
 * model that can be bound; -ERANGE: the dma-buf ends before the tensor does; -EBADF: not open, or
 * no dma-buf, or none that the driver takes; what else the driver says.
 */
NPUMEM_TFLITE_EXPORT int npumem_tflite_bind_input(void *delegate, const void *tensor, int dma_buf,
						  uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif /* NPUMEM_TFLITE_H */
