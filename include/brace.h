/* SPDX-License-Identifier: MIT
 *
 * libbrace: reads traces of programs that brace recorded, and has programs traced. C99 and C++17; link with `pkg-config
 * --libs libbrace`. libbrace(3) is an introduction with examples.
 *
 * Conventions:
 *
 *   Results    int: 0 or more is success, below 0 is -errno. brace_error() is the sentence that
 *              says what is wrong. Functions that return pointers return NULL then. The library
 *              prints nothing, handles no signal, starts no thread and never ends the process; only
 *              brace_session_start() makes a child. When
 *              memory runs out a call fails with -ENOMEM, and its object can only be closed. Two
 *              calls lean on more: brace_calls_line(), see there, and a part whose functions are
 *              named by lines of the source (filter=file.c:12), for which binaries are opened.
 *   Objects    opaque. ..._open makes one through its last argument, ..._close ends it; NULL may be
 *              closed. A cursor keeps what it reads from alive: close in any order.
 *   Strings    belong to the object that gave them. Names are the bytes that the traced programs
 *              have: of any encoding, control characters included. A trace file may be anybody's.
 *   Records    are allocated by the library alone and grow at their end in later versions: read
 *              their fields; use no sizeof, copy none whole, and index no array of them. Structs
 *              that you fill begin with `size`: set it to sizeof, and all else to 0.
 *   Threads    One thread at a time uses an object. Different threads may use different objects
 *              at the same time, also several cursors of one trace. After fork() the child may go
 *              on with the objects of the thread that forked.
 *   Time       is nanoseconds of CLOCK_MONOTONIC on the machine that recorded;
 *              brace_trace_realtime() makes dates of them.
 *   Stability  No function is taken away or changed within libbrace.so.0. */
#ifndef BRACE_H
#define BRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#ifdef __cplusplus
extern "C" {
#endif

struct brace_trace;  /* a trace file */
struct brace_calls;  /* a cursor over calls and events, by time */
struct brace_query;  /* the tables of SQL over a trace */
struct brace_rows;   /* a cursor over a table's rows */
struct brace_session; /* programs that are traced in the background */

/* --- errors ----------------------------------------------------------------------------------- */

const char *brace_version(void); /* of the library: "0.1.0" */
/* The error of this thread's last call that failed, a sentence without a full stop; "" if none has
 * failed. Valid until the thread's next call that fails. */
const char *brace_error(void);
/* The text of yours that was at fault, and the byte of it where the fault is (column may be NULL);
 * "" if it was none. Valid as brace_error(). */
const char *brace_error_input(size_t *column);

/* --- a trace ---------------------------------------------------------------------------------- */

/* Opens a file. One that was cut short is opened too: info->cut. */
int brace_trace_open(const char *path, struct brace_trace **out);
/* Opens the bytes of a file, which must stay until the trace and its cursors are closed. `name`
 * stands in sentences about them. */
int brace_trace_open_memory(const char *name, const void *bytes, size_t n,
			    struct brace_trace **out);
void brace_trace_close(struct brace_trace *t);

struct brace_info {
	const char *host, *kernel, *cpu; /* of the machine that recorded */
	const char *command;             /* of the program, words separated by a space */
	const char *version, *tracer;    /* brace's version, and its tracer ("function_graph") */
	uint32_t cpus;
	uint64_t created_ns;             /* when, since 1970 */
	uint64_t begin, end;             /* all records lie between these; both 0: there are none */
	uint64_t records, calls, lost;   /* kept, calls among them, and not kept */
	uint64_t bytes;                  /* of the file */
	uint64_t clock_hz;               /* ticks of the recording clock a second */
	bool cut;                        /* it ends early */
	uint64_t cut_bytes;              /* at its end, which could not be read */
	uint64_t thresh_ns;              /* shorter calls were not recorded; 0: all were */
	bool exclude_sleep;              /* durations leave out the time that threads slept */
	bool values;                     /* returned values were recorded */
	bool timed, ended;               /* elapsed_ns is known; so are status and the CPU times */
	uint32_t status;                 /* the program's, as waitpid() gives it */
	uint64_t elapsed_ns, user_ns, system_ns;
};
const struct brace_info *brace_trace_info(const struct brace_trace *t);
/* The date of a time of the trace, in ns since 1970. */
int64_t brace_trace_realtime(const struct brace_trace *t, uint64_t time);

/* Things of a trace are numbered from 0, without gaps. Each ..._count is one more than the last
 * number; each description is valid until the trace is closed, and NULL behind the last. */

/* A file of brace's settings when recording began: max_graph_depth and its like. */
struct brace_setting {
	const char *file, *text; /* text: without its last newline */
	bool chosen;             /* it is not the default */
};
uint32_t brace_trace_setting_count(const struct brace_trace *t);
const struct brace_setting *brace_trace_setting(struct brace_trace *t, uint32_t i);

/* An address space from one exec to the next. */
struct brace_process {
	uint32_t pid;
	const char *program, *command; /* path of what it executed, and its words; "": unknown */
	uint64_t begin;
};
uint32_t brace_trace_process_count(const struct brace_trace *t);
const struct brace_process *brace_trace_process(struct brace_trace *t, uint32_t i);

struct brace_thread {
	uint32_t tid, process;
	const char *name;              /* the last one that it had */
	uint64_t begin;                /* when it was first seen */
	uint64_t records, lost;
	bool kernel;                   /* stands for what the kernel recorded of the thread */
};
uint32_t brace_trace_thread_count(const struct brace_trace *t);
const struct brace_thread *brace_trace_thread(struct brace_trace *t, uint32_t i);

/* Number 0 stands for every function that the trace does not name: "[unknown]". The functions of a
 * file that several processes have mapped are numbered for each. */
struct brace_function {
	const char *name;              /* as `brace report` shows it; or module+0x1234 */
	const char *symbol;            /* as in the file; NULL: it has none */
	const char *module;            /* path of the file, or "" */
	const char *file;              /* its last component; of a PLT entry the library's */
	uint64_t address;              /* in the file */
	uint64_t size;                 /* bytes; 0: not known */
	const uint8_t *build_id;
	uint32_t build_id_size;        /* bytes; 0: the file has none */
	bool returns;                  /* its returns are followed */
};
uint32_t brace_trace_function_count(const struct brace_trace *t);
const struct brace_function *brace_trace_function(struct brace_trace *t, uint32_t i);

/* Events that the trace may have records of. */
struct brace_event {
	const char *system, *name;
	const char *format;            /* the text of its `format` file */
	uint32_t fields;               /* how many brace_trace_field() has */
};
struct brace_field {
	const char *name, *type;       /* type: as in C, with its dimension: "char[16]" */
	uint32_t offset, size;         /* in a record, from common_type on */
	bool is_signed;
};
uint32_t brace_trace_event_count(const struct brace_trace *t);
const struct brace_event *brace_trace_event(struct brace_trace *t, uint32_t i);
const struct brace_field *brace_trace_field(struct brace_trace *t, uint32_t event, uint32_t i);

/* --- calls and events ------------------------------------------------------------------------- */

enum brace_call_kind {
	BRACE_CALL_ENTER = 1, /* a function was called */
	BRACE_CALL_LEAVE,     /* it ended: duration and self are known */
	BRACE_CALL_WHOLE,     /* a whole call, recorded at its end (info->thresh_ns) */
	BRACE_CALL_ONLY,      /* a function was called; its end is not followed */
	BRACE_CALL_EVENT,     /* an event */
	BRACE_CALL_LOST       /* so many records (count) of this thread are missing here */
};
enum brace_call_flag {
	BRACE_FLAG_UNWOUND = 1,    /* LEAVE: it did not return: an exception, a longjmp */
	BRACE_FLAG_DOUBTFUL = 2,   /* records were lost while it was open */
	BRACE_FLAG_TAIL = 4,       /* entered by a jump */
	BRACE_FLAG_UNFINISHED = 8, /* LEAVE: it was still open at the end of the trace */
	BRACE_FLAG_FLOAT = 16,     /* VALUE: the bits of the floating-point number that it returned */
	BRACE_FLAG_VALUE = 32,     /* LEAVE, WHOLE: value is what it returned */
	BRACE_FLAG_HANDLER = 64,   /* a signal's handler, which interrupted the call below it */
	BRACE_FLAG_ARGUMENTS = 128 /* ENTER, ONLY: brace_calls_arguments() has them */
};
struct brace_call {
	uint64_t time;             /* of this record: of a LEAVE or WHOLE, its end */
	uint64_t duration, self;   /* LEAVE, WHOLE; self: without the calls that it made */
	uint64_t value;            /* with BRACE_FLAG_VALUE */
	uint64_t site;             /* the address that it returns to; 0: not known */
	uint64_t count;            /* LOST */
	uint32_t thread;           /* brace_trace_thread() */
	uint32_t function;         /* brace_trace_function(); of an EVENT 0 */
	uint32_t event;            /* of an EVENT: brace_trace_event() */
	uint32_t depth;            /* 0: no call is open around it */
	uint32_t coroutine;        /* 0: the thread's own stack */
	uint16_t cpu;
	uint8_t kind, flags;
};

/* The part of a trace that is read. */
struct brace_part {
	size_t size;
	/* "NAME=VALUE", with a NULL behind the last; NULL: everything. The names are those of the
	 * options of `brace report`: filter, notrace, graph-function, library, callers-of, from,
	 * to, thread, process, cpu, min-duration, max-graph-depth, min-size. An option may be given
	 * several times where the command takes it so. */
	const char *const *options;
	unsigned kinds; /* calls: bits 1 << BRACE_CALL_...; 0: all */
};

/* Opens a cursor; part may be NULL. */
int brace_calls_open(struct brace_trace *t, const struct brace_part *part,
		     struct brace_calls **out);
/* 1, and the next record, valid until the next call on c; 0 at the end; -EBADMSG: the file is
 * damaged from here on. */
int brace_calls_next(struct brace_calls *c, const struct brace_call **call);
void brace_calls_close(struct brace_calls *c);

/* Columns to be filled: each that is not NULL has room for n values. */
struct brace_columns {
	size_t size;
	uint64_t *time, *duration, *self, *value, *site, *count;
	uint32_t *thread, *function, *event, *depth, *coroutine;
	uint16_t *cpu;
	uint8_t *kind, *flags;
};
/* Takes up to n records and returns how many there were; 0 at the end. */
ssize_t brace_calls_columns(struct brace_calls *c, const struct brace_columns *to, size_t n);

/* These are of the record that brace_calls_next() gave last, if it is an EVENT: */
enum brace_type { BRACE_TYPE_NULL, BRACE_TYPE_INT, BRACE_TYPE_REAL, BRACE_TYPE_TEXT };
struct brace_value {
	enum brace_type type;  /* NULL: the record is too short for the field */
	int64_t number;        /* INT */
	const char *text;      /* TEXT: n bytes and a NUL */
	size_t n;
};
/* The value of field i of the event, valid until the next record. NULL: it has no such field. */
const struct brace_value *brace_calls_field(struct brace_calls *c, uint32_t i);
/* The number of the field of that name; -ENOENT: it has none. */
int brace_calls_find(struct brace_calls *c, const char *field);
/* The event as trace_pipe prints it: "name: text", without a newline. libtraceevent makes it, which
 * does not bear a want of memory. */
const char *brace_calls_line(struct brace_calls *c);
/* The arguments of a record with BRACE_FLAG_ARGUMENTS: "(cents=4, name="x1")". */
const char *brace_calls_arguments(struct brace_calls *c);

/* --- tables ----------------------------------------------------------------------------------- */

/* The rows of `brace report`, one for each function and each event: name, module, calls, total,
 * self, min, mean, p50, p99, max. Times are ns, and NULL where none is known. sort: a column's
 * name; NULL: the command's own choice. part may be NULL. */
int brace_report_open(struct brace_trace *t, const struct brace_part *part, const char *sort,
		      struct brace_rows **out);

/* SQL over the tables of brace-query(1). */
int brace_query_open(struct brace_trace *t, struct brace_query **out);
/* Runs the statements of the text; the rows are the last one's. */
int brace_query_run(struct brace_query *q, const char *sql, struct brace_rows **out);
void brace_query_close(struct brace_query *q);

int brace_rows_next(struct brace_rows *r); /* 1: it stands on the next row; 0 at the end */
unsigned brace_rows_count(const struct brace_rows *r); /* of columns */
const char *brace_rows_name(const struct brace_rows *r, unsigned column);
/* The values of the row. Before the first and behind the last, and of columns that there are not,
 * they are NULL and 0. A text is valid until the next row. */
enum brace_type brace_rows_type(const struct brace_rows *r, unsigned column);
int64_t brace_rows_int(const struct brace_rows *r, unsigned column);
double brace_rows_real(const struct brace_rows *r, unsigned column);
const char *brace_rows_text(const struct brace_rows *r, unsigned column);
void brace_rows_close(struct brace_rows *r);

/* --- sessions --------------------------------------------------------------------------------- */

/* A process of its own traces, and keeps what it records: `brace start` begins it, and it goes on
 * when this program ends or closes the object. Its settings are ftrace's files, by the paths that
 * `brace show` takes: "current_tracer", "events/syscalls/enable". brace_session(3). */
struct brace_session_options {
	size_t size;
	const char *name;           /* letters, digits, - and _; NULL: one that nobody has */
	/* "NAME" or "NAME=VALUE", with a NULL behind the last: the options of brace-start(1),
	 * filter=malloc* or event=syscalls:*. NULL: none. */
	const char *const *options;
	const char *const *argv;    /* a program and its arguments, with a NULL behind the last */
	const pid_t *pids;          /* or running processes */
	size_t n_pids;
	const char *brace;          /* the command; NULL: the library's own, or PATH's */
};
/* Starts the program with this process's standard input, output and error, or attaches to the
 * processes, and returns when they are traced. -ENOENT: there is no such program; -EACCES: it
 * cannot be executed; -EINVAL: brace refused it, brace_error() says why. The call makes a child and
 * waits for it; a host may handle SIGCHLD as it likes, or ignore it. */
int brace_session_start(const struct brace_session_options *how, struct brace_session **out);
/* Connects to a session of this user's that runs. -ENOENT: there is none of the name. */
int brace_session_connect(const char *name, struct brace_session **out);
/* Gives the names of the user's sessions, sorted, until each() returns another value than 0. each()
 * has to return: no exception, no longjmp(). */
int brace_session_names(int (*each)(void *arg, const char *name), void *arg);
const char *brace_session_name(const struct brace_session *s);

/* Reads a file, or the names in a directory. *text is valid until the next read of s. */
int brace_session_read(struct brace_session *s, const char *file, const char **text);
/* Write a file as `echo TEXT > FILE` and `>>` do: filters, triggers, probes ("dynamic_events"),
 * histograms, synthetic events. text: at most 65536 bytes, without a newline at its end. An error
 * is the kernel's sentence, with the place in brace_error_input(). */
int brace_session_write(struct brace_session *s, const char *file, const char *text);
int brace_session_append(struct brace_session *s, const char *file, const char *text);
/* Gives what is recorded as it comes and takes it away, as `cat trace_pipe` does ("trace_pipe"),
 * until the programs have ended, the session ends, or more() returns another value than 0. more()
 * has to return: no exception, no longjmp(). */
int brace_session_stream(struct brace_session *s, const char *file,
			 int (*more)(void *arg, const char *bytes, size_t n), void *arg);
/* Returns when all programs of the session have ended and what they did is recorded, or the session
 * has ended. */
int brace_session_wait(struct brace_session *s);
/* Writes what is in the buffer to a trace file, for brace_trace_open(). */
int brace_session_extract(struct brace_session *s, const char *path);
/* Ends the session: programs go on untraced. The object can then only be closed. */
int brace_session_end(struct brace_session *s);
/* Frees the object; the session goes on. NULL is allowed. */
void brace_session_close(struct brace_session *s);

#ifdef __cplusplus
}
#endif
#endif
