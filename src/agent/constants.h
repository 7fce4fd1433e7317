/* SPDX-License-Identifier: MIT */
/* Copies of pages that the program only reads, such as those of its string literals: a string there
 * is had without a system call. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct patch_text;

/* Copies n bytes, at least one. True: all are copied, as they were at most CONSTANTS_FRESH ticks
 * ago. False: there is no such copy of the page; *to may have been written to. Any thread; nothing
 * blocks or faults, whatever the address. */
bool constants_read(uint64_t address, uint8_t *to, uint32_t n);
/* Copies a string up to its NUL, or n bytes of it, like constants_read(). Returns the bytes, with
 * the NUL; 0: there is no copy. */
uint32_t constants_string(uint64_t address, uint8_t *to, uint32_t n);
/* Returns the first page of the n bytes that is constant and has no copy; 0: there is none up to
 * the first page that is not constant. Any thread. */
uint64_t constants_missing(uint64_t address, uint32_t n);
/* Copies that page anew, by the kernel: the caller has asked for NEED_COPY (unblocked_begin()).
 * pid: this process. False: it is not there, or its place is in use. Any thread. */
bool constants_fill(uint64_t address, long pid);
/* Learns mappings of modules that are not writable, each list in order of address, in place of
 * those known before. The lasting ones stay as long as the process. Two empty lists change nothing.
 * One thread at a time, signals blocked. */
void constants_learn(const struct patch_text *lasting, uint32_t n_lasting,
		     const struct patch_text *others, uint32_t n_others);
/* ld.so tells from now on, by constants_closing(), before it unmaps: mappings that do not last
 * count, too. */
void constants_watch(void);
/* Modules are about to be unmapped: only lasting mappings are known from here on, until they are
 * learnt again. Any thread. */
void constants_closing(void);

/* How old a copy may be, in ticks of the TSC: some 0.4 ms. */
#define CONSTANTS_FRESH (UINT64_C(1) << 20)
