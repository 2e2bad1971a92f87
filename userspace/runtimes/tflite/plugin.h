/* SPDX-License-Identifier: MIT */
/* What npumem_tflite.h exports, under names that only this library has. */
#pragma once

#include <stddef.h>

#include "npumem_tflite.h"
#include "why.h"

/* tflite_plugin_create_delegate() */
void *plugin_create(char **keys, char **values, size_t count,
		    void (*report_error)(const char *text));
/* npumem_tflite_bind_input() */
int plugin_bind_input(void *delegate, const void *tensor, int dma_buf, uint64_t offset,
		      struct why *why);
/* npumem_tflite_get_stats() */
int plugin_stats(void *delegate, struct npumem_tflite_stats *stats);
