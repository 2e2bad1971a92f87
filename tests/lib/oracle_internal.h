/* SPDX-License-Identifier: MIT */
/* Calls between the files of the oracle; tests use oracle.h. */
#pragma once

#include "oracle.h"

bool oracle_valid_kind(uint32_t kind);
/* True if a byte of a tensor has a kind: the tensor's own, or that of an alias. */
bool oracle_has_role(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t kind);
/* True if the byte is valid when an inference begins. */
bool oracle_starts(const struct oracle *o, uint32_t t, uint32_t byte);
bool oracle_enumerate(const struct npumem_region *r, uint64_t limit,
		      const struct npumem_placement *p, unsigned char *bytes, uint64_t *addresses,
		      unsigned char *count);

/* True if a tensor is never in the arena: a parameter without placement. */
bool oracle_outside(const struct oracle *o, uint32_t t);
bool oracle_external(const struct oracle *o, uint32_t t);
/* True if a tensor's bytes are always valid, without an entry record. */
bool oracle_constant(const struct oracle *o, uint32_t t);
/* The tensor whose value another one takes along an edge of the plan. */
uint32_t oracle_source(const struct oracle *o, uint32_t edge, uint32_t tensor);
/* The value of a byte at the end of the current instance. */
unsigned int oracle_value(const struct oracle *o, uint32_t t, uint32_t byte);
/* Compares what an edge promises with memory at the end of the current instance. */
const char *oracle_edge(const struct oracle *o, uint32_t edge);

/* oracle_transfer.c */

/* True if the tensor begins in host memory, from where it is loaded. */
bool oracle_hosted(const struct oracle *o, uint32_t t);
/* Judges transfers, and where every byte is between them; instead of judge_lives(). */
const char *oracle_transfers(struct oracle *o);
/* Carries a transfer out. */
const char *oracle_move(struct oracle *o, uint32_t position);
/* Where a byte is at the end of the current instance; false for nowhere. */
bool oracle_final(const struct oracle *o, uint32_t t, uint32_t byte, unsigned int *at);
