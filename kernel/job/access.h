/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU access to imported dma-bufs, announced to their exporters.
 */
#ifndef NPUMEM_ACCESS_H
#define NPUMEM_ACCESS_H

#include <linux/errno.h>
#include <linux/types.h>

struct dma_fence;
struct npu_cpu_access;
struct npu_run;

/**
 * npumem_exporter_error() - an exporter's errno as the caller of SUBMIT gets it
 * @err: negative errno
 *
 * Exporters say what they like, and so what has another meaning to us or to user space:
 * that a tile's state forbids the access, that the run is lost, that the call is to be made
 * again, and again.
 */
static inline int npumem_exporter_error(int err)
{
	switch (err) {
	case -EAGAIN:
		return -EBUSY;
	case -EIO:
	case -ENXIO:
	case -EPERM:
	case -ESTALE:
		return -EREMOTEIO;
	default:
		return err;
	}
}

/**
 * npumem_cpu_access_begin() - the CPU is going to access what a run has imported
 * @run: no lock of it held
 * @generation: out: of the run's bindings (&npu_externals.generation) that this is for
 *
 * By SUBMIT, before anything of it can be seen: waits, interruptibly, for the fences of
 * the buffers, and exporters may sleep, allocate and take the buffers' dma_resv.
 *
 * Return: to be passed to one of the two functions below; NULL if nothing imported is
 * bound; ERR_PTR: -ENOMEM, -ERESTARTSYS, or npumem_exporter_error().
 */
struct npu_cpu_access *npumem_cpu_access_begin(struct npu_run *run, u64 *generation);
/* It has ended; access may be NULL. May sleep. */
void npumem_cpu_access_end(struct npu_cpu_access *access);
/* It ends when the fence is signalled; access may be NULL. Any context that locks allow. */
void npumem_cpu_access_end_after(struct npu_cpu_access *access, struct dma_fence *fence);

#endif /* NPUMEM_ACCESS_H */
