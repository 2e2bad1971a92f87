/* SPDX-License-Identifier: MIT */
/* What the files of the oracle share. */
#pragma once

#include "oracle.h"

bool oracle_valid_kind(uint32_t kind);
/* Is a byte of a tensor of a kind, by its own or by that of an alias? */
bool oracle_has_role(const struct oracle *o, uint32_t t, uint32_t byte, uint32_t kind);
/* Is it valid when an inference begins? */
bool oracle_starts(const struct oracle *o, uint32_t t, uint32_t byte);
bool oracle_enumerate(const struct npumem_region *r, uint64_t limit,
		      const struct npumem_placement *p, unsigned char *bytes, uint64_t *addresses,
		      unsigned char *count);

/* A parameter without placement is not in the arena. */
bool oracle_outside(const struct oracle *o, uint32_t t);
bool oracle_external(const struct oracle *o, uint32_t t);
/* Bytes that are valid all the time without an entry record. */
bool oracle_constant(const struct oracle *o, uint32_t t);
/* The tensor whose value another one takes along an edge of the plan. */
uint32_t oracle_source(const struct oracle *o, uint32_t edge, uint32_t tensor);
/* Value of a byte at the end of the current instance. */
unsigned int oracle_value(const struct oracle *o, uint32_t t, uint32_t byte);
/* What an edge promises, held against the memory at the current instance's end. */
const char *oracle_edge(const struct oracle *o, uint32_t edge);

/* oracle_transfer.c */

/* Does it begin in host memory, to be loaded? */
bool oracle_hosted(const struct oracle *o, uint32_t t);
/* Transfers, and where every byte is in between. Instead of judge_lives(). */
const char *oracle_transfers(struct oracle *o);
/* A transfer is carried out. */
const char *oracle_move(struct oracle *o, uint32_t position);
/* Where a byte is at the end of the current instance; false for nowhere. */
bool oracle_final(const struct oracle *o, uint32_t t, uint32_t byte, unsigned int *at);
