/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reference engine, which is called "sim", its companion "sim-copy", and the platform
 * driver of devices that have them.
 */
#ifndef NPUMEM_SIM_H
#define NPUMEM_SIM_H

#include "base/engine.h"

#define NPUMEM_SIM_ENGINES 2

extern const struct npu_engine_desc npumem_sim_engines[NPUMEM_SIM_ENGINES];

int npumem_sim_register(void); /* at module init */
void npumem_sim_unregister(void);

#endif /* NPUMEM_SIM_H */
