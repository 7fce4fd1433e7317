/* SPDX-License-Identifier: MIT */
/* System calls that a static program makes itself and that its agent must see before they happen: a program that
 * is executed gets the agent into its environment, or is named; a seccomp filter is looked at; a limit of address
 * space is given our part. They are known by the instruction that loads their number, right before. It is led to
 * a piece of code beside the trampolines, and from there to the agent. */
#pragma once
#include "base/vec.h"
#include "hook/cache.h"

#define LED_CALL_BYTES 32u /* of code for each */
#define PATCH_CALL (UINT32_MAX - 1) /* as a patch's function */

struct led_call {
	uint64_t vaddr;           /* of the instructions below; in a process: + its base */
	uint8_t bytes[8], n;      /* up to the system call: the first has five bytes */
};
typedef VEC(struct led_call) led_call_list;

/* From the module's open file, path. */
void led_calls_find(int fd, const char *path, const struct hook_module *h, led_call_list *out);
/* Does a jump of five bytes at some call's touch [vaddr, vaddr + bytes)? */
bool led_calls_touch(const led_call_list *calls, uint64_t vaddr, uint64_t bytes);
/* Code at address `at` for the call that stands at `from`, leading to the agent. Returns its bytes, at most LED_CALL_BYTES. */
unsigned led_call_emit(const struct led_call *c, uint64_t from, uint64_t agent, uint64_t at, uint8_t *out);
