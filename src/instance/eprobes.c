/* SPDX-License-Identifier: MIT */
/* Makes records of events on other events. Fields come from the record; memory that they lead to
 * from copies that a system call's record has, which were made at the hit, else from the process
 * as it is now: milliseconds later. The triggers call, under pump_lock. Addresses are the traced
 * program's: it can give any, and gets no other process's memory read. A process that has ended, or
 * whose number another one has, gives faults, as do pages that nobody brings in
 * (tracee/running_memory.h). */
#include "instance/eprobes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/synthetic.h"
#include "event/syscalls.h"
#include "shared/record.h"
#include "tracee/proc_status.h"
#include "tracee/running_memory.h"

#define COMMON_BYTES EVENT_COMMON_BYTES

/* A record in the kernel's form, from common_type on. */
struct eprobe_call {
	const struct event_format *format;
	uint32_t size;
	uint8_t bytes[COMMON_BYTES + 8 * RECORD_PAYLOAD_MAX];
};

/* The record that another one is made of. */
struct making {
	const struct eprobe *eprobe;
	const struct event *event;
	const struct trace_info *info;
	const struct trace_thread *thread;
	struct eprobe_call record;
	const struct eprobe_call *call; /* that came before; NULL: none may be looked at */
};

/* --- copies of memory in records ------------------------------------------------------------ */

/* Copies up to n bytes from offset `at` of the record. */
static uint32_t read_record(const struct eprobe_call *r, uint64_t at, void *to, uint32_t n)
{
	if (at >= r->size)
		return 0;
	if (n > r->size - at)
		n = r->size - (uint32_t)at;
	memcpy(to, r->bytes + at, n);
	return n;
}

/* The number at an 8-byte field; false: it has another size. */
static bool read_word(const struct eprobe_call *r, const struct event_field *f, uint64_t *out)
{
	return f->size == 8 && read_record(r, f->offset, out, 8) == 8;
}

/* Copies what a field __NAME_val has of the memory at `address`, to which the field NAME leads. 0:
 * it has nothing. */
static uint32_t read_copy(const struct eprobe_call *r, const struct event_field *copy,
			  uint64_t address, void *to, uint32_t n)
{
	size_t length = strlen(copy->name);
	const struct event_field *f;
	enum event_field_kind kind;
	uint32_t data_loc, bytes;
	uint64_t begin;

	if (length < 7 || strncmp(copy->name, "__", 2) ||
	    strcmp(copy->name + length - 4, "_val") ||
	    event_field_kind(copy) != EVENT_DYNAMIC)
		return 0;
	f = event_find_field(r->format, copy->name + 2, length - 6, &kind);
	if (!f || !read_word(r, f, &begin) || read_record(r, copy->offset, &data_loc, 4) != 4)
		return 0;
	bytes = data_loc >> 16;
	if (address < begin || address - begin >= bytes)
		return 0;
	if (n > bytes - (address - begin))
		n = bytes - (uint32_t)(address - begin);
	return read_record(r, (data_loc & 0xffff) + (address - begin), to, n);
}

/* Copies what the record has of the memory at `address`. */
static uint32_t read_copies(const struct eprobe_call *r, uint64_t address, void *to, uint32_t n)
{
	uint32_t got = 0;

	for (size_t i = 0; i < r->format->n && !got; i++)
		got = read_copy(r, &r->format->fields[i], address, to, n);
	return got;
}

/* The kernel's common fields come first: the event's id and the thread's number; flags are 0. */
static void take_record(struct eprobe_call *r, const struct event_entry *entry, int32_t tid,
			const struct event *e)
{
	uint16_t id = (uint16_t)entry->format->id;

	r->format = entry->format;
	r->size = COMMON_BYTES + (uint32_t)e->count;
	memset(r->bytes, 0, COMMON_BYTES);
	memcpy(r->bytes, &id, sizeof(id));
	memcpy(r->bytes + 4, &tid, sizeof(tid));
	memcpy(r->bytes + COMMON_BYTES, e->payload, e->count);
}

/* The bytes of a system call are those at its begin: a record that is made when it returns, or of
 * several records, wants them. Of others they may be long out of date. */
static bool wants_call(const struct event_entry *base)
{
	return base->provider == &syscalls_provider || base->provider == &synthetic_provider;
}

/* An exit of a system call has no arguments of its own: its entry's record is kept, one a
 * thread. */
void eprobes_note(struct eprobe_calls *calls, const struct event_entry *entry,
		  const struct event *e)
{
	if (entry->provider != &syscalls_provider || e->count > 8 * RECORD_PAYLOAD_MAX ||
	    strncmp(entry->format->name, "sys_enter_", strlen("sys_enter_")))
		return;
	while (calls->threads.n <= e->thread)
		*vec_add(&calls->threads) = NULL;
	if (!calls->threads.at[e->thread])
		calls->threads.at[e->thread] = mem_zalloc(sizeof(struct eprobe_call));
	take_record(calls->threads.at[e->thread], entry, 0, e);
}

void eprobes_free(struct eprobe_calls *calls)
{
	for (size_t i = 0; i < calls->threads.n; i++)
		free(calls->threads.at[i]);
	vec_free(&calls->threads);
}

/* --- the process ---------------------------------------------------------------------------- */

/* Whether the process with that number is the one that made the record: another one that has the
 * number since began after it. Its begin is known to 10 ms, in which no number is used again. */
static bool is_still_there(const struct making *m)
{
	uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK), made;
	struct timespec boot, mono;
	struct proc_stat is;

	if (proc_stat_read((pid_t)m->thread->pid, (pid_t)m->thread->pid, &is) < 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &boot) < 0 || clock_gettime(CLOCK_MONOTONIC, &mono) < 0)
		return false;
	/* Both clocks differ by the time that the machine slept. */
	made = trace_clock_ns(&m->info->clock, m->event->tsc) +
	       (uint64_t)(boot.tv_sec - mono.tv_sec) * UINT64_C(1000000000) +
	       (uint64_t)(boot.tv_nsec - mono.tv_nsec);
	return is.start_time * tick_ns <= made;
}

/* Reads the process's memory, up to the first page that is not there. */
static uint32_t read_process(const struct making *m, uint64_t address, void *to, uint32_t n)
{
	if (!is_still_there(m))
		return 0;
	return (uint32_t)running_memory_read((pid_t)m->thread->pid, address, to, n);
}

/* fetch_context.read */
static uint32_t read_memory(void *context, uint64_t address, void *to, uint32_t n)
{
	const struct making *m = context;
	uint32_t got;

	if (address >= EPROBE_RECORD && address - EPROBE_RECORD < sizeof(m->record.bytes))
		return read_record(&m->record, address - EPROBE_RECORD, to, n);
	got = read_copies(&m->record, address, to, n);
	if (!got && m->call)
		got = read_copies(m->call, address, to, n);
	return got ? got : read_process(m, address, to, n);
}

/* fetch_context.comm */
static void read_comm(void *context, char *to)
{
	const struct making *m = context;

	memset(to, 0, FETCH_COMM_BYTES);
	strncpy(to, trace_thread_name_at(m->thread, m->event->tsc), FETCH_COMM_BYTES - 1);
}

/* filter_record.fetch: a string, up to its NUL. */
static int fetch_string(void *context, uint64_t address, char *to, uint32_t n)
{
	uint32_t got = read_memory(context, address, to, n);

	return got ? (int)strnlen(to, got) : -1;
}

static bool passes_filter(struct making *m)
{
	const struct filter_program *p = m->eprobe->filter;
	char scratch[FILTER_STRING_MAX];
	const struct filter_record r = {
		.bytes = m->record.bytes,
		.size = m->record.size,
		.cpu = m->event->cpu,
		.comm = trace_thread_name_at(m->thread, m->event->tsc),
		.fetch = fetch_string,
		.scratch = scratch,
		.scratch_bytes = sizeof(scratch),
		.context = m,
	};

	return !p || p->needs & FILTER_NEEDS_RESOLVE || filter_run(p, p->bytes, &r);
}

unsigned eprobes_make(const struct eprobe *p, const struct event *e,
		      const struct trace_info *info, const struct eprobe_calls *calls,
		      uint64_t *payload)
{
	static const uint64_t no_regs[FETCH_REGS];
	struct making m = { .eprobe = p, .event = e, .info = info,
			    .thread = &info->threads.at[e->thread] };
	const struct fetch_context c = { .regs = no_regs, .read = read_memory, .comm = read_comm,
					 .context = &m };
	uint64_t record[FETCH_RECORD_MAX / 8];
	uint32_t n;

	if (e->count > 8 * RECORD_PAYLOAD_MAX)
		return 0; /* the program overwrote the record */
	take_record(&m.record, p->base, (int32_t)m.thread->tid, e);
	if (wants_call(p->base) && e->thread < calls->threads.n)
		m.call = calls->threads.at[e->thread];
	if (!passes_filter(&m))
		return 0;
	memset(record, 0, sizeof(record));
	n = fetch_run(p->program, p->program_bytes, &c, (uint8_t *)record, sizeof(record));
	if (n < COMMON_BYTES)
		return 0;
	/* A record without fields has a word of zeros. */
	n = n == COMMON_BYTES ? 1 : (n - COMMON_BYTES + 7) / 8;
	memcpy(payload, record + 1, n * sizeof(*payload));
	return n;
}
