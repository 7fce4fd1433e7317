/* SPDX-License-Identifier: MIT */
/* Arguments that a thread has recorded, until the record of their call comes
 * (RECORD_EVENT_ARGUMENTS of shared/record.h). unpack puts the two together. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "shared/record.h"

/* A signal's handler may make calls between the two records, and another one interrupt it. */
#define CALL_ARGUMENTS_MOST 4u

struct waiting_arguments {
	uint32_t fn;
	uint16_t words;
	bool called;         /* the function tracer's record had them; the graph's may follow */
	uint64_t payload[RECORD_PAYLOAD_MAX]; /* without the function's word */
};
struct call_arguments {
	uint32_t n;
	struct waiting_arguments at[CALL_ARGUMENTS_MOST]; /* the newest last */
};

/* Keeps a record's payload of n words, at least one. */
void call_arguments_add(struct call_arguments *a, const uint64_t *payload, unsigned n);
struct event;
/* Called for each unpacked event: a call whose arguments wait gets them (EVENT_ARGUMENTS); they
 * stay until the next call of either function. A loss ends all waiting. */
void call_arguments_tell(struct call_arguments *a, struct event *e);
