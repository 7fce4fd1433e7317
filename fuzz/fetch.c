/* SPDX-License-Identifier: MIT */
/* By the first byte: any text as a probe's argument or as a marker's arguments, which is refused or
 * becomes a program that the verifier takes; or any bytes as a program. Running it stays inside the
 * record, and the short way of registers alone makes the same record. */
#include <stdlib.h>
#include <string.h>

#include "event/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint32_t read_memory(void *context, uint64_t address, void *to, uint32_t n)
{
	uint32_t have = address % 7 ? n : (uint32_t)(address % (n + 1ull));

	memset(to, 'x', have);
	return have;
}

static void read_ranges(void *context, struct fetch_range *ranges, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ranges[i].got = read_memory(context, ranges[i].address, ranges[i].to, ranges[i].n);
}

static void read_comm(void *context, char *to)
{
	memset(to, 'c', FETCH_COMM_BYTES);
}

static bool find(void *module, const char *name, size_t n, uint64_t *vaddr)
{
	*vaddr = n;
	return *name == 'f';
}

static void run(const struct fetch_program *p, uint32_t bytes, uint32_t room)
{
	static const uint64_t regs[FETCH_REGS] = { 1, 2, 3, 4, 5 };
	static const uint64_t floats[FETCH_FLOATS] = { 6, 7 };
	static const uint64_t entry[FETCH_ENTRY_WORDS] = { 8, 9 };
	const struct fetch_context c = { regs, floats, 1, 2, read_memory, read_comm, NULL, NULL, entry, read_ranges };
	uint8_t *exact = malloc(room + !room), *whole = malloc(FETCH_RECORD_MAX);
	uint32_t n = fetch_run(p, bytes, &c, exact, room),
		 padded = fetch_registers(p, bytes, regs, 1, whole);

	if (n > room || padded > FETCH_RECORD_MAX || padded % 8)
		abort();
	if (padded && padded <= room && (padded - n >= 8 || memcmp(exact + 8, whole + 8, n - 8)))
		abort();
	free(exact);
	free(whole);
}

static void finish(struct fetch_build *b)
{
	uint32_t bytes;
	struct fetch_program *p = fetch_finish(b, &bytes);
	char *format = fetch_format(b, "fuzz");
	struct event_format *e;
	struct err err;

	if (p && !fetch_verify(p, bytes))
		abort();
	if (p)
		run(p, bytes, FETCH_RECORD_MAX);
	e = event_format_parse(format, strlen(format), "fuzz", &err);
	if (!e || event_record_bytes(e) != b->fixed)
		abort();
	event_format_free(e);
	free(format);
	free(p);
	fetch_free(b);
}

/* The program of the call's entry. */
static void finish_entry(const struct fetch_build *b)
{
	uint32_t bytes;
	struct fetch_program *p = fetch_finish_entry(b, &bytes);

	if (p && (!fetch_verify(p, bytes) || p->fixed > 8 + 8 * FETCH_ENTRY_WORDS))
		abort();
	if (p)
		run(p, bytes, FETCH_RECORD_MAX);
	free(p);
}

static void arguments(const char *text, size_t n, bool at_return)
{
	struct fetch_build b;
	struct err err;
	bool good = true;

	if (at_return)
		fetch_begin_return(&b);
	else
		fetch_begin(&b);
	while (n && good) {
		const char *blank = memchr(text, ' ', n);
		size_t here = blank ? (size_t)(blank - text) : n;

		good = fetch_add(&b, text, here, &err) == 0;
		text += here + !!blank;
		n -= here + !!blank;
	}
	if (good)
		finish_entry(&b);
	if (good)
		finish(&b);
	else
		fetch_free(&b);
}

static void marker(const char *text)
{
	const struct operand_names names = { find, NULL };
	struct usdt_fields f = { 0 };
	struct fetch_build b;
	struct err err;

	usdt_fields_meet(&f, text);
	if (usdt_build(&b, &f, text, &names, &err) == 0)
		finish(&b);
	else
		fetch_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *copy;

	if (!n)
		return 0;
	copy = calloc(1, n);
	memcpy(copy, data + 1, n - 1);
	if (*data % 3 == 0)
		arguments(copy, strnlen(copy, n - 1), *data & 128);
	else if (*data % 3 == 1)
		marker(copy);
	else
		run((const void *)copy, (uint32_t)(n - 1), *data);
	free(copy);
	return 0;
}
