/* SPDX-License-Identifier: MIT */
/* The device "edu" (kernel/edu/), as its selftests use it: a copy engine. */
#ifndef NPUMEM_EDU_TEST_H
#define NPUMEM_EDU_TEST_H

#include "npumem_edu.h"
#include "npumem_world.h"

#define EDU_MODULE	  "npumem_edu"
#define EDU_DRIVER	  "/sys/bus/pci/drivers/npumem-edu/"
#define EDU_ALL		  "dma_mask=0xffffffffffffffff"
/* Its carveout ends at 0x65000000, and memory at 0x80000000. */
#define EDU_CARVEOUT_ONLY "dma_mask=0x6fffffff"

/* Load its module with such parameters and open its device; -1: there is none. */
int edu_open(const char *parameters);
/* A file of the device in sysfs; "" without a device. Good until the next call. */
const char *edu_device_file(const char *name);
/* Take the device from the driver and give it back; 0 or a negative errno. */
int edu_unbind(void);
int edu_bind(void);

/* A job that copies what each step reads to what it writes; or does nothing with steps. */
struct drm_npumem_job edu_job(const struct world *w, uint32_t first, uint32_t count, bool copy);
int edu_submit(struct world *w, uint32_t first, uint32_t count, bool copy);

/* A step with one input and one output of EXTERNAL_SIZE bytes, that are bound. */
struct model edu_model_bound(void);
/* Bind them, copy the one to the other, wait for that; 0 or a negative errno. */
int edu_copy_bound(struct world *w, uint32_t from, uint64_t from_offset, uint32_t to,
		   uint64_t to_offset);

/* Bytes that differ, also from those of another seed. */
void edu_fill(uint8_t *bytes, size_t size, unsigned int seed);
/* Whether all bytes are the same; those that are not are told. */
bool edu_same(const uint8_t *a, const uint8_t *b, size_t size);

#endif /* NPUMEM_EDU_TEST_H */
