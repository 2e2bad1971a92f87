/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults: jobs refused by the tile states of their run, or failed on an engine.
 */
#ifndef NPUMEM_FAULT_H
#define NPUMEM_FAULT_H

#include "base/drv.h"

struct npu_run;
struct seq_file;

int npumem_faults_init(struct npu_device *dev); /* at probe */
void npumem_faults_unplug(struct npu_device *dev);

/* Fill a verdict that says nothing but its rule: all else is NPUMEM_NONE or zero. */
void npumem_verdict_init(struct npumem_verdict *verdict, u32 rule);

/* Record that a SUBMIT was refused. Called in the context of the process that made it. */
void npumem_fault_refused(const struct npu_run *run, int error,
			  const struct npumem_verdict *verdict);
/* Record that a job failed. Any context. */
void npumem_fault_failed(const struct npu_run *run, int error,
			 const struct npumem_verdict *verdict);

void npumem_faults_show(struct npu_device *dev, struct seq_file *m);

#endif /* NPUMEM_FAULT_H */
