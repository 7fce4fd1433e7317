/* SPDX-License-Identifier: MIT */
/* Any description of a system call's copies, any arguments, and memory that is there or not: the
 * record keeps its bounds, each copy lies in it, and no two overlap. The input is a description
 * and six arguments, then what the memory holds. */
#include <stdlib.h>
#include <string.h>

#include "event/syscall_copies.h"
#include "shared/call_copies.h"

struct copies_input {
	struct call_event event;
	uint8_t n;                /* words that the record has before */
	uint8_t calls;            /* odd: the description is that of a call, with this number */
	uint16_t number;
	uint32_t pad;
	uint64_t arguments[CALL_ARGUMENTS], result;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint8_t *memory;
static size_t memory_bytes;

/* Addresses count from the memory's begin. */
static uint32_t read_memory(uint64_t address, void *to, uint32_t n)
{
	if (address >= memory_bytes)
		return 0;
	if (n > memory_bytes - address)
		n = (uint32_t)(memory_bytes - address);
	memcpy(to, memory + address, n);
	return n;
}

static unsigned copies_n(const struct call_event *e)
{
	unsigned n = 0;

	while (n < CALL_COPIES && e->copies[n].argument)
		n++;
	return n;
}

static void check_copies(const struct call_event *e, const uint64_t *words, unsigned before,
			 unsigned after)
{
	uint32_t end = 8 * before + 4 * copies_n(e), place, loc;

	for (unsigned i = 0; i < copies_n(e); i++) {
		memcpy(&loc, (const uint8_t *)&words[before] + 4 * i, sizeof(loc));
		place = loc & 0xffff;
		if (loc == CALL_NOTHING_COPIED)
			continue;
		if (place != end || !(loc >> 16))
			abort();
		end += loc >> 16;
		if ((e->copies[i].length == CALL_COPY_STRING ||
		     e->copies[i].length == CALL_COPY_STRINGS) && ((const uint8_t *)words)[end - 1])
			abort();
	}
	if (end > 8 * after || after > CALL_RECORD_WORDS)
		abort();
	for (; end < 8 * after; end++)
		if (((const uint8_t *)words)[end])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct syscall_info *call;
	struct copies_input in;
	uint64_t *words;
	unsigned after;

	if (n < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	memory = data + sizeof(in);
	memory_bytes = n - sizeof(in);
	call = in.calls & 1 ? syscall_by_number(in.number % SYSCALL_NUMBERS) : NULL;
	if (call) {
		memset(in.event.copies, 0, sizeof(in.event.copies));
		syscall_copies(call, in.result != 0, in.event.copies);
	}
	in.n = 2 + in.n % 7;
	words = malloc(8 * CALL_RECORD_WORDS);
	memset(words, 0xa5, 8 * CALL_RECORD_WORDS);
	after = call_copies_add(&in.event, words, in.n, &(struct call_values){
		in.arguments, in.result, read_memory });
	if (after < in.n)
		abort();
	check_copies(&in.event, words, in.n, after);
	free(words);
	return 0;
}
