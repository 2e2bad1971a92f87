/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reference engine, which is called "sim", and the platform driver of devices that have
 * it.
 */
#ifndef NPUMEM_SIM_H
#define NPUMEM_SIM_H

#include "base/engine.h"

extern const struct npu_engine_desc npumem_engine_sim;

int npumem_sim_register(void); /* at module init */
void npumem_sim_unregister(void);

#endif /* NPUMEM_SIM_H */
