/* SPDX-License-Identifier: MIT */
/* Owns the instance, its rings and what is to be known to read them. Called by ui/ (kernel_run.c
 * for the kernel alone, kernel_beside.c), and by producer.c beside programs, on the thread that
 * takes records. What the kernel refuses is -errno and a sentence. */
#include "kernel/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/clock.h"
#include "kernel/names.h"
#include "kernel/probes.h"
#include "kernel/symbols.h"
#include "kernel/tasks.h"
#include "kernel/tracefs.h"

/* Pages of each CPU that one pass reads at most: 32 MB. */
#define PASS_PAGES 8192u
/* The number of times that the end looks again into buffers that the kernel says are not empty. */
#define END_READS 64u

struct kernel_source {
	struct kernel_instance *instance;
	struct kernel_tracepoints *tracepoints; /* in place of the instance; NULL: none */
	struct trace_module symbols;    /* with `used`: all */
	struct kernel_used used;
	bool uses;
	struct kernel_records records;
	struct kernel_rings *rings;     /* NULL: not begun */
	enum kernel_ring_way best;      /* how they are read, if the kernel lets brace */
	struct kernel_instance *second; /* of what others do for the program; NULL: not asked for */
	struct kernel_elsewhere *elsewhere;
	char *names;                    /* saved_cmdlines, as read last */
	uint64_t until;                 /* end of the pass before */
	uint64_t kept;
	const struct clock *clock;      /* NULL: stamps are taken as they are */
};

/* The instance is all that is there until kernel_source_begin(): settings are written between the
 * two, and the formats of events depend on what was enabled. */
int kernel_source_open(bool shared, struct kernel_source **out, struct err *err)
{
	struct kernel_source *s = mem_zalloc(sizeof(*s));
	int e = kernel_instance_open(shared, &s->instance, err);

	if (e) {
		free(s);
		return e;
	}
	*out = s;
	return 0;
}

struct kernel_source *kernel_source_of(struct kernel_tracepoints *t)
{
	struct kernel_source *s = mem_zalloc(sizeof(*s));

	s->tracepoints = t;
	return s;
}

struct kernel_instance *kernel_source_instance(struct kernel_source *s) { return s->instance; }

struct kernel_tracepoints *kernel_source_tracepoints(struct kernel_source *s)
{
	return s->tracepoints;
}

struct kernel_used *kernel_source_used(struct kernel_source *s)
{
	return s->uses ? &s->used : NULL;
}

/* --- what is to be known to read records -------------------------------------------------- */

/* The kernel prints a probe's addresses as functions, whatever its format says: "(%lx)" becomes the
 * form by which brace does, too. In place: both have one length. */
static void name_places(char *format)
{
	static const char *const forms[][2] = {
		{ "\"(%lx <- %lx)", "\"(%ps <- %pS)" }, { "\"(%lx)", "\"(%pS)" },
	};
	char *print = format ? strstr(format, "print fmt: ") : NULL;

	for (size_t i = 0; print && i < 2; i++) {
		char *at = strstr(print, forms[i][0]);

		if (at)
			memcpy(at, forms[i][1], strlen(forms[i][1]));
	}
}

/* Events of our own are known by the system that the kernel would have given them: their group is
 * named after a process. An event without a format is left out: a kernel that was built without
 * function_graph has no funcgraph_entry, and that is found when the tracer is asked for. */
static int add_format(struct kernel_source *s, const char *system, const char *event,
		      struct err *err)
{
	const char *top = kernel_instance_top(s->instance);
	const char *usual = kernel_probes_system(top, system, event);
	char *path = mem_printf("events/%s/%s/format", system, event);
	char *text = kernel_tracefs_read(top, path);
	int e;

	system = usual ? usual : system;
	if (usual)
		name_places(text);
	e = text ? kernel_records_format(&s->records, system, text, err) : 0;

	free(text);
	free(path);
	return e;
}

/* Formats of ftrace's own records, which no file enables, and those of the events that are
 * enabled, which set_event lists as SYSTEM:NAME lines. */
static int add_formats(struct kernel_source *s, struct err *err)
{
	static const char *const own[] = { "funcgraph_entry", "funcgraph_exit", "function", "print",
					   "kernel_stack", "user_stack" };
	char *events = kernel_tracefs_read(kernel_instance_dir(s->instance), "set_event");
	char *rest = events, *line;
	int e = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !e; i++)
		e = add_format(s, "ftrace", own[i], err);
	while (!e && events && (line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		e = add_format(s, line, colon + 1, err);
	}
	free(events);
	return e;
}

/* The kernel's functions: all in info, or those that records will name. All of kallsyms would be
 * most of a short trace, so that a file gets those functions that its records name (used). Text
 * that is printed at once needs no choice. */
static int add_functions(struct kernel_source *s, struct trace_info *info, bool used,
			 struct err *err)
{
	char *text = kernel_tracefs_read("/proc", "kallsyms");
	const char *symbols = text ? text : "";
	int module = 0, e;

	/* An ordinary user sees no addresses (kptr_restrict): its events show them as numbers. */
	if (s->tracepoints && kernel_symbols_hidden(symbols))
		symbols = KERNEL_SYMBOLS_NONE;
	if (used)
		e = kernel_symbols_read(&s->symbols, symbols, err);
	else
		e = module = kernel_symbols_add(info, symbols, err);
	free(text);
	if (e < 0)
		return e;
	s->uses = used;
	if (used) {
		kernel_used_init(&s->used, &s->symbols);
		trace_info_add_kernel(info);
	}
	kernel_records_init(&s->records, info, (uint32_t)module, used ? &s->used : NULL);
	return 0;
}

/* The order is given: records need the symbols, formats go into the records' table, and rings
 * give their records to it. On failure the caller closes the source. */
static int begin_elsewhere(struct kernel_source *s, struct err *err)
{
	int e = kernel_elsewhere_new(kernel_instance_top(s->instance), &s->records, &s->elsewhere,
				     err);

	return e ? e : kernel_rings_open_elsewhere(s->rings, kernel_instance_dir(s->second),
						   s->elsewhere, s->best, err);
}

static int add_tracepoint(void *context, const char *system, const char *format, struct err *err)
{
	struct kernel_source *s = context;

	return kernel_records_format(&s->records, system, format, err);
}

static int begin_tracepoints(struct kernel_source *s, struct err *err)
{
	s->rings = kernel_rings_empty(&s->records);
	s->records.name_of = kernel_tracepoints_name;
	s->records.named = s->tracepoints;
	return kernel_tracepoints_each(s->tracepoints, add_tracepoint, s, err);
}

int kernel_source_begin(struct kernel_source *s, struct trace_info *info, bool used,
			uint32_t first_event, struct err *err)
{
	int e = add_functions(s, info, used, err);

	s->records.first_event = first_event;
	if (!e && s->tracepoints)
		return begin_tracepoints(s, err);
	if (!e)
		e = add_formats(s, err);
	if (!e)
		e = kernel_rings_open(kernel_instance_dir(s->instance), &s->records,
				      s->best, &s->rings, err);
	return e || !s->second ? e : begin_elsewhere(s, err);
}

/* A kernel that lacks one of the events, as other machines do, has fewer causes or tracks. */
static void enable_all(const struct kernel_instance *i, const char *const *events)
{
	for (; *events; events++)
		kernel_tracefs_write(kernel_instance_dir(i), "set_event", *events, true);
}

/* brace itself is left out: its reading of the records would make more of them, without end. */
int kernel_source_watch_elsewhere(struct kernel_source *s, struct err *err)
{
	int e;

	if (s->tracepoints)
		return err_set(err, EACCES,
			       "--elsewhere takes root: perf gives this user events of its own tasks alone");
	e = kernel_instance_open_elsewhere(&s->second, err);
	if (e)
		return e;
	enable_all(s->second, kernel_elsewhere_events);
	enable_all(s->instance, kernel_elsewhere_causes);
	return kernel_tasks_leave_out(s->second, getpid(), err);
}

int kernel_source_follow(struct kernel_source *s, pid_t pid, struct err *err)
{
	int e = s->tracepoints ? kernel_tracepoints_follow(s->tracepoints, pid, err)
			       : kernel_tasks_follow(s->instance, pid, err);

	return e || !s->second ? e : kernel_tasks_leave_out(s->second, pid, err);
}

int kernel_source_start(struct kernel_source *s, struct err *err)
{
	int e = s->second ? kernel_instance_write(s->second, "tracing_on", "1", false, err) : 0;

	/* perf's events record from their opening on. */
	if (s->tracepoints)
		return 0;
	return e ? e : kernel_instance_write(s->instance, "tracing_on", "1", false, err);
}

/* --- reading ------------------------------------------------------------------------------ */

struct counting { struct kernel_source *source; kernel_rings_sink *sink; void *context; };

/* Losses are no records: they are counted by CPU, from the kernel's own numbers (lost_on()). */
static int count_and_give(void *context, const struct event *e, struct err *err)
{
	struct counting *c = context;

	c->source->kept += e->kind != EVENT_LOST;
	return c->sink(c->context, e, err);
}

/* Names are read behind the records, so that all of their threads have one. The kernel keeps 128
 * names only, by default, and drops old ones: each pass reads them, since at the end those of
 * ended threads would be gone. Where an instance has no such file, the main one's holds for all. */
static void read_names(struct kernel_source *s)
{
	if (s->tracepoints) {
		kernel_names_apply(&s->records, kernel_tracepoints_names(s->tracepoints), s->until);
		return;
	}
	free(s->names);
	s->names = kernel_tracefs_read(kernel_instance_dir(s->instance), "saved_cmdlines");
	if (!s->names)
		s->names = kernel_tracefs_read(kernel_instance_top(s->instance), "saved_cmdlines");
	s->records.names = s->names;
	kernel_names_apply(&s->records, s->names ? s->names : "", s->until);
}

/* A number of a CPU's file `stats`, whose line begins with the name; 0: there is none. */
static uint64_t stat_of(const struct kernel_instance *of, uint16_t cpu, const char *name)
{
	char *path = mem_printf("per_cpu/cpu%u/stats", cpu);
	char *text = kernel_tracefs_read(kernel_instance_dir(of), path);
	const char *at = text ? strstr(text, name) : NULL;
	/* "entries: " is the first line, and a part of no other. */
	uint64_t n = at ? strtoull(at + strlen(name), NULL, 10) : 0;

	free(text);
	free(path);
	return n;
}

/* Whether the kernel still has records in a buffer that nothing is written to any more. */
static bool has_unread(const struct kernel_source *s)
{
	bool has = false;

	for (uint16_t cpu = 0; cpu < kernel_rings_cpus(s->rings) && !has; cpu++)
		has = stat_of(s->instance, cpu, "entries: ") ||
		      (s->second && stat_of(s->second, cpu, "entries: "));
	return has;
}

/* At the end all is read. A read can come back empty although its buffer is not (seen on busy
 * machines with buffers of two pages), so that the kernel's own count decides; what stays for all
 * that counts as lost (lost_of). */
static int read_all(struct kernel_source *s, size_t *pages, struct err *err)
{
	size_t more;
	int e;

	*pages = 0;
	for (unsigned i = 0; i < END_READS; i++) {
		e = kernel_rings_read(s->rings, SIZE_MAX, &more, err);
		*pages += more;
		if (e || (!more && !has_unread(s)))
			return e;
	}
	return 0;
}

void kernel_source_set_clock(struct kernel_source *s, const struct clock *clock)
{
	s->clock = clock;
	if (s->rings && clock)
		kernel_rings_set_clock(s->rings, clock->live);
}

/* `until` among times that are put right. */
static uint64_t until_placed(const struct kernel_source *s, uint64_t until)
{
	return until == UINT64_MAX || !s->clock || !s->clock->live ? until
								   : clock_present(s->clock);
}

/* Names come between reading and giving: a thread that is met while giving finds its name at
 * once, and one that was met before gets it from s->until on, the end of the pass before. */
int kernel_source_pass(struct kernel_source *s, uint64_t until, kernel_rings_sink *sink,
		       void *context, bool *fresh, struct err *err)
{
	struct counting c = { s, sink, context };
	const uint64_t bound = until_placed(s, until);
	size_t pages = 0;
	int e = 0;

	/* At the end the kernel writes no more. */
	if (s->rings && s->tracepoints)
		pages = kernel_tracepoints_read(s->tracepoints, s->rings);
	else if (s->rings && until == UINT64_MAX)
		e = read_all(s, &pages, err);
	else if (s->rings)
		e = kernel_rings_read(s->rings, PASS_PAGES, &pages, err);
	*fresh = pages > 0;
	if (pages)
		read_names(s);
	if (!e && s->rings)
		e = kernel_rings_give(s->rings, bound, count_and_give, &c, err);
	s->until = until;
	return e;
}

void kernel_source_read_by(struct kernel_source *s, enum kernel_ring_way best)
{
	s->best = best;
}

const char *kernel_source_way(const struct kernel_source *s)
{
	if (s->rings && s->tracepoints)
		return "perf";
	return s->rings ? kernel_rings_way(s->rings) : "none";
}

void kernel_source_stop(struct kernel_source *s)
{
	if (s->tracepoints)
		kernel_tracepoints_stop(s->tracepoints);
	else
		kernel_instance_stop(s->instance);
	if (s->second)
		kernel_instance_stop(s->second);
}

/* --- the end ------------------------------------------------------------------------------ */

/* Records that a CPU lost: by the pages, or by the kernel, which knows more than pages tell.
 * "overrun" are records that were overwritten unread, "dropped events" those that found no room
 * with overwriting off. The larger number is right: pages are told late, and the counters do not
 * know of pages that were damaged. "entries" are those that nobody has read: this is asked at the
 * end. */
static uint64_t lost_of(struct kernel_source *s, const struct kernel_instance *of, uint16_t cpu)
{
	const uint64_t seen = kernel_rings_lost(s->rings, cpu, of == s->second);
	const uint64_t told = stat_of(of, cpu, "\noverrun: ") +
			      stat_of(of, cpu, "\ndropped events: ");

	return (told > seen ? told : seen) + stat_of(of, cpu, "entries: ");
}

static uint64_t lost_on(struct kernel_source *s, uint16_t cpu)
{
	if (s->tracepoints)
		return kernel_tracepoints_lost(s->tracepoints, cpu,
					       kernel_rings_lost(s->rings, cpu, false));
	return lost_of(s, s->instance, cpu) + (s->second ? lost_of(s, s->second, cpu) : 0);
}

void kernel_source_count(struct kernel_source *s, struct kernel_counts *out)
{
	out->kept = s->kept;
	out->unknown = s->records.unknown;
	for (uint16_t cpu = 0; s->rings && cpu < kernel_rings_cpus(s->rings); cpu++)
		*vec_add(&out->lost) = lost_on(s, cpu);
}

uint64_t kernel_source_lost(struct kernel_source *s)
{
	uint64_t lost = 0;

	for (uint16_t cpu = 0; s->rings && cpu < kernel_rings_cpus(s->rings); cpu++)
		lost += lost_on(s, cpu);
	return lost;
}

/* The rings go before the instance, because an open trace_pipe_raw keeps the kernel from removing
 * it (EBUSY). */
int kernel_source_close(struct kernel_source *s, struct err *err)
{
	int e;

	if (!s)
		return 0;
	kernel_rings_free(s->rings);
	kernel_elsewhere_free(s->elsewhere);
	kernel_instance_close(s->second, NULL);
	kernel_tracepoints_free(s->tracepoints);
	e = kernel_instance_close(s->instance, err);
	kernel_records_free(&s->records);
	if (s->uses) {
		kernel_used_free(&s->used);
		kernel_symbols_free(&s->symbols);
	}
	free(s->names);
	free(s);
	return e;
}
