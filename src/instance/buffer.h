/* SPDX-License-Identifier: MIT */
/* An instance's buffer: what it recorded, when it did, and the ways to read it: `trace`, which takes nothing
 * away, and `trace_pipe` and trace_pipe_raw (buffer_raw.h), which do. The caller has the trace_info to himself in the functions that get it. */
#pragma once
#include <limits.h>

#include "instance/buffer_raw.h"
#include "instance/family.h"
#include "instance/merge.h"
#include "instance/ring.h"
#include "instance/sieve.h"
#include "model/settings.h"
#include "base/out.h"
#include "report/printer.h"

#define BUFFER_ALL_CPUS UINT_MAX

typedef VEC(char) buffer_text;

/* trace_pipe between two reads. */
struct buffer_pipe {
	unsigned cpu;            /* or BUFFER_ALL_CPUS */
	bool open;               /* printer and source are */
	struct printer printer;
	struct source *source;   /* of what was taken and is not printed yet; NULL: of nothing */
	struct out out;
	buffer_text text;        /* printed, not read yet: from `read` on */
	size_t read;
	bool graph;              /* as it was opened */
	uint64_t options;
	uint64_t events;         /* that were printed */
	uint64_t fed_ns;         /* when the printer got something last; 0: it holds nothing back */
};

/* What `echo 1 > snapshot` put aside. */
struct buffer_snapshot {
	bool taken;
	chunk_list chunks;
	off_list off;
	gone_list gone;
	struct ring_counts counts;
};

struct buffer {
	struct ring ring;
	pthread_mutex_t lock;    /* of what follows */
	off_list off;
	gone_list gone;          /* read or cleared, of one CPU alone */
	off_list pauses;         /* while it was on: somebody was reading `trace` */
	unsigned paused;         /* by so many who read it now */
	bool on;
	struct settings settings;
	struct selection *events; /* of the settings; NULL: none is enabled */
	bool masked;             /* tracing_cpumask leaves processors out */
	struct sieve *sieve;     /* others trace functions too; NULL: no */
	chunk_list pending;      /* not through it yet */
	struct family *family;   /* NULL: no option follows forks */
	struct triggers *triggers; /* NULL: there are none, nor function commands */
	struct buffer_snapshot snapshot;
	pthread_mutex_t reading; /* of the pipes */
	struct buffer_pipe pipe;
	VEC(struct buffer_pipe *) cpu_pipes; /* by CPU; NULL: nobody has read it */
	buffer_text dumped; /* what the last `dump` printed */
	struct buffer_raw raw;
};

void buffer_init(struct buffer *b, const struct settings *settings);
void buffer_free(struct buffer *b);
/* Other settings: size, mode, on or off from this moment (a TSC) on. Another tracer empties it. */
void buffer_configure(struct buffer *b, const struct settings *settings, uint64_t tsc);
void buffer_clear(struct buffer *b, uint64_t tsc); /* of what was recorded before */
/* It stands still until as many pauses have ended as have begun. */
void buffer_pause(struct buffer *b, bool begins, uint64_t tsc);
/* What it keeps of the records that a thread made from this time on: c is the ring's then, or not. */
void buffer_offer(struct buffer *b, struct chunk *c, pid_t tid);

/* From now on the functions' records are those for these settings, as sieve_new has it; NULL: all of them. */
void buffer_share(struct buffer *b, const struct settings *s, bool alone);
/* After buffer_configure, if family_wanted: the threads that there are at this moment. */
void buffer_follow(struct buffer *b, const struct pid_list *threads);
/* What was offered is settled now: it comes into the ring, if it is known whose it is. Nothing is missing from before `complete`. */
void buffer_settle(struct buffer *b, const struct trace_info *info, uint64_t complete);
/* All that was offered is settled, and nothing from before `until` is missing: triggers are run so far, or over so many
 * records. */
void buffer_run(struct buffer *b, struct trace_info *info, uint64_t until, size_t most);
bool buffer_has_triggers(struct buffer *b);
bool buffer_has_family(struct buffer *b);
/* info shows times by the clock of these settings. */
void buffer_choose_clock(struct trace_info *info, const struct settings *s);
/* The settings become what triggers and forks have made of them: tracing_on, what is enabled, lists of threads. */
void buffer_present(struct buffer *b, struct settings *s);

/* What `cat trace` shows; cpu: of one CPU, or BUFFER_ALL_CPUS. */
int buffer_show(struct buffer *b, struct trace_info *info, const struct settings *s, unsigned cpu, struct out *out,
		struct err *err);
/* What is in the buffer becomes the snapshot, and the buffer is empty; or the snapshot goes. */
void buffer_snapshot_take(struct buffer *b);
void buffer_snapshot_drop(struct buffer *b);
/* False: there is none. */
bool buffer_snapshot_show(struct buffer *b, struct trace_info *info, const struct settings *s, unsigned cpu, struct out *out);
/* What the command dump, or cpudump, has printed last. */
void buffer_show_dump(struct buffer *b, struct out *out);
/* Of one CPU. *oldest_tsc: of its first record; 0: it has none. */
struct ring_counts buffer_count(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t *oldest_tsc);
/* A record that did not come from a program: one event's, made now by a thread of trace_info. False: it is off. */
bool buffer_write(struct buffer *b, uint32_t thread, uint16_t cpu, const uint64_t *words, size_t n, uint64_t tsc);

/* All of it into a new trace file. */
int buffer_extract(struct buffer *b, struct trace_info *info, const char *path, struct err *err);

/* Bytes of whole lines, at most n; -EAGAIN: none now. */
ssize_t buffer_read(struct buffer *b, struct trace_info *info, char *buf, size_t n, struct err *err);
bool buffer_is_readable(struct buffer *b);
/* The last bytes, of a CPU or all, of what was recorded before `until`, nothing of which may come any more; 0: that is all. */
ssize_t buffer_read_rest(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until, char *buf, size_t n, struct err *err);
bool buffer_is_on(struct buffer *b); /* tracing_on, as triggers have left it */
/* The same of what ran on one CPU, before this time (a TSC): what others did stays, and nothing older may come any more. */
ssize_t buffer_cpu_read(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until, char *buf, size_t n, struct err *err);
bool buffer_cpu_is_readable(struct buffer *b, struct trace_info *info, unsigned cpu, uint64_t until);
uint64_t buffer_cpu_was_read(struct buffer *b, unsigned cpu); /* records, by buffer_cpu_read */
/* What was recorded on the CPU before this time (a TSC) is gone. */
void buffer_cpu_clear(struct buffer *b, unsigned cpu, uint64_t tsc);
