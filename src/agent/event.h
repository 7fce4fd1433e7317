/* SPDX-License-Identifier: MIT */
/* Records of events: their filters, their stacks, and memory that may not be there (event.c,
 * probe.c, stack_copy.c). On the thread that hits the event. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* event.c. True if a record passes its event's filter. Its first 8 bytes are filled in here, if the
 * filter reads them. */
struct filter_program;
bool event_passes(const struct filter_program *f, uint32_t filter_bytes, uint32_t event,
		  void *record, uint32_t bytes);

/* probe.c. stack_copy_write() for a thread that stands at a probe, at ip. */
struct probe_regs;
void probe_stack(const struct probe_regs *regs, uint64_t ip, uint32_t event);
/* Copies as many of the n bytes as are there, and returns how many. The kernel does it, or has done
 * it (constants.h), so the address may be any. */
uint32_t probe_read_anywhere(uint64_t address, void *to, uint32_t n);
/* Reads as probe_read_anywhere() does, by the kernel alone: what the memory has now. */
uint32_t probe_read_kernel(uint64_t address, void *to, uint32_t n);
/* Copies at most FETCH_RANGES_MAX strings, each up to its NUL at least, and notes in each how many
 * bytes were there. Those that the kernel copies it does by one call, if all are there. The page of
 * the address `known` is there for certain. */
struct fetch_range;
void probe_read_strings(struct fetch_range *ranges, unsigned n, uint64_t known);

/* stack_copy.c. Writes the stack of a thread that stands at *regs (or `returns` there) for its next
 * record of the event. From `known` to the end of its page memory is certain to be there. */
struct stack_regs;
void stack_copy_write(uint32_t event, const struct stack_regs *regs, uint64_t known, bool returns);
