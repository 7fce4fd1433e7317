/* SPDX-License-Identifier: MIT */
/* trace.dat: for trace-cmd report, KernelShark and Trace Compass, as the kernel's function graph
 * looks there. Records lie in pages of the CPU they were written on, as the kernel's ring buffer
 * has them; the program's events have their formats. `brace export` calls this, on brace's only
 * thread. `out` keeps a write error; temporary files that find no room end the export. */
#include "export/formats.h"
#include "export/trace_dat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/stack_text.h"

#define PAGE TRACE_DAT_PAGE
#define PAGE_HEAD 16
#define CPUS_MOST 4096u           /* a damaged file may name any; those are taken for CPU 0 */
enum { TYPE_LONG = 0, TYPE_WORDS_MOST = 28, TYPE_TIME_EXTEND = 30 };
#define DELTA_BITS 27
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)

/* --- pages --------------------------------------------------------------------------------- */

void trace_dat_put_at(char *to, uint64_t v, unsigned bytes)
{
	for (; bytes--; v >>= 8)
		*to++ = (char)v;
}

/* Appends a number to the page; the caller has made room. */
static void put_number(struct cpu_page *p, uint64_t v, unsigned bytes)
{
	trace_dat_put_at(p->at + p->n, v, bytes);
	p->n += bytes;
}

/* Completes the page of that place, and keeps it for the file. `commit`, the bytes in it, has the
 * flags of missed records, whose number stands behind them if there is room (the kernel's
 * ring_buffer.c). An empty page stays empty. The memory is used again for the CPU's next page. Bit
 * 31 of commit says that records are missing before the page, bit 30 that their number is
 * stored. */
static int flush_page(struct trace_dat *d, uint32_t place)
{
	struct cpu_page *p = d->pages.at[place];
	uint64_t commit = p->n - PAGE_HEAD;

	if (!p->n)
		return 0;
	memset(p->at + p->n, 0, PAGE - p->n);
	if (p->missed) {
		commit |= MISSED_EVENTS;
		if (PAGE - p->n >= 8) {
			commit |= MISSED_STORED;
			trace_dat_put_at(p->at + p->n, p->missed, 8);
		}
	}
	trace_dat_put_at(p->at, p->first, 8);
	trace_dat_put_at(p->at + 8, commit, 8);
	p->n = 0;
	p->missed = p->next_missed;
	p->next_missed = 0;
	return parts_add(&d->parts, place, p->at, PAGE, d->err);
}

/* The place of the CPU's pages, made when it is met. */
static uint32_t place_of(struct trace_dat *d, uint16_t cpu)
{
	cpu = cpu < CPUS_MOST ? cpu : 0;
	while (d->page_of.n <= cpu)
		*vec_add(&d->page_of) = 0;
	if (!d->page_of.at[cpu]) {
		struct cpu_page *p = mem_zalloc(sizeof(*p));

		p->cpu = cpu;
		*vec_add(&d->pages) = p;
		d->page_of.at[cpu] = (uint32_t)d->pages.n;
	}
	return d->page_of.at[cpu] - 1;
}

/* Ends of calls that no record told are where their lane was last. */
static uint16_t cpu_of(struct trace_dat *d, const struct walk_step *s)
{
	while (d->cpu_of.n <= s->lane)
		*vec_add(&d->cpu_of) = 0;
	if (!(s->flags & WALK_UNFINISHED))
		d->cpu_of.at[s->lane] = s->cpu;
	return d->cpu_of.at[s->lane];
}

/* The head of a record: its length and the time since the one before. Longer gaps have a record of
 * their own. The time is in ns, 27 bits in the head. A length in words is in the head's 5 bits up
 * to 28; a longer record has 0 there, and its bytes + 4 in the next word (the kernel's
 * include/linux/ring_buffer.h). */
static void put_head(struct cpu_page *p, uint64_t delta, size_t n)
{
	size_t words = (n + 3) / 4;

	if (delta >> DELTA_BITS) {
		put_number(p, TYPE_TIME_EXTEND | (delta & ((1u << DELTA_BITS) - 1)) << 5, 4);
		put_number(p, delta >> DELTA_BITS, 4);
		delta = 0;
	}
	put_number(p, (words <= TYPE_WORDS_MOST ? words : TYPE_LONG) | delta << 5, 4);
	if (words > TYPE_WORDS_MOST)
		put_number(p, words * 4 + 4, 4);
}

/* Makes room on the CPU's page for a record of n bytes, and writes its head and its common fields;
 * the rest, of n - 8 bytes, follows. NULL: d->err. 24 bytes are more than a time extension (8), a
 * long head (8) and what rounds a record up to words (3). The pointer holds until the next
 * record. */
static struct cpu_page *begin_record(struct trace_dat *d, const struct walk_step *s, uint16_t id,
				     size_t n)
{
	uint16_t cpu = cpu_of(d, s);
	uint32_t place = place_of(d, cpu);
	struct cpu_page *p = d->pages.at[place];
	/* A CPU's times do not go back. */
	uint64_t ns = cpu_order_time(&d->order, s->thread, cpu, s->ns > p->last ? s->ns : p->last);

	if (p->n + n + 24 > PAGE && flush_page(d, place))
		return NULL;
	if (!p->n) {
		p->n = PAGE_HEAD;
		p->first = p->last = ns;
	}
	put_head(p, ns - p->last, n);
	p->last = ns;
	put_number(p, id, 2);
	put_number(p, 0, 2);
	put_number(p, files_tid(&d->walk, s->lane), 4);
	return p;
}

/* The depth of the step's call. In a trace of a program and the kernel the kernel's calls stand
 * within those that the thread made at that time, in one graph. user_of leads by TID to the lane
 * that the program's part of the thread was on last; a coroutine's stack is not the thread's
 * own. */
static uint32_t depth_of(struct trace_dat *d, const struct walk_step *s)
{
	const struct walk_lane *l = &d->walk.lanes.at[s->lane];
	const uint64_t tid = 1 + (uint64_t)d->walk.info->threads.at[s->thread].tid;
	uint64_t user;

	if (!walk_is_kernel(&d->walk, s->lane)) {
		if (!l->coroutine)
			number_map_set(&d->user_of, tid, s->lane);
		return s->depth;
	}
	user = number_map_get(&d->user_of, tid);
	return s->depth + (user == NUMBER_NONE ? 0 : (uint32_t)d->walk.lanes.at[user].open.n);
}

/* funcgraph_entry: 20 bytes with its common fields, and the arguments behind 4 unused ones. */
static int put_begin(struct trace_dat *d, const struct walk_step *s)
{
	uint64_t words[TRACE_DAT_WORDS];
	uint32_t n = trace_dat_words(d, s, words);
	struct cpu_page *p = begin_record(d, s, TRACE_DAT_ENTRY, n ? 24 + 8 * n : 20);

	if (!p)
		return -d->err->code;
	put_number(p, files_address(s->function), 8);
	put_number(p, depth_of(d, s), 4);
	if (n)
		put_number(p, 0, 4);
	for (uint32_t i = 0; i < n; i++)
		put_number(p, words[i], 8);
	return 0;
}

/* funcgraph_exit, as a kernel with returned values has it: 48 bytes with its common fields. No
 * overrun: losses are told by pages. */
static int put_end(struct trace_dat *d, const struct walk_step *s)
{
	struct cpu_page *p = begin_record(d, s, TRACE_DAT_EXIT, 48);

	if (!p)
		return -d->err->code;
	put_number(p, files_address(s->function), 8);
	put_number(p, trace_dat_returned(d, s), 8);
	put_number(p, depth_of(d, s), 4);
	put_number(p, 0, 4);
	put_number(p, s->begin_ns, 8);
	put_number(p, s->ns, 8);
	return 0;
}

/* --- stacks: kallsyms has one space of addresses for all processes ------------------------- */

/* The kernel's half of the addresses is the same in all of them. */
static bool is_kernels(uint64_t address)
{
	return address >> 63;
}

/* Whether the event's words but the first are the addresses of a stack. */
static bool is_stack(const struct trace_dat *d, const struct event *e)
{
	const struct trace_event *t = trace_info_event(d->walk.info, e->fn);

	return t && !strcmp(t->system, "ftrace") &&
	       (!strcmp(t->name, "kernel_stack") || !strcmp(t->name, "user_stack"));
}

/* The name of a frame in that module; free() it. */
static char *frame_name(const struct trace_module *m, const struct trace_function *f,
			uint64_t address)
{
	char name[512];

	if (!f)
		return mem_printf("%s+0x%" PRIx64, m->name, address - m->base);
	trace_function_name(m, f, name, sizeof(name));
	return mem_strdup(name);
}

/* The frame's address in the file; one that is in no module stays as it is. A real address would
 * name another function, or none: those of all processes share one table there. A made one stands
 * for a function, 16 bytes from the next. The kernel's need no such thing. */
static uint64_t frame_address(struct trace_dat *d, const struct event *e, uint64_t address)
{
	const struct trace_info *info = d->walk.info;
	const struct trace_module *m = NULL;
	const struct trace_function *f = stack_text_function(info, e, address, &m);
	uint64_t key, n;

	if (!f)
		m = trace_info_module_at(info, info->threads.at[e->thread].image, address, e->tsc);
	if (!m)
		return address;
	key = (uint64_t)(m - info->modules.at + 1) << 32;
	/* In a file without functions the place itself: low bits tell places from functions. */
	key = f ? key | (uint64_t)(f - m->functions.at) : (key << 15) ^ address ^ INT64_MIN;
	if (is_kernels(address))
		key = address;
	n = number_map_get(&d->frame_of, key);
	if (n == NUMBER_NONE) {
		n = d->frames.n;
		number_map_set(&d->frame_of, key, n);
		*vec_add(&d->frames) = (struct trace_dat_frame){
			frame_name(m, f, address),
			is_kernels(address) ? address : TRACE_DAT_FRAMES + 16 * n
		};
	}
	return d->frames.at[n].address;
}

/* A zero ends the stack. */
static void put_stack(struct trace_dat *d, struct cpu_page *p, const struct event *e)
{
	bool over = false;

	for (size_t i = 0; i < e->count / 8; i++) {
		over |= i && !e->payload[i];
		put_number(p, i && !over ? frame_address(d, e, e->payload[i]) : e->payload[i], 8);
	}
}

/* An event without a format, or of which no page is large enough, is as good as lost. The payload
 * is padded to words of 4 bytes, as the record's head counts them. The number goes into
 * common_type, of 2 bytes. */
static int put_event(struct trace_dat *d, const struct walk_step *s)
{
	uint32_t id = event_text_id(d->texts, s->event);
	size_t n = s->event->count;
	struct cpu_page *p;

	if (!id || id > UINT16_MAX || n > PAGE / 2)
		return 0;
	p = begin_record(d, s, (uint16_t)id, 8 + n);
	if (!p)
		return -d->err->code;
	if (n % 8 == 0 && is_stack(d, s->event)) {
		put_stack(d, p, s->event);
		return 0;
	}
	memcpy(p->at + p->n, s->event->payload, n);
	p->n += n;
	for (; n % 4; n++)
		put_number(p, 0, 1);
	return 0;
}

/* The page that begins behind it says what is missing. */
static int put_loss(struct trace_dat *d, const struct walk_step *s)
{
	uint32_t place = place_of(d, cpu_of(d, s));
	struct cpu_page *p = d->pages.at[place];

	if (!p->n) {
		p->missed += s->lost;
		return 0;
	}
	p->next_missed += s->lost;
	return flush_page(d, place);
}

/* The walk's step, by its kind. 0, or -errno and d->err. */
static int take_step(void *arg, const struct walk_step *s)
{
	static int (*const put_as[WALK_KINDS_N])(struct trace_dat *, const struct walk_step *) = {
		[WALK_BEGIN] = put_begin, [WALK_END] = put_end, [WALK_EVENT] = put_event,
		[WALK_LOST] = put_loss,
	};

	return put_as[s->kind](arg, s);
}

/* --- the exporters ----------------------------------------------------------------------- */

/* Each CPU's pages wait in a temporary file until all of them are known. Calls end at a loss
 * (`cuts`), since a reader would nest what follows into them. */
static int write_file(struct export_job *job, int (*put_file)(struct trace_dat *d), bool describes,
		      struct err *err)
{
	struct trace_dat d = { .describes = describes, .out = job->out, .err = err,
			       .parts = parts_none() };
	int r;

	walk_init(&d.walk, job->source);
	d.walk.cuts = true;
	d.texts = event_texts_new(job->source->info);
	r = export_walk(job, &d.walk, take_step, &d, err);
	for (uint32_t i = 0; i < d.pages.n && !r; i++)
		r = flush_page(&d, i);
	if (!r)
		r = put_file(&d);
	event_texts_free(d.texts);
	for (size_t i = 0; i < d.pages.n; i++)
		free(d.pages.at[i]);
	vec_free(&d.pages);
	vec_free(&d.page_of);
	vec_free(&d.cpu_of);
	cpu_order_free(&d.order);
	parts_free(&d.parts);
	number_map_free(&d.user_of);
	number_map_free(&d.frame_of);
	for (size_t i = 0; i < d.frames.n; i++)
		free(d.frames.at[i].name);
	vec_free(&d.frames);
	walk_free(&d.walk);
	return r;
}

/* The exporters' `write`. */
static int write_v6(struct export_job *job, struct err *err)
{
	return write_file(job, trace_dat_v6, false, err);
}

static int write_v7(struct export_job *job, struct err *err)
{
	return write_file(job, trace_dat_v7, true, err);
}

const struct exporter export_trace_dat = {
	.name = "trace.dat", .summary = "trace-cmd's file (version 6), for trace-cmd and KernelShark",
	.binary = true, .holds = HOLDS_EVENTS | HOLDS_LOSSES | HOLDS_VALUES | HOLDS_KERNEL,
	.write = write_v6,
};
const struct exporter export_trace_dat_v7 = {
	.name = "trace.dat.v7",
	.summary = "trace-cmd's compressed file (version 7), for trace-cmd 3 and KernelShark 2",
	.binary = true, .holds = HOLDS_EVENTS | HOLDS_LOSSES | HOLDS_ARGUMENTS | HOLDS_VALUES |
				 HOLDS_KERNEL,
	.write = write_v7,
};
