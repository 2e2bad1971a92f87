/* SPDX-License-Identifier: MIT */
/*
 * /dev/npumem_test_exporter: one dma-buf per open file, of memory whose CPU and device
 * views differ until CPU access is announced. read() and write() are the device's.
 */
#ifndef NPUMEM_TEST_EXPORTER_H
#define NPUMEM_TEST_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* vmap gives I/O memory, as VRAM's does. */
#define EXPORTER_IOMEM	   (1u << 0)
/* For reading only: no DMA mapping for anything else, no CPU access for writing. */
#define EXPORTER_READ_ONLY (1u << 1)
/* Another importer has it vmapped all the time. */
#define EXPORTER_VMAPPED   (1u << 2)
/* CPU access fails with an errno: EXPORTER_ERRNO(that). */
#define EXPORTER_NO_ACCESS (1u << 3)
/* DMA mappings fail with an errno, likewise. */
#define EXPORTER_NO_MAP	   (1u << 4)
/* DMA mappings have but the first page. */
#define EXPORTER_SHORT	   (1u << 5)
/* DMA mappings take until EXPORTER_GO. */
#define EXPORTER_SLOW	   (1u << 6)
#define EXPORTER_ERRNO(e)  ((unsigned int)(e) << 16)

enum { EXPORTER_SIZE = 16384 };

/*
 * struct exporter_counts - calls of the dma-buf's operations
 * @maps: DMA mappings that were refused or not
 * @unmaps: of those that were not
 * @vmaps, @vunmaps: of the exporter's operation: the first and the last of many
 * @vmapping_counter: of the dma-buf, now
 * @begin_read, @begin_write: CPU accesses for reading, and for anything else
 * @end_read, @end_write: their ends
 * @nested: begun or ended out of turn
 * @faults: of who has mapped the device file itself: none of its pages ever comes
 */
struct exporter_counts {
	__u32 maps;
	__u32 unmaps;
	__u32 vmaps;
	__u32 vunmaps;
	__u32 vmapping_counter;
	__u32 begin_read;
	__u32 begin_write;
	__u32 end_read;
	__u32 end_write;
	__u32 nested;
	__u32 faults;
};

/* Make the dma-buf, once: flags in, its descriptor out. */
#define EXPORTER_CREATE _IOWR('N', 1, __u32)
#define EXPORTER_COUNTS _IOR('N', 2, struct exporter_counts)
/* Those who wait for EXPORTER_GO go on, and nobody waits any more. */
#define EXPORTER_GO	_IO('N', 3)

#endif /* NPUMEM_TEST_EXPORTER_H */
