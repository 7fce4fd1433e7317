/* trace_marker: text that somebody writes into the trace, as ftrace's event `print`. Who writes need not be traced. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "live/internal.h"
#include "session/clock.h"
#include "shared/record.h"
#include "tracee/proc_status.h"

/* One record's text; a longer one is several records. Before it stands an address, behind it a NUL. */
#define TEXT_MAX (8 * (RECORD_PAYLOAD_MAX - 1) - 1)

static uint32_t thread_of(struct trace_info *info, pid_t tid)
{
	struct trace_thread t = { .tid = (uint32_t)tid, .pid = (uint32_t)tid, .tsc = clock_tsc() };
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

static bool write_piece(struct buffer *b, uint32_t thread, uint32_t event, const char *text, size_t n)
{
	uint64_t words[1 + RECORD_PAYLOAD_MAX] = { 0 }, tsc = clock_tsc();
	size_t payload = 1 + n / 8 + 1;
	int cpu = sched_getcpu();

	words[0] = record_word(tsc, record_event_id((unsigned)payload, RECORD_EVENT_TRACE + event), RECORD_EVENT);
	memcpy(words + 2, text, n);
	return buffer_write(b, thread, cpu < 0 ? 0 : (uint16_t)cpu, words, 1 + payload, tsc);
}

int live_marker(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err)
{
	struct part *p = arg;
	struct trace_info *info;
	uint32_t index, event = events_find(p->live->events, "ftrace", "print")->index;
	bool on = true;

	if (raw)
		return err_set(err, ENOTSUP, "what is written to trace_marker_raw is not kept; trace_marker takes text");
	info = pump_hold(p->live->pump);
	index = thread_of(info, thread);
	pump_release(p->live->pump);
	for (size_t at = 0; at < n && on; at += TEXT_MAX)
		on = write_piece(&p->buffer, index, event, text + at, n - at < TEXT_MAX ? n - at : TEXT_MAX);
	instance_wake(p->instance);
	return on ? 0 : err_set(err, EBADF, "nothing is recorded now: tracing_on is 0");
}
