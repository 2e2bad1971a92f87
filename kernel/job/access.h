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
 * Exporters return any errno, and so also those that mean something else to us or to user
 * space: that a tile's state forbids the access, that the run is lost, or that the call is
 * to be made again, which would go on for ever.
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

/* Whether the run's jobs access imported buffers by the CPU. */
bool npumem_cpu_access_needed(const struct npu_run *run);

/**
 * npumem_cpu_access_begin() - tell exporters that the CPU will access a run's imported buffers
 * @run: no lock of it is held
 * @generation: out: generation of the run's bindings (&npu_externals.generation) that this
 *	is for
 *
 * SUBMIT calls it before anything of the SUBMIT can be seen: it waits, interruptibly, for
 * the fences of the buffers, and exporters may sleep, allocate and take the buffers'
 * dma_resv.
 *
 * Return: an access, to be passed to one of the two functions below; NULL if no tensor is
 * bound to an imported buffer; ERR_PTR: -ENOMEM, -ERESTARTSYS, or npumem_exporter_error().
 */
struct npu_cpu_access *npumem_cpu_access_begin(struct npu_run *run, u64 *generation);
/* End an access now; @access may be NULL. May sleep. */
void npumem_cpu_access_end(struct npu_cpu_access *access);
/* End an access when the fence signals; @access may be NULL. Does not sleep. */
void npumem_cpu_access_end_after(struct npu_cpu_access *access, struct dma_fence *fence);

#endif /* NPUMEM_ACCESS_H */
