/* SPDX-License-Identifier: MIT */
/* Bytes of machine code that are written or recognised without a decoder: jumps, landing pads,
 * padding, calls, and what linkers write (PLT). A machine's folder has the definitions. No state;
 * any thread, and inside of the traced process too. `at`, `from` and `to` are addresses at run
 * time; p is where the bytes can be read. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/machine.h"

/* --- jumps ---------------------------------------------------------------------------------- */

/* Writes a jump of CODE_JUMP_BYTES. Returns 0, or -ERANGE: `to` is out of reach. */
static inline int code_jump(uint64_t from, uint64_t to, uint8_t *out);
/* True if code_jump() reaches. */
static inline bool code_in_reach(uint64_t from, uint64_t to);
/* code_jump() in CODE_SHORT_JUMP_BYTES, with its results. On a machine whose jumps are all of one
 * length these are 0 bytes, which reach nothing: no short jump is planned. */
static inline int code_short_jump(uint64_t from, uint64_t to, uint8_t *out);
/* Returns the first and the last address that code_short_jump() reaches. */
struct code_reach { uint64_t low, high; };
static inline struct code_reach code_short_reach(uint64_t from);
/* True if the bytes that stand at `at` are such a jump; *to is its target. The whole jump has to be
 * readable at p. If false, *to has no meaning. */
static inline bool code_is_jump(const uint8_t *p, uint64_t at, uint64_t *to);
static inline bool code_is_short_jump(const uint8_t *p, uint64_t at, uint64_t *to);

/* --- functions ------------------------------------------------------------------------------ */

/* Returns the bytes of the landing pad at p, CODE_LANDING_BYTES, among n readable ones; 0: none. A
 * patch goes behind it. */
static inline size_t code_landing(const uint8_t *p, size_t n);
/* Returns the length of the nop at p that fills up to an aligned function; 0: none. */
static inline size_t code_nop(const uint8_t *p, size_t n);
/* True for an instruction of one byte that stops the program, as stands between functions. */
static inline bool code_is_trap(uint8_t byte);
/* True for any byte that stands between functions. */
static inline bool code_is_filler(uint8_t byte);
/* True if code among the bytes may make a system call. False: certainly none does. */
static inline bool code_may_call_system(const uint8_t *bytes, size_t n);
/* True for an instruction that loads the stack pointer, as stack switches do, and not as frames are
 * made and left. CODE_LOADS_STACK_BYTES are readable. */
static inline bool code_loads_stack(const uint8_t *p);
/* Returns the first direct call, of CODE_CALL_BYTES bytes, that lies between p and end; NULL: none.
 * Bytes in the middle of an instruction may look like one. */
static inline const uint8_t *code_find_call(const uint8_t *p, const uint8_t *end);
/* Returns the target of the call that code_find_call() found; `at` is the address of the call. */
static inline uint64_t code_call_target(const uint8_t *p, uint64_t at);

/* --- linkers' code -------------------------------------------------------------------------- */

/* Searches [*i, n) for a jump through a slot in memory. True: *i is where to search on, *slot
 * the slot's address. The bytes at p belong at address `at`. */
static inline bool code_next_slot_jump(const uint8_t *p, size_t n, uint64_t at, size_t *i,
				       uint64_t *slot);
/* In bytes: where in the entry its jump through memory stands, how long the jump is, and how long
 * the entry is. */
struct code_plt { size_t jump, jump_bytes, size; };
/* True if an entry of a PLT may begin at p, where CODE_PLT_READ bytes are readable and a jump has
 * been found; *out describes it, also if false. */
static inline bool code_plt_entry(const uint8_t *p, struct code_plt *out);
/* Returns the size of a PLT section's entries. `said`: what the section header says; 0 if there is
 * none. */
static inline uint64_t code_plt_size(const uint8_t *section, size_t n, uint64_t said);
/* False: no PLT begins with the 8 bytes at p. */
static inline bool code_may_begin_plt(const uint8_t *p);
/* True for the begin of a PLT's first entry, which calls the dynamic linker. 8 bytes. */
static inline bool code_is_plt_header(const uint8_t *p);

#include MACHINE_HEADER(code.h)
