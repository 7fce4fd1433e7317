/* SPDX-License-Identifier: MIT */
/* An instance's buffer: its records, the periods in which it was off, and its readers: `trace`,
 * which leaves the records in place, and trace_pipe and trace_pipe_raw (buffer_raw.h), which
 * consume them. The functions that take a trace_info need pump_lock. */
#pragma once
#include <limits.h>

#include "instance/buffer_raw.h"
#include "instance/fork_follow.h"
#include "instance/merge.h"
#include "instance/ring.h"
#include "instance/record_filter.h"
#include "model/settings.h"
#include "base/out.h"
#include "report/printer.h"
#include "session/held_calls.h"

#define BUFFER_ALL_CPUS UINT_MAX

/* Text in memory, without a terminating NUL. */
typedef VEC(char) buffer_text;

/* The state of trace_pipe between two reads. */
struct buffer_pipe {
	unsigned cpu;            /* or BUFFER_ALL_CPUS */
	bool open;               /* printer and source are */
	struct printer printer;
	struct source *source;   /* records consumed and not printed yet; NULL: none */
	/* of a whole buffer: that source, which stays; it has what is not to be printed yet, too */
	struct source *lasting;
	struct out out;
	buffer_text text;        /* printed; from `read` on not read yet */
	size_t read;
	const struct tracer *tracer; /* when it was opened */
	uint64_t options;
	uint64_t events;         /* printed so far */
	uint64_t fed_ns;         /* when the printer got an event last; 0: it holds none back */
};

/* The records that `echo 1 > snapshot` put aside. */
struct buffer_snapshot {
	bool taken;
	chunk_list chunks;
	off_periods off;
	discard_times gone;
	struct ring_counts counts;
	bool is_latency;           /* a latency tracer's: `latency` is known */
	struct trace_latency latency;
};

struct buffer {
	struct ring ring;
	struct addresses *addresses;
	pthread_mutex_t lock;    /* protects the members below */
	off_periods off;
	discard_times gone;          /* per-CPU reads and clears */
	off_periods pauses;         /* while it was on and `trace` was read (pause-on-trace) */
	unsigned paused;         /* number of current readers */
	bool on;
	struct settings settings;
	struct selection *events; /* the enabled events; NULL: none */
	/* tracing_max_latency: the longest so far, and that which buffer_present() told last */
	uint64_t max_latency_us, told_latency_us;
	bool masked;             /* tracing_cpumask excludes CPUs */
	/* buffer_take_all(): of one instance that has all, before another thread knows it */
	bool whole;
	const struct clock *clock; /* it puts times right; NULL: they stay */
	struct record_filter *record_filter;     /* NULL: no other instance traces functions */
	chunk_list pending;      /* chunks that have not passed it */
	/* Whether calls wait until it is known what they return; ENDS: they go on at the next
	 * buffer_resolve(). held: what waits, of who has pump_lock; NULL: nothing came yet. */
	enum buffer_holding { HOLDING_NOT, HOLDING_CALLS, HOLDING_ENDS } holding;
	struct held_calls *held;
	struct held_counts was_held; /* of earlier conditions, whose calls wait no more */
	struct fork_follow *fork_follow;   /* NULL: no option follows forks */
	struct triggers *triggers; /* NULL: there are neither triggers nor function commands */
	struct buffer_snapshot snapshot;
	pthread_mutex_t reading; /* protects the pipes */
	struct buffer_pipe pipe;
	VEC(struct buffer_pipe *) cpu_pipes; /* by CPU; NULL: not opened */
	buffer_text dumped; /* the output of the last `dump` */
	struct buffer_raw raw;
	struct buffer_raw snapshot_raw; /* its lock: before `lock` */
};

/* addresses: those of the session's functions; used only where the caller has pump_lock. The buffer
 * does not own it. */
void buffer_init(struct buffer *b, const struct settings *settings, struct addresses *addresses);
/* Nobody may use the buffer any more: the pump has stopped, or pump_remove took the buffer out. */
void buffer_free(struct buffer *b);
/* Takes settings over (size, mode, on or off) from the TSC on. A change of tracer empties the
 * buffer. */
void buffer_configure(struct buffer *b, const struct settings *settings, uint64_t tsc);
void buffer_clear(struct buffer *b, uint64_t tsc); /* drops records from before the TSC */
/* Begins or ends a pause; recording is off while any pause lasts. */
void buffer_pause(struct buffer *b, bool begins, uint64_t tsc);
/* From the beginning the buffer takes all that comes, whatever its settings select, and its ring
 * has so many bytes, without overwriting. trace_pipe's records wait until none from before them is
 * missing. Before the pump has the buffer. */
void buffer_take_all(struct buffer *b, uint64_t bytes);
/* From now on records have times that the clock puts right. Before another thread has the
 * buffer. */
void buffer_set_times(struct buffer *b, const struct clock *clock);
/* The time of an event with its stamp, as the buffer's readers see it. Needs pump_lock. */
uint64_t buffer_time_of(const struct buffer *b, const struct event *stamped);
/* Offers a new chunk of thread tid: the buffer takes a reference, or ignores it if it is off or
 * nothing in it can be its own. tid 0: of threads that nobody knows, which no list leaves out. */
void buffer_offer(struct buffer *b, struct chunk *c, pid_t tid);

/* From now on the buffer takes only the functions' records that settings s select
 * (record_filter_new); NULL: all. */
void buffer_share(struct buffer *b, const struct settings *s, bool alone);
/* From now on calls with a condition on what they return wait for it (session/held_calls.h), or do
 * not any more. */
void buffer_hold(struct buffer *b, bool holds);
/* There are new functions, or others are selected. Needs pump_lock. */
void buffer_renew(struct buffer *b);
/* Called after buffer_configure if fork_follow_wanted; threads: all that exist now. */
void buffer_follow(struct buffer *b, const struct pid_list *threads);
/* Moves offered chunks that are resolved, and whose threads are judged, into the ring. Before the
 * TSC `complete` no record is missing. */
void buffer_resolve(struct buffer *b, const struct trace_info *info, uint64_t complete);
/* Counts of the calls that conditions on returned values hold back, and left out so far. On the
 * pump's thread, between two of these calls. */
struct held_counts buffer_held(const struct buffer *b);
/* Runs triggers up to the TSC `until`, over at most `most` records. All offered chunks are
 * resolved, and no record before `until` is missing. */
void buffer_run(struct buffer *b, struct trace_info *info, uint64_t until, size_t most);
/* Whether triggers or function commands have to be run over this buffer's records. */
bool buffer_has_triggers(struct buffer *b);
/* Bytes of chunks that may wait for buffer_resolve(): what the ring can keep of them, or what the
 * triggers may be behind. */
uint64_t buffer_may_wait(struct buffer *b);
/* ring_await() of the buffer's ring, before each pass: awaited says that programs wait for the
 * reader of this buffer. Any thread. */
bool buffer_await(struct buffer *b, bool awaited, uint64_t more);
/* Whether triggers have not looked at all records from before the TSC, though they were given them:
 * they wait for the end of a wake-up (wake_events.h). Needs pump_lock. */
bool buffer_is_behind(struct buffer *b, uint64_t tsc);
/* Whether event-fork or function-fork holds chunks back in this buffer. */
bool buffer_follows_forks(struct buffer *b);
/* Makes info show times by trace_clock of s. */
void buffer_choose_clock(struct trace_info *info, const struct settings *s);
/* Makes a clock show times by one of trace_clock's. */
void buffer_set_clock(struct trace_clock *clock, enum clock_choice choice);
/* Updates s with changes by triggers and forks: tracing_on, enabled events, lists of threads. */
void buffer_present(struct buffer *b, struct settings *s);

/* Prints the file `trace` of one CPU, or BUFFER_ALL_CPUS; the records stay. 0, or -errno and
 * *err. */
int buffer_show(struct buffer *b, struct trace_info *info, const struct settings *s, unsigned cpu,
		struct out *out, struct err *err);
/* Moves the buffer's records into the snapshot; what the snapshot had is freed. */
void buffer_snapshot_take(struct buffer *b);
/* Whether the tracer is a latency tracer, whose records take the snapshot's place. */
bool buffer_has_latency(struct buffer *b);
/* Puts a latency tracer's records in the snapshot's place: moves them out of the ring `from`. */
void buffer_snapshot_keep(struct buffer *b, struct ring *from, const struct trace_latency *l);
/* Frees the snapshot. */
void buffer_snapshot_drop(struct buffer *b);
/* Drops one CPU's records from the snapshot. */
void buffer_snapshot_clear_cpu(struct buffer *b, unsigned cpu);
/* Prints the snapshot of one CPU, or BUFFER_ALL_CPUS. False: there is none. */
bool buffer_snapshot_show(struct buffer *b, struct trace_info *info, const struct settings *s,
			  unsigned cpu, struct out *out);
/* Prints the output of the last command dump or cpudump. */
void buffer_show_dump(struct buffer *b, struct out *out);
/* The counters of one CPU. *oldest_tsc: its first record's, 0 if it has none. */
struct ring_counts buffer_count(struct buffer *b, struct trace_info *info, unsigned cpu,
				uint64_t *oldest_tsc);
/* Adds a record that brace makes (a marker) of an event, in the name of a thread of trace_info.
 * False: recording is off. */
bool buffer_write(struct buffer *b, uint32_t thread, uint16_t cpu, const uint64_t *words, size_t n,
		  uint64_t tsc);

/* Whether what is written to the top's trace_marker goes here (copy_trace_marker). */
bool buffer_copies_markers(struct buffer *b);

/* Writes all records into a new trace file at path; the buffer keeps them. 0, or -errno and
 * *err. */
int buffer_extract(struct buffer *b, struct trace_info *info, const char *path, struct err *err);

/* Reads trace_pipe: whole lines, at most n bytes. Before the TSC `until`, as times are shown, no
 * record is missing. Returns the number of bytes, or -EAGAIN if there is no line now. */
ssize_t buffer_read(struct buffer *b, struct trace_info *info, uint64_t until, char *buf, size_t n,
		    struct err *err);
/* Whether trace_pipe's records are binary numbers, not text. */
bool buffer_is_binary(struct buffer *b, struct trace_info *info);
/* Prints the header of trace_pipe's lines, as `trace` has it without records. */
void buffer_print_header(struct buffer *b, struct trace_info *info, struct out *out);
/* Whether buffer_read would return text now. Takes no pump_lock, for poll and for the pump's
 * thread. */
bool buffer_is_readable(struct buffer *b);
/* Reads the rest of a pipe, of a CPU or all, recorded before the TSC `until`, before which no
 * record is missing; 0: the end. */
ssize_t buffer_read_rest(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until,
			 char *buf, size_t n, struct err *err);
bool buffer_wants(struct buffer *b, uint32_t event); /* the event, by its index, is armed */
bool buffer_is_on(struct buffer *b); /* tracing_on, with changes by triggers */
/* buffer_read for one CPU and records before the TSC `until`, before which no record is missing;
 * other CPUs' records stay. */
ssize_t buffer_cpu_read(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until,
			char *buf, size_t n, struct err *err);
/* Whether buffer_cpu_read would return text now; prints the next piece to find out. */
bool buffer_cpu_is_readable(struct buffer *b, struct trace_info *info, unsigned cpu,
			    uint64_t until);
/* number of records read by buffer_cpu_read */
uint64_t buffer_cpu_was_read(struct buffer *b, unsigned cpu);
/* Drops the CPU's records from before the TSC. */
void buffer_cpu_clear(struct buffer *b, unsigned cpu, uint64_t tsc);
