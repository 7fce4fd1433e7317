/* SPDX-License-Identifier: MIT */
/* Everything needed to make sense of records: processes' images, their modules and functions, call
 * sites, threads, the clock. The session fills one while it traces, the trace file stores it, and a
 * reader gets the same back. It owns everything in it. Not locked: a live session's belongs to
 * whoever has pump_lock. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct event_entry;

/* Kinds of hook, and why there is none, are closed lists: hook/plan.h. */
struct trace_function {
	uint64_t vaddr;    /* in the module's file; runtime address = module base + vaddr */
	uint32_t size;     /* bytes; 0 if unknown */
	uint32_t name;     /* offset into the module's strings; 0 = no symbol */
	uint8_t hook;      /* enum hook_kind */
	uint8_t reason;    /* enum hook_reason when it is not hooked, or entry only */
	uint8_t flags;     /* TRACE_FUNCTION_* */
	/* of a PLT entry: offset into the module's strings of the name of the file it leads to; 0:
	 * not known */
	uint32_t library;
	/* offset into the module's strings of what it takes and returns (base/prototype.h); 0: not
	 * known, or not asked for */
	uint32_t prototype;
	/* While it is recorded, no file has these: offset into the module's strings of the
	 * condition on what its calls return, 0: none; its calls may begin a graph; they have a
	 * condition on their arguments, too. */
	uint32_t returned;
	bool begins, compared;
};
#define TRACE_FUNCTION_ENTRY_ONLY 1 /* its return is not followed */
#define TRACE_FUNCTION_PLT 2        /* a PLT entry: a call into another module */
#define TRACE_FUNCTION_CONDITIONAL 4 /* calls of it may be left out by a condition */

/* A variable of a module; name: offset into the module's strings. */
struct trace_global { uint64_t vaddr, size; uint32_t name; };

struct trace_module {
	uint32_t image;       /* index into images */
	char *path;           /* as in /proc/PID/maps */
	char *name;           /* its last component */
	uint8_t build_id[20];
	uint8_t build_id_len;
	uint64_t base;        /* load bias */
	uint64_t start, end;  /* runtime range of its executable segments */
	uint64_t from_tsc, to_tsc; /* mapped during that time; to_tsc 0: to the end */
	/* function i has the id first_id + i in this image's records; TRACE_MADE_ID: none does */
	uint32_t first_id;
	/* Sorted by vaddr: the hooked ones and, for naming call sites, the others. */
	VEC(struct trace_function) functions;
	VEC(char) strings;    /* NUL-terminated names; byte 0 is NUL */
	/* Sorted by vaddr; of modules whose functions' arguments are recorded. */
	VEC(struct trace_global) globals;
};

/* The id of a module that is code which the program made while it ran: one function, of no file, as
 * the program told it to profilers (instance/made_names.h). No record has the id. */
#define TRACE_MADE_ID UINT32_MAX

/* One program image: from an exec (or the launch) to the next. Forked children share their parent's
 * image, ids and call sites. */
struct trace_image {
	uint32_t pid;         /* of the process that execed */
	uint64_t tsc;         /* when */
	char *exe, *cmdline;  /* cmdline: arguments separated by a space */
	char *files;          /* descriptors at that time, "NUMBER PATH" lines; NULL: not known */
	VEC(uint64_t) sites;  /* site id -> return address; 0 = not used */
	bool complete;        /* no process has it any more: its sites change no more */
};

#define TRACE_COMM 16     /* bytes of a thread's name, the NUL included */

/* A thread has this name from this time on. */
struct trace_name {
	uint64_t tsc;
	char comm[TRACE_COMM];
};

struct trace_thread {
	uint32_t pid, tid;
	uint32_t image;
	uint64_t tsc;         /* first seen */
	char comm[TRACE_COMM]; /* its name then */
	VEC(struct trace_name) names; /* later names, by time; trace_info_rename adds them */
	/* the option record-cmd was off: trace_thread_name does not tell it */
	bool unnamed;
	/* not traced when it was seen: it has the records alone that brace makes of its writes */
	bool untraced;
	uint64_t records, lost;
};

/* Units in which times are shown. */
enum trace_clock_unit {
	CLOCK_IN_NS,
	CLOCK_IN_TSC,
	CLOCK_IN_TICKS /* of 10 ms */,
	CLOCK_IN_RECORDS
};

struct trace_clock {
	uint64_t hz;          /* TSC ticks a second */
	/* the same instant on TSC, CLOCK_MONOTONIC, CLOCK_REALTIME */
	uint64_t tsc, mono_ns, real_ns;
	char from[32];        /* how hz is known: "cpuid", "kernel", "measured" */
	/* The way in which a reader shows times; no file has it. */
	enum trace_clock_unit unit;
	int64_t ahead_ns;     /* the chosen clock's distance to CLOCK_MONOTONIC */
};

/* Both clocks of a CPU at one instant, where the TSC is not steady (trace/clock_pairs.h). */
struct trace_clock_pair {
	uint64_t tsc, ns;     /* of CLOCK_MONOTONIC_RAW */
	uint32_t window;      /* ticks that the reading of both took */
	uint16_t cpu;
};
#define TRACE_CLOCK_PAIRS_MAX 1048576u

/* A message of a process: see shared/messages.h. */
struct trace_message {
	uint32_t kind;        /* enum message_kind; later versions may have more */
	uint32_t pid, number, count;
	char name[40];        /* "" for notes that had no place for a name */
};

/* An event of the traced programs: what its records look like. */
struct trace_event {
	uint32_t index;       /* in records: RECORD_EVENT_TRACE + index */
	char *system, *name;
	char *format;         /* the whole `format` file, id included */
	char *made_of;        /* "SYSTEM.EVENT" of which it is made; NULL: of none */
};

/* A file of the settings (model/settings.h), as it was when recording began. */
struct trace_setting {
	char *file, *text;    /* text: without its last newline */
	bool chosen;          /* its value differs from the default */
};

/* One run of brace and of the program. */
struct trace_run {
	char *invocation;     /* brace's own arguments, separated by a space */
	bool timed;           /* elapsed_ns is known: the program ended, or brace detached */
	/* status and both CPU times are known: the program was brace's child */
	bool ended;
	uint32_t status;      /* as waitpid gives it */
	uint64_t elapsed_ns;  /* from where the program's own code began, or from the attach */
	uint64_t user_ns, system_ns; /* of the program and of its children that it waited for */
};

/* A call of trace_info_rename that told something new, for the code that writes it to the file. */
struct trace_rename {
	uint32_t thread;
	struct trace_name name;
};
#define TRACE_RENAMES_MAX 65536u /* of all threads: a program may rename itself for ever */

/* The cost of recording a call, in TSC ticks for TRACE_COST_UNIT calls, as brace measured it when
 * it began to record; all 0: not known. */
struct trace_cost {
	uint32_t inside;      /* between the stamps: a part of the call's own duration */
	uint32_t total;       /* and the part before and behind, in its caller's */
};
#define TRACE_COST_UNIT 1024u

struct trace_total {      /* the closing summary; all 0 in a file cut short */
	uint64_t calls, bytes, lost, records;
};

/* The sides of a trace of both that a reader shows; no file has this choice. */
enum trace_sides { SIDES_BOTH, SIDE_USER, SIDE_KERNEL };

struct trace_info {
	enum trace_sides sides;
	char *host, *kernel, *cpu, *cmdline, *version; /* brace's version */
	char *tracer; /* its name (model/tracer.h); NULL: a file of the first versions */
	uint32_t cpus;
	/* the reader's choice: the time of signal handlers counts as that of the interrupted calls,
	 * too (trace/calls.h) */
	bool charge_handlers;
	/* the reader's choice: what recording cost is not part of durations (trace/calls.h) */
	bool net;
	/* the writer's choice: zstd's level for the records, 1 to 19; 0: the one that keeps up with
	 * them. No file has it: readers need not know */
	unsigned compress;
	uint64_t thresh_ns;   /* tracing_thresh, 0 = none */
	bool exclude_sleep;       /* sleep times are recorded (EVENT_SLEPT) and not in durations */
	bool values;          /* exits may tell what their functions returned */
	struct trace_cost cost;
	struct trace_clock clock;
	struct trace_total total;
	struct trace_run run;
	VEC(struct trace_setting) settings;
	VEC(struct trace_image) images;
	VEC(struct trace_module) modules;
	VEC(struct trace_thread) threads;
	VEC(struct trace_rename) renames;
	VEC(struct trace_clock_pair) clock_pairs; /* none: the TSC is steady, or nobody measured */
	uint64_t renames_left_out; /* for which there was no room */
	/* Bytes that are kept of the code that programs made and told of (instance/made_names.h),
	 * in all instances; how often there was no room for a name. No file has them. */
	uint64_t made_bytes, made_left_out;
	/* Calls that instances held back for the returned value, and left out
	 * (session/held_calls.h): that have not returned, and that were too long. */
	uint32_t held_open, held_too_long;
	VEC(struct trace_message) messages;
	VEC(struct trace_event) events;
	VEC(bool) event_added; /* by index: trace_info_add_event() was called for it */
};

/* An empty one. trace_info_free frees it and everything in it; NULL is fine. */
struct trace_info *trace_info_new(void);
void trace_info_free(struct trace_info *info);
/* Frees the settings. */
void trace_info_drop_settings(struct trace_info *info);

/* The image of the kernel, the first one of a trace that has it: its modules have the functions
 * that records name. */
#define TRACE_KERNEL_EXE "[kernel]"
#define TRACE_KERNEL_IMAGE 0u
/* Adds it, to an info without images: returns its index, TRACE_KERNEL_IMAGE. */
uint32_t trace_info_add_kernel(struct trace_info *info);
bool trace_info_has_kernel(const struct trace_info *info);
/* Whether the kernel alone was traced, and no program: there is no other image. */
bool trace_info_is_kernel(const struct trace_info *info);
/* Whether both were: a thread of the program is then two entries of `threads`, one for what the
 * kernel recorded of it, with the kernel's image and, as its pid, the thread's number. */
bool trace_info_is_merged(const struct trace_info *info);
/* Whether it is an entry for what the kernel recorded. */
bool trace_info_is_kernel_thread(const struct trace_info *info, uint32_t thread);
/* Returns the number of the process that a reader shows the thread in. An entry for what the kernel
 * recorded is shown in 0, the kernel: no record tells to which process a task belongs. */
uint32_t trace_info_process(const struct trace_info *info, uint32_t thread);
/* Whether a reader shows the thread's records (info->sides). */
bool trace_info_shows(const struct trace_info *info, uint32_t thread);
/* The first program's image; of the kernel alone, the kernel's. NULL: there is none. */
const struct trace_image *trace_info_program(const struct trace_info *info);

/* Gives the thread this name from tsc on: TRACE_COMM bytes, up to a NUL. Calls may come in any
 * order of time, and repeat a name if several sources tell of it. */
void trace_info_rename(struct trace_info *info, uint32_t thread, uint64_t tsc, const char *comm);
/* A thread's name at a time, and its newest one. May lack its NUL after TRACE_COMM bytes; ftrace's
 * "<...>" if the thread has none. */
const char *trace_thread_name_at(const struct trace_thread *t, uint64_t tsc);
static inline const char *trace_thread_name(const struct trace_thread *t)
{
	return trace_thread_name_at(t, UINT64_MAX);
}

/* Adds an event of a catalogue with copies of its strings, once. Indices decide how much memory
 * this takes. */
void trace_info_add_event(struct trace_info *info, const struct event_entry *e);
/* The event with this index, or NULL. */
const struct trace_event *trace_info_event(const struct trace_info *info, uint32_t index);
/* The function with this id in an image, and its module; NULL if the id is unknown. */
const struct trace_function *trace_info_function(const struct trace_info *info, uint32_t image,
						 uint32_t id, const struct trace_module **module);
/* Whether the module is its image's program, not a library. */
bool trace_info_is_program(const struct trace_info *info, const struct trace_module *m);
/* The module mapped at a runtime address at time tsc, or NULL. */
const struct trace_module *trace_info_module_at(const struct trace_info *info, uint32_t image,
						uint64_t addr, uint64_t tsc);
/* The function around a runtime address (of any module, hooked or not), or NULL. */
const struct trace_function *trace_info_function_at(const struct trace_info *info, uint32_t image,
						    uint64_t addr, uint64_t tsc,
						    const struct trace_module **module);
/* The variable at a runtime address, or around it, and its module; NULL: none is known there. */
const struct trace_global *trace_info_global_at(const struct trace_info *info, uint32_t image,
						uint64_t addr, uint64_t tsc,
						const struct trace_module **module);
/* Writes its name (demangled). Returns the length as snprintf does. */
int trace_global_name(const struct trace_module *module, const struct trace_global *g, char *out,
		      size_t n);
/* A call site's return address; 0 if unknown. */
uint64_t trace_info_site(const struct trace_info *info, uint32_t image, uint32_t site);
/* Writes "name" (demangled), or "module+0x1234" for a function without a symbol. Returns the length
 * as snprintf does. */
int trace_function_name(const struct trace_module *module, const struct trace_function *f,
			char *out, size_t n);
/* The name of the file that a call of f leads to: the module's, or for a PLT entry the library's.
 * *known: false for a PLT entry whose library is not known. */
const char *trace_function_file(const struct trace_module *module, const struct trace_function *f,
				bool *known);
/* Picoseconds of one call, of ticks that TRACE_COST_UNIT calls cost; nanoseconds that recording all
 * calls of the trace cost, as far as brace knows: 0 in a file cut short. */
uint64_t trace_cost_ps(const struct trace_info *info, uint32_t ticks);
uint64_t trace_cost_all_ns(const struct trace_info *info);
/* trace_clock_ns: nanoseconds of CLOCK_MONOTONIC at a TSC. trace_clock_delta_ns: nanoseconds of a
 * number of ticks (rounded down). trace_clock_span_ns: nanoseconds of ticks that begin at a TSC, as
 * the difference of two times: rounded up as often as down, so that sums of many are true. */
uint64_t trace_clock_ns(const struct trace_clock *c, uint64_t tsc);
uint64_t trace_clock_delta_ns(const struct trace_clock *c, uint64_t ticks);
uint64_t trace_clock_span_ns(const struct trace_clock *c, uint64_t from, uint64_t ticks);
/* A TSC as it is shown, in c->unit. CLOCK_IN_RECORDS knows no time: nanoseconds then. */
uint64_t trace_clock_shown(const struct trace_clock *c, uint64_t tsc);
