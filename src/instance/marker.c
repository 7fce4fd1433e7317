/* SPDX-License-Identifier: MIT */
/* trace_marker and trace_marker_raw: what somebody writes into the trace, as ftrace's events `print` and `raw_data`. Who
 * writes need not be traced. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "instance/internal.h"
#include "collect/clock.h"
#include "shared/record.h"
#include "tracee/proc_status.h"

/* One record's text; a longer one is several records. Before it stands an address, behind it a newline, as the kernel has it
 * (trace-cmd record --date looks for it), and a NUL. */
#define TEXT_MAX (8 * (RECORD_PAYLOAD_MAX - 1) - 2)
#define RAW_MAX (8 * RECORD_PAYLOAD_MAX)

static uint32_t thread_of(struct trace_info *info, pid_t tid, bool named)
{
	struct trace_thread t = { .tid = (uint32_t)tid, .pid = (uint32_t)tid, .tsc = clock_tsc(), .unnamed = !named };
	struct proc_status status;

	for (size_t i = info->threads.n; i-- > 0;)
		if (info->threads.at[i].tid == (uint32_t)tid)
			return (uint32_t)i;
	if (proc_status_read(tid, &status) == 0) {
		t.pid = (uint32_t)status.tgid;
		memcpy(t.comm, status.name, sizeof(t.comm));
	}
	*vec_add(&info->threads) = t;
	return (uint32_t)info->threads.n - 1;
}

struct marker { struct trace_array *array; uint32_t thread, event; uint16_t cpu; };

/* The writer waits for the answer, and where it ran last it wrote. */
static uint16_t cpu_of(pid_t tid)
{
	struct proc_stat stat;
	int cpu = tid && proc_stat_read(tid, tid, &stat) == 0 ? stat.cpu : sched_getcpu();

	return cpu < 0 ? 0 : (uint16_t)cpu;
}

static bool write_record(const struct marker *m, uint64_t *words, size_t payload)
{
	uint64_t tsc = clock_tsc();

	words[0] = record_word(tsc, record_event_id((unsigned)payload, RECORD_EVENT_TRACE + m->event), RECORD_EVENT);
	return buffer_write(&m->array->buffer, m->thread, m->cpu, words, 1 + payload, tsc);
}

static bool write_text(const struct marker *m, const char *text, size_t n)
{
	bool on = true;

	for (size_t at = 0, piece; at < n && on; at += piece) {
		uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 };

		piece = n - at < TEXT_MAX ? n - at : TEXT_MAX;
		memcpy(words + 2, text + at, piece);
		((char *)(words + 2))[piece] = text[at + piece - 1] == '\n' ? '\0' : '\n';
		on = write_record(m, words, 1 + (piece + 1) / 8 + 1);
	}
	return on;
}

static bool write_raw(const struct marker *m, const char *bytes, size_t n)
{
	uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 };

	memcpy(words + 1, bytes, n);
	return write_record(m, words, (n + 7) / 8);
}

int live_marker(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err)
{
	struct trace_array *tr = arg;
	struct marker m = { tr, 0, events_find(tr->live->events, "ftrace", raw ? "raw_data" : "print")->index, cpu_of(thread) };
	bool on;

	if (raw && n > RAW_MAX)
		return err_set(err, EINVAL, "a raw marker has %u bytes at most, with its id", RAW_MAX);
	m.thread = thread_of(pump_hold(tr->live->pump), thread,
			     option_is_set(tr->live->arrays.at[0]->settings.options, OPTION_RECORD_CMD));
	pump_release(tr->live->pump);
	on = raw ? write_raw(&m, text, n) : write_text(&m, text, n);
	instance_wake(tr->instance);
	return on ? 0 : err_set(err, EBADF, "nothing is recorded now: tracing_on is 0");
}
