/* SPDX-License-Identifier: MIT */
/* Called by rings.c for each record, in the order of time. What is under way on a CPU or in a
 * worker is kept until it is known whether the program caused it; at most one interrupt and one
 * softirq of a CPU, and one item of a worker, can be. */
#include "kernel/elsewhere.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/kernel_code.h"
#include "event/catalogue.h"
#include "kernel/tracefs.h"

/* The first list is for the program's own instance, in which its threads queue and raise; the
 * second one for the instance that records the other tasks. */
const char *const kernel_elsewhere_causes[] = { "workqueue:workqueue_queue_work",
						"irq:softirq_raise", "irq:softirq_entry",
						"sched:sched_waking", NULL };
const char *const kernel_elsewhere_events[] = {
	"workqueue:workqueue_queue_work", "workqueue:workqueue_execute_start",
	"workqueue:workqueue_execute_end", "irq:softirq_raise", "irq:softirq_entry",
	"irq:softirq_exit", "irq:irq_handler_entry", "irq:irq_handler_exit",
	"irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit", NULL,
};

enum kind {
	QUEUE_WORK, WORK_START, WORK_END, RAISE, SOFTIRQ_ENTRY, SOFTIRQ_EXIT, IRQ_ENTRY, IRQ_EXIT,
	TIMER_ENTRY, TIMER_EXIT, WAKING, KINDS
};

/* field: its value is an address or a number that is looked at here; NULL: none. */
static const struct { const char *system, *name, *field; uint16_t size; } formats[KINDS] = {
	[QUEUE_WORK] = { "workqueue", "workqueue_queue_work", "work", 8 },
	[WORK_START] = { "workqueue", "workqueue_execute_start", "work", 8 },
	[WORK_END] = { "workqueue", "workqueue_execute_end", "work", 8 },
	[RAISE] = { "irq", "softirq_raise", "vec", 4 },
	[SOFTIRQ_ENTRY] = { "irq", "softirq_entry", "vec", 4 },
	[SOFTIRQ_EXIT] = { "irq", "softirq_exit", "vec", 4 },
	[IRQ_ENTRY] = { "irq", "irq_handler_entry", NULL, 0 },
	[IRQ_EXIT] = { "irq", "irq_handler_exit", NULL, 0 },
	[TIMER_ENTRY] = { "irq_vectors", "local_timer_entry", NULL, 0 },
	[TIMER_EXIT] = { "irq_vectors", "local_timer_exit", NULL, 0 },
	[WAKING] = { "sched", "sched_waking", NULL, 0 },
};

/* The kernel's handlers of softirqs, by number; what is not there has the name of the caller. */
static const char *const softirq_handlers[] = {
	"tasklet_hi_action", "run_timer_softirq", "net_tx_action", "net_rx_action",
	"blk_done_softirq", "irq_poll_softirq", "tasklet_action", "sched_balance_softirq",
	"hrtimer_run_softirq", "rcu_core_si",
};
#define SOFTIRQS (sizeof(softirq_handlers) / sizeof(*softirq_handlers))

/* The flags of a record's common fields (enum trace_flag_type of the kernel's
 * linux/trace_events.h): TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ. */
#define FLAGS_AT 2u
#define IN_HARDIRQ 0x08u
#define IN_SOFTIRQ 0x10u

/* Tracks have numbers that no task has: PID_MAX_LIMIT is 1 << 22. */
#define TRACK_FIRST ((1u << 22) + 1)
/* Items that a program queued, and that were not begun: a hostile one may queue without end, and
 * each is looked for in all. Items beyond are counted. */
#define WORKS_MOST 4096u

/* Something under way. */
struct doing {
	bool is, ours;          /* ours: its call was made */
	uint32_t thread, fn;
	uint16_t cpu;
	uint64_t tsc;           /* of its beginning */
};

/* raised: a bit for each softirq that the program raised there. tracks: 1 + the thread of the
 * track; 0: none yet. */
struct on_cpu { struct doing irq, softirq; uint32_t raised; uint32_t tracks[2]; };
struct busy_worker { uint32_t tid; struct doing doing; };

struct kernel_elsewhere {
	struct kernel_records *records;
	uint64_t forgotten;     /* causes since kernel_elsewhere_forgotten() was called */
	uint32_t ids[KINDS];
	uint16_t offsets[KINDS], function_at; /* function_at: of WORK_START */
	uint32_t softirq_fns[SOFTIRQS + 1], irq_fn, timer_fn;
	VEC(struct on_cpu) cpus;
	VEC(struct busy_worker) workers;
	VEC(uint64_t) works;
	VEC(struct event) ready;
	size_t given;
};

/* --- formats and symbols ------------------------------------------------------------------ */

int kernel_elsewhere_format(struct kernel_elsewhere *e, const char *system, const char *text,
			    struct err *err)
{
	struct event_format *f = event_format_parse(text, strlen(text), system, err);
	unsigned kind = 0;

	if (!f)
		return -err->code;
	while (kind < KINDS && (strcmp(formats[kind].system, system) ||
				strcmp(formats[kind].name, f->name)))
		kind++;
	if (kind < KINDS) {
		const char *field = formats[kind].field;

		e->ids[kind] = f->id;
		if (field)
			e->offsets[kind] = kernel_records_offset(f, field, formats[kind].size);
		if (kind == WORK_START)
			e->function_at = kernel_records_offset(f, "function", 8);
	}
	event_format_free(f);
	return 0;
}

/* A kernel that lacks one of them has fewer causes. */
static int read_format(struct kernel_elsewhere *e, const char *top, unsigned kind, struct err *err)
{
	char *path = mem_printf("events/%s/%s/format", formats[kind].system, formats[kind].name);
	char *text = kernel_tracefs_read(top, path);
	int error = text ? kernel_elsewhere_format(e, formats[kind].system, text, err) : 0;

	free(path);
	free(text);
	return error;
}

/* 0: the kernel has no function of this name. */
static uint32_t symbol_of(const struct trace_module *all, const char *name)
{
	for (size_t i = 0; i < all->functions.n; i++)
		if (!strcmp(all->strings.at + all->functions.at[i].name, name))
			return all->first_id + (uint32_t)i;
	return 0;
}

/* Functions have changed their names between versions of the kernel: the newer one is looked for
 * first. */
static uint32_t first_symbol(const struct trace_module *all, const char *name, const char *other)
{
	uint32_t fn = symbol_of(all, name);

	return fn ? fn : symbol_of(all, other);
}

static void find_symbols(struct kernel_elsewhere *e)
{
	const struct trace_module *all = e->records->used->all;

	e->irq_fn = first_symbol(all, "handle_irq_event", "__handle_irq_event_percpu");
	e->timer_fn = first_symbol(all, KERNEL_CODE_TIMER, KERNEL_CODE_TIMER_OLDER);
	e->softirq_fns[SOFTIRQS] = first_symbol(all, "handle_softirqs", "__do_softirq");
	for (size_t i = 0; i < SOFTIRQS; i++) {
		e->softirq_fns[i] = symbol_of(all, softirq_handlers[i]);
		if (!e->softirq_fns[i])
			e->softirq_fns[i] = e->softirq_fns[SOFTIRQS];
	}
}

struct kernel_elsewhere *kernel_elsewhere_empty(struct kernel_records *records)
{
	struct kernel_elsewhere *e = mem_zalloc(sizeof(*e));

	e->records = records;
	find_symbols(e);
	return e;
}

int kernel_elsewhere_new(const char *top, struct kernel_records *records,
			 struct kernel_elsewhere **out, struct err *err)
{
	struct kernel_elsewhere *e = kernel_elsewhere_empty(records);
	int error = 0;

	for (unsigned i = 0; i < KINDS && !error; i++)
		error = read_format(e, top, i, err);
	if (error)
		kernel_elsewhere_free(e);
	else
		*out = e;
	return error;
}

void kernel_elsewhere_free(struct kernel_elsewhere *e)
{
	if (!e)
		return;
	vec_free(&e->cpus);
	vec_free(&e->workers);
	vec_free(&e->works);
	vec_free(&e->ready);
	free(e);
}

/* --- calls -------------------------------------------------------------------------------- */

/* Events wait in `ready`, because one record may make several; rings.c takes them before it reads
 * the next record. */
static void add_event(struct kernel_elsewhere *e, const struct doing *d, enum event_kind kind,
		      uint64_t tsc, uint64_t value)
{
	*vec_add(&e->ready) = (struct event){ .kind = kind, .tsc = tsc, .thread = d->thread,
					      .fn = d->fn, .cpu = d->cpu, .value = value,
					      .flags = EVENT_KERNEL };
}

/* The program caused it: its call is told, with the time at which it began. */
static void is_ours(struct kernel_elsewhere *e, struct doing *d)
{
	if (!d->is || d->ours || !d->fn)
		return;
	d->ours = true;
	kernel_used_note(e->records->used, d->fn);
	add_event(e, d, EVENT_ENTRY, d->tsc, 0);
}

/* An interrupt's or item's duration is that of the whole, even if the program's part of it was
 * found later. */
static void end(struct kernel_elsewhere *e, struct doing *d, uint64_t tsc)
{
	if (d->is && d->ours)
		add_event(e, d, EVENT_EXIT, tsc, tsc > d->tsc ? tsc - d->tsc : 0);
	d->is = false;
}

/* Begins what a CPU does now. Its work until then has ended without a record: it does one thing at
 * a time. */
static void begin_doing(struct kernel_elsewhere *e, struct doing *d, struct doing now, bool ours)
{
	end(e, d, now.tsc);
	*d = now;
	d->is = true;
	if (ours)
		is_ours(e, d);
}

static struct on_cpu *cpu_of(struct kernel_elsewhere *e, uint16_t cpu)
{
	while (e->cpus.n <= cpu)
		*vec_add(&e->cpus) = (struct on_cpu){ 0 };
	return &e->cpus.at[cpu];
}

/* The track's thread: made when it is first needed. */
static uint32_t track_of(struct kernel_elsewhere *e, uint16_t cpu, unsigned which, uint64_t tsc)
{
	static const char *const names[] = { "interrupts", "softirqs" };
	uint32_t *known = &cpu_of(e, cpu)->tracks[which];
	char comm[TRACE_COMM];

	if (!*known) {
		snprintf(comm, sizeof(comm), "%s/%u", names[which], cpu % 10000u);
		*known = 1 + kernel_records_track(e->records, TRACK_FIRST + 2u * cpu + which, comm,
						  tsc);
	}
	return *known - 1;
}

/* A worker that does nothing gives up its place: the list grows with the workers that are busy at
 * one time, not with all that ever were. */
static struct doing *worker_of(struct kernel_elsewhere *e, uint32_t tid)
{
	struct busy_worker *w = NULL;

	for (size_t i = 0; i < e->workers.n; i++) {
		if (e->workers.at[i].tid == tid)
			return &e->workers.at[i].doing;
		if (!e->workers.at[i].doing.is)
			w = &e->workers.at[i];
	}
	w = w ? w : vec_add(&e->workers);
	*w = (struct busy_worker){ .tid = tid };
	return &w->doing;
}

/* --- records ------------------------------------------------------------------------------ */

/* Place 0 is that of the common fields: this kernel's format lacks the field. A narrow field lies
 * in the low bytes, as the machine is little-endian. */
static uint64_t field_of(const struct kernel_elsewhere *e, const struct kernel_page_record *r,
			 uint16_t offset, size_t size)
{
	uint64_t v = 0;

	if (offset && offset + size <= r->n)
		memcpy(&v, r->data + offset, size);
	return v;
}

/* KINDS: it is none of them. An event that this kernel lacks has the id 0, which no event has. */
static enum kind kind_of(const struct kernel_elsewhere *e, const struct kernel_page_record *r)
{
	uint16_t id = 0;
	unsigned kind = 0;

	if (r->n < 8)
		return KINDS;
	memcpy(&id, r->data, sizeof(id));
	while (kind < KINDS && (!e->ids[kind] || e->ids[kind] != id))
		kind++;
	return kind;
}

/* The work that was under way where the record was made; NULL: a task that is no worker. */
static struct doing *context_of(struct kernel_elsewhere *e, uint16_t cpu,
				const struct kernel_page_record *r)
{
	const uint8_t flags = r->data[FLAGS_AT];
	int32_t tid;

	if (flags & IN_HARDIRQ)
		return &cpu_of(e, cpu)->irq;
	if ((flags & IN_SOFTIRQ) && cpu_of(e, cpu)->softirq.is)
		return &cpu_of(e, cpu)->softirq;
	memcpy(&tid, r->data + 4, sizeof(tid));
	for (size_t i = 0; i < e->workers.n; i++)
		if (e->workers.at[i].tid == (uint32_t)tid)
			return &e->workers.at[i].doing;
	return NULL;
}

/* An item that is queued again before it begins runs once, as in the kernel. */
static void queue_work(struct kernel_elsewhere *e, uint64_t work)
{
	for (size_t i = 0; i < e->works.n; i++)
		if (e->works.at[i] == work)
			return;
	if (e->works.n < WORKS_MOST)
		*vec_add(&e->works) = work;
	else
		e->forgotten++;
}

uint64_t kernel_elsewhere_forgotten(struct kernel_elsewhere *e)
{
	const uint64_t n = e->forgotten;

	e->forgotten = 0;
	return n;
}

/* The items have no order: the last one fills the gap. */
static bool take_work(struct kernel_elsewhere *e, uint64_t work)
{
	for (size_t i = 0; i < e->works.n; i++)
		if (e->works.at[i] == work) {
			e->works.at[i] = e->works.at[--e->works.n];
			return true;
		}
	return false;
}

/* Something of the program's, or of what it caused, queues or raises. */
static void note_cause(struct kernel_elsewhere *e, uint16_t cpu, enum kind kind,
		       const struct kernel_page_record *r)
{
	if (kind == QUEUE_WORK)
		queue_work(e, field_of(e, r, e->offsets[kind], 8));
	else if (kind == RAISE)
		cpu_of(e, cpu)->raised |= 1u << (field_of(e, r, e->offsets[kind], 4) % 32);
}

/* Records of the program's own instance. They tell of causes alone: the calls are in the other
 * instance. */
void kernel_elsewhere_cause(struct kernel_elsewhere *e, uint16_t cpu,
			    const struct kernel_page_record *r)
{
	const enum kind kind = kind_of(e, r);
	struct doing *d;

	/* A softirq that runs in the program's own time is seen there. */
	if (kind == SOFTIRQ_ENTRY)
		cpu_of(e, cpu)->raised &= ~(1u << (field_of(e, r, e->offsets[kind], 4) % 32));
	if (kind != WAKING) {
		note_cause(e, cpu, kind, r);
		return;
	}
	/* The kernel lets through what a thread of the program does, too: that is no context. */
	d = context_of(e, cpu, r);
	if (d)
		is_ours(e, d);
}

/* A softirq that is raised several times runs once: a bit is enough, and no count. */
static void begin_softirq(struct kernel_elsewhere *e, uint16_t cpu,
			  const struct kernel_page_record *r)
{
	const uint64_t vector = field_of(e, r, e->offsets[SOFTIRQ_ENTRY], 4);
	const uint32_t bit = 1u << (vector % 32);
	const struct doing now = { .thread = track_of(e, cpu, 1, r->tsc), .cpu = cpu, .tsc = r->tsc,
				   .fn = e->softirq_fns[vector < SOFTIRQS ? vector : SOFTIRQS] };
	struct on_cpu *c = cpu_of(e, cpu);
	const bool ours = c->raised & bit;

	c->raised &= ~bit;
	begin_doing(e, &c->softirq, now, ours);
}

/* No program asks for an interrupt: it becomes the program's when it wakes one of its threads. */
static void begin_irq(struct kernel_elsewhere *e, uint16_t cpu, uint32_t fn,
		      const struct kernel_page_record *r)
{
	const struct doing now = { .thread = track_of(e, cpu, 0, r->tsc), .cpu = cpu, .tsc = r->tsc,
				   .fn = fn };

	begin_doing(e, &cpu_of(e, cpu)->irq, now, false);
}

static void begin_work(struct kernel_elsewhere *e, uint16_t cpu, uint32_t tid,
		       const struct kernel_page_record *r)
{
	const uint64_t function = field_of(e, r, e->function_at, 8);
	const struct doing now = { .thread = kernel_records_thread(e->records, tid, r->tsc),
				   .cpu = cpu, .tsc = r->tsc,
				   .fn = kernel_symbols_at(e->records->used->all, function) };

	begin_doing(e, worker_of(e, tid), now,
		    take_work(e, field_of(e, r, e->offsets[WORK_START], 8)));
}

/* Where it ends may be another CPU than where it began. */
static void end_work(struct kernel_elsewhere *e, uint16_t cpu, uint32_t tid, uint64_t tsc)
{
	struct doing *d = worker_of(e, tid);

	d->cpu = cpu;
	end(e, d, tsc);
}

void kernel_elsewhere_take(struct kernel_elsewhere *e, uint16_t cpu,
			   const struct kernel_page_record *r)
{
	const enum kind kind = kind_of(e, r);
	const struct doing *d;
	uint32_t tid;

	if (kind == KINDS)
		return;
	memcpy(&tid, r->data + 4, sizeof(tid));
	switch (kind) {
	case WORK_START: begin_work(e, cpu, tid, r); break;
	case WORK_END: end_work(e, cpu, tid, r->tsc); break;
	case SOFTIRQ_ENTRY: begin_softirq(e, cpu, r); break;
	case SOFTIRQ_EXIT: end(e, &cpu_of(e, cpu)->softirq, r->tsc); break;
	case IRQ_ENTRY: begin_irq(e, cpu, e->irq_fn, r); break;
	case TIMER_ENTRY: begin_irq(e, cpu, e->timer_fn, r); break;
	case IRQ_EXIT:
	case TIMER_EXIT: end(e, &cpu_of(e, cpu)->irq, r->tsc); break;
	default:
		d = context_of(e, cpu, r);
		if (d && d->is && d->ours)
			note_cause(e, cpu, kind, r);
	}
}

/* A softirq whose raising is among the missing records is not known for the program's. */
void kernel_elsewhere_lost(struct kernel_elsewhere *e, uint16_t cpu, uint64_t tsc)
{
	struct on_cpu *c = cpu_of(e, cpu);

	end(e, &c->irq, tsc);
	end(e, &c->softirq, tsc);
	c->raised = 0;
	for (size_t i = 0; i < e->workers.n; i++)
		if (e->workers.at[i].doing.cpu == cpu)
			end(e, &e->workers.at[i].doing, tsc);
}

bool kernel_elsewhere_next(struct kernel_elsewhere *e, struct event *out)
{
	if (e->given == e->ready.n) {
		e->given = e->ready.n = 0;
		return false;
	}
	*out = e->ready.at[e->given++];
	return true;
}
