// SPDX-License-Identifier: GPL-2.0-only
/* This file makes the tracepoints that trace.h describes. */
#define CREATE_TRACE_POINTS
#include "trace.h"
