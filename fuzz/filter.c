/* SPDX-License-Identifier: MIT */
/* Any text as a filter: it is refused with its column in the text or (as the kernel has it) one or
 * two behind it, or becomes a program that the verifier takes. Any bytes as a program: running it
 * over any record ends and stays inside both. By the first byte: text, program, or program whose
 * header makes sense, so that the fuzzer gets behind it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct event_field fields[] = {
	{ "u8", "a", 8, 1, false }, { "s16", "b", 10, 2, true }, { "int", "c", 12, 4, true }, { "u64", "d", 16, 8, false },
	{ "char[8]", "s", 24, 8, false }, { "__data_loc char[]", "y", 32, 4, false }, { "__rel_loc char[]", "r", 36, 4, false },
	{ "char *", "p", 40, 8, false }, { "__data_loc cpumask_t", "m", 48, 4, false }, { "char[]", "t", 52, 0, false },
};
static const struct event_format event = { "fuzz", "fuzz", 1, fields, sizeof(fields) / sizeof(fields[0]), "" };

static bool function(void *arg, const char *name, uint64_t address, struct filter_function *f)
{
	*f = (struct filter_function){ 16, 16 };
	return name ? *name == 'f' : address >= 16 && address < 32;
}

static const struct filter_context context = { .cpus = 12, .function = function };

static int fetch(void *arg, uint64_t address, char *to, uint32_t n)
{
	memset(to, 'x', n < address % 64 ? n : address % 64);
	return (int)(address % 100) - 1;
}

static uint64_t resolve(void *arg, uint64_t address)
{
	return address ^ 32;
}

static void run(const struct filter_program *p, uint32_t bytes, const uint8_t *record, size_t n)
{
	char comm[FILTER_COMM_BYTES] = "python3.11", scratch[32];
	uint8_t *exact = malloc(n + !n); /* a read behind it is seen */
	struct filter_record r = { .bytes = exact, .size = (uint32_t)n, .cpu = 3, .comm = comm, .fetch = fetch,
				   .resolve = resolve, .scratch = scratch, .scratch_bytes = sizeof(scratch) };

	if (n)
		memcpy(exact, record, n);
	filter_run(p, bytes, &r);
	free(exact);
}

static void text(const uint8_t *data, size_t n)
{
	const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
	size_t length = nul ? (size_t)(nul - data) : n;
	char *s = mem_strndup((const char *)data, length);
	struct event_filter f = { 0 };
	struct filter_fault fault;

	if (event_filter_write(&f, &event, s, &context, &fault) < 0) {
		if (fault.code && (fault.position > fault.length + 2 || fault.text < s || fault.text + fault.length > s + length || !f.text))
			abort();
	} else if (f.program) {
		if (!filter_verify(f.program, f.program->bytes, event_record_bytes(&event)))
			abort();
		run(f.program, f.program->bytes, data + length, n - length);
	}
	free(event_filter_read(&f));
	event_filter_free(&f);
	free(s);
}

static void program(const uint8_t *data, size_t n, bool whole)
{
	size_t bytes = n - n / 4;
	struct filter_program *p;

	if (whole)
		bytes = bytes / 8 * 8;
	p = malloc(bytes + !bytes);
	if (bytes)
		memcpy(p, data, bytes);
	if (whole && bytes >= sizeof(*p)) {
		p->magic = FILTER_MAGIC;
		p->bytes = (uint32_t)bytes;
		p->needs = 7;
		p->n = (uint16_t)(p->n % ((bytes - sizeof(*p)) / sizeof(p->at[0]) + 1));
	}
	if (filter_verify(p, (uint32_t)bytes, event_record_bytes(&event)))
		for (unsigned i = 0; i < p->n; i++)
			if (p->at[i].target <= i || p->at[i].target > p->n + 1)
				abort();
	run(p, (uint32_t)bytes, data + bytes, n - bytes);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	if (*data % 3 == 0)
		text(data + 1, n - 1);
	else
		program(data + 1, n - 1, *data % 3 == 1);
	return 0;
}
