/* SPDX-License-Identifier: MIT */
/* Arguments of calls from their entry to their return, for events at returns (agent/probe.c). Any
 * thread; nothing blocks or fails: what finds no room is missing at the return, which counts it. */
#pragma once
#include "agent/agent.h"
#include "shared/probe.h"

/* Names an event for as long as it is switched on, in this tracer's session. */
static inline uint64_t kept_tag(const struct probe_site *site)
{
	return (site->event & 0xffff) | (uint64_t)(site->generation & 0xffffff) << 16 |
	       (uint64_t)agent.session << 40;
}

/* Keeps n words, at most FETCH_ENTRY_WORDS of them, of the call whose return address is at sp. They
 * take the place of those of an earlier call there, which was left without a return. */
void kept_store(uint64_t sp, uint64_t tag, const uint64_t *words, uint32_t n);
/* Takes the words of the call that returns by the address at sp. False: they are not there. */
bool kept_take(uint64_t sp, uint64_t tag, uint64_t words[FETCH_ENTRY_WORDS]);
