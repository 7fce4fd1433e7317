/* SPDX-License-Identifier: MIT */
/* trace.dat, version 6: for trace-cmd report, KernelShark and Trace Compass, as the kernel's
 * function graph looks there. Records lie in pages of the CPU they were written on, as the kernel's
 * ring buffer has them. kallsyms names the functions, each at an address of its own; the program's
 * events have their formats. */
#include "export/files.h"
#include "export/formats.h"
#include "export/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/event_text.h"

#define PAGE PARTS_BLOCK
#define PAGE_HEAD 16
#define CPUS_MOST 4096u           /* a damaged file may name any; those are taken for CPU 0 */
enum { ID_EXIT = 10, ID_ENTRY = 11 };
enum { TYPE_LONG = 0, TYPE_WORDS_MOST = 28, TYPE_TIME_EXTEND = 30 };
enum { OPTION_END = 0, OPTION_CLOCK = 4, OPTION_CPUS = 8 };
#define DELTA_BITS 27
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)

#define COMMON                                                                                  \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                   \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                   \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"           \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
static const char header_event[] =
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
static const char entry_format[] =
	"name: funcgraph_entry\nID: 11\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n";
static const char exit_format[] =
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth\n";

/* The page of a CPU that is being filled. */
struct cpu_page {
	char at[PAGE];
	size_t n;             /* bytes in it, PAGE_HEAD and more; 0: not begun */
	uint64_t first, last; /* times */
	uint64_t missed;      /* records that are missing before it */
	uint64_t next_missed; /* ... before the next one */
	uint16_t cpu;         /* as the trace numbers it */
};

/* Pages are numbered by place, in the order in which their CPUs are met: a file may name any
 * CPU. */
struct trace_dat {
	struct walk walk;
	struct event_texts *texts;
	struct out *out;
	struct err *err;
	struct parts parts;             /* by place in pages */
	VEC(struct cpu_page *) pages;
	VEC(uint32_t) page_of;          /* 1 + place, by CPU */
	VEC(uint16_t) cpu_of;           /* by lane: where its latest record was */
};

/* --- pages --------------------------------------------------------------------------------- */

/* Little-endian, as the file's head says. */
static void put_at(char *to, uint64_t v, unsigned bytes)
{
	for (; bytes--; v >>= 8)
		*to++ = (char)v;
}

/* Appends a number to the page; the caller has made room. */
static void put(struct cpu_page *p, uint64_t v, unsigned bytes)
{
	put_at(p->at + p->n, v, bytes);
	p->n += bytes;
}

/* Completes the page of that place, and keeps it for the file. `commit`, the bytes in it, has
 * the flags of missed records, whose number stands behind them if there is room (the kernel's
 * ring_buffer.c). An empty page stays empty. */
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
			put_at(p->at + p->n, p->missed, 8);
		}
	}
	put_at(p->at, p->first, 8);
	put_at(p->at + 8, commit, 8);
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
 * their own. */
static void put_head(struct cpu_page *p, uint64_t delta, size_t n)
{
	size_t words = (n + 3) / 4;

	if (delta >> DELTA_BITS) {
		put(p, TYPE_TIME_EXTEND | (delta & ((1u << DELTA_BITS) - 1)) << 5, 4);
		put(p, delta >> DELTA_BITS, 4);
		delta = 0;
	}
	put(p, (words <= TYPE_WORDS_MOST ? words : TYPE_LONG) | delta << 5, 4);
	if (words > TYPE_WORDS_MOST)
		put(p, words * 4 + 4, 4);
}

/* Makes room on the CPU's page for a record of n bytes, and writes its head and its common fields;
 * the rest, of n - 8 bytes, follows. NULL: d->err. */
static struct cpu_page *begin_record(struct trace_dat *d, const struct walk_step *s, uint16_t id,
				     size_t n)
{
	uint32_t place = place_of(d, cpu_of(d, s));
	struct cpu_page *p = d->pages.at[place];

	if (p->n + n + 24 > PAGE && flush_page(d, place))
		return NULL;
	if (!p->n) {
		p->n = PAGE_HEAD;
		p->first = p->last = s->ns > p->last ? s->ns : p->last;
	}
	put_head(p, s->ns > p->last ? s->ns - p->last : 0, n);
	p->last = s->ns > p->last ? s->ns : p->last;
	put(p, id, 2);
	put(p, 0, 2);
	put(p, files_tid(&d->walk, s->lane), 4);
	return p;
}

/* funcgraph_entry: 20 bytes with its common fields. */
static int put_begin(struct trace_dat *d, const struct walk_step *s)
{
	struct cpu_page *p = begin_record(d, s, ID_ENTRY, 20);

	if (!p)
		return -d->err->code;
	put(p, files_address(s->function), 8);
	put(p, s->depth, 4);
	return 0;
}

/* funcgraph_exit: 40 bytes with its common fields. No overrun: losses are told by pages. */
static int put_end(struct trace_dat *d, const struct walk_step *s)
{
	struct cpu_page *p = begin_record(d, s, ID_EXIT, 40);

	if (!p)
		return -d->err->code;
	put(p, files_address(s->function), 8);
	put(p, s->depth, 4);
	put(p, 0, 4);
	put(p, s->begin_ns, 8);
	put(p, s->ns, 8);
	return 0;
}

/* An event without a format, or of which no page is large enough, is as good as lost. */
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
	memcpy(p->at + p->n, s->event->payload, n);
	p->n += n;
	for (; n % 4; n++)
		put(p, 0, 1);
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
	static int (*const put_as[])(struct trace_dat *, const struct walk_step *) = {
		[WALK_BEGIN] = put_begin, [WALK_END] = put_end, [WALK_EVENT] = put_event,
		[WALK_LOST] = put_loss,
	};

	return put_as[s->kind](arg, s);
}

/* --- the file ------------------------------------------------------------------------------ */

/* Little-endian, as the file's header says of all its numbers. */
static void put_uint(struct out *o, uint64_t v, unsigned bytes)
{
	char at[8];

	put_at(at, v, bytes);
	out_bytes(o, at, bytes);
}

/* A length of so many bytes stands before the text. */
static void put_text(struct out *o, const char *text, unsigned bytes)
{
	put_uint(o, strlen(text), bytes);
	out_str(o, text);
}

/* The sink of put_made(): its stream in memory. */
static int append_text(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -1;
}

/* A text whose length stands before it is made in memory. */
static void put_made(struct out *o, unsigned bytes,
		     void (*make)(const struct trace_dat *d, struct out *to),
		     const struct trace_dat *d)
{
	struct out to;
	char *text;
	size_t n;
	FILE *f = mem_stream(&text, &n);

	out_init_raw(&to, append_text, f);
	make(d, &to);
	out_flush(&to);
	out_free(&to);
	mem_stream_close(f, &text);
	put_uint(o, n, bytes);
	out_bytes(o, text, n);
	free(text);
}

/* A name is a word there, and one that begins with $ is not read. */
static void make_symbols(const struct trace_dat *d, struct out *to)
{
	for (uint32_t i = 0; i < d->walk.functions.n; i++) {
		const struct walk_function *f = &d->walk.functions.at[i];

		out_printf(to, "%016" PRIx64 " T %s", files_address(i), *f->text == '$' ? "_" : "");
		files_put_word(to, f->text);
		if (*f->file) {
			out_str(to, "\t[");
			files_put_word(to, f->file);
			out_char(to, ']');
		}
		out_char(to, '\n');
	}
}

/* The file's saved_cmdlines: "TID NAME" a line. */
static void make_names(const struct trace_dat *d, struct out *to)
{
	for (uint32_t i = 0; i < d->walk.lanes.n; i++) {
		char *name = walk_lane_name(&d->walk, i);

		out_printf(to, "%u ", files_tid(&d->walk, i));
		files_put_word(to, name);
		out_char(to, '\n');
		free(name);
	}
}

/* A system for each event: trace-cmd takes several of one name. */
static void put_formats(const struct trace_dat *d)
{
	const struct trace_info *info = d->walk.info;

	put_uint(d->out, info->events.n, 4);
	for (size_t i = 0; i < info->events.n; i++) {
		out_bytes(d->out, info->events.at[i].system, strlen(info->events.at[i].system) + 1);
		put_uint(d->out, 1, 4);
		put_text(d->out, info->events.at[i].format, 8);
	}
}

/* Pages begin at a multiple of their size. */
static void put_places(const struct trace_dat *d, uint64_t head, uint32_t cpus)
{
	uint64_t at = (head + 16 * (uint64_t)cpus + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	uint64_t pad = at - head - 16 * (uint64_t)cpus;

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		uint32_t place = cpu < d->page_of.n ? d->page_of.at[cpu] : 0;
		uint64_t n = place ? parts_size(&d->parts, place - 1) : 0;

		put_uint(d->out, at, 8);
		put_uint(d->out, n, 8);
		at += n;
	}
	while (pad--)
		out_char(d->out, 0);
}

/* Counts the bytes of what stands before the pages, whose places are absolute. */
struct head_counted { struct out *to; uint64_t n; };

/* The sink of the head: hands on, and counts. */
static int count_bytes(void *arg, const char *bytes, size_t n)
{
	struct head_counted *c = arg;

	c->n += n;
	out_bytes(c->to, bytes, n);
	return c->to->error;
}

/* All that stands before the pages (trace-cmd.dat.v6(5)): magic and version, formats, symbols,
 * names, options. Texts have their lengths before them, in 4 or 8 bytes. */
static void put_sections(const struct trace_dat *d, uint32_t cpus)
{
	static const char clocks[] = "local global counter [mono]";
	struct out *o = d->out;

	out_bytes(o, "\027\010\104tracing6", 12); /* the version has a NUL */
	put_uint(o, 0, 1);             /* little-endian */
	put_uint(o, 8, 1);             /* size of a long */
	put_uint(o, PAGE, 4);
	out_bytes(o, "header_page", 12);
	put_text(o, header_page, 8);
	out_bytes(o, "header_event", 13);
	put_text(o, header_event, 8);
	put_uint(o, 2, 4);
	put_text(o, entry_format, 8);
	put_text(o, exit_format, 8);
	put_formats(d);
	put_made(o, 4, make_symbols, d);
	put_uint(o, 0, 4);             /* texts of printk */
	put_made(o, 8, make_names, d);
	put_uint(o, cpus, 4);
	out_bytes(o, "options  ", 10);
	put_uint(o, OPTION_CLOCK, 2);
	put_uint(o, sizeof(clocks), 4);
	out_bytes(o, clocks, sizeof(clocks));
	put_uint(o, OPTION_CPUS, 2);
	put_uint(o, 4, 4);
	put_uint(o, cpus, 4);
	put_uint(o, OPTION_END, 2);
	out_bytes(o, "flyrecord", 10);
}

/* parts_read()'s sink: a page of a CPU. */
static int put_page(void *arg, const char *bytes, size_t n)
{
	struct out *o = arg;

	out_bytes(o, bytes, n);
	return o->error;
}

/* The file. Pages are all flushed before the head, which tells how long each CPU's are. */
static int put_file(struct trace_dat *d)
{
	uint32_t cpus = d->page_of.n ? (uint32_t)d->page_of.n : 1;
	struct head_counted counted = { .to = d->out };
	struct out head;
	int r = 0;

	for (uint32_t i = 0; i < d->pages.n && !r; i++)
		r = flush_page(d, i);
	if (r)
		return r;
	out_init_raw(&head, count_bytes, &counted);
	d->out = &head;
	put_sections(d, cpus);
	out_flush(&head);
	d->out = counted.to;
	out_free(&head);
	put_places(d, counted.n, cpus);
	for (uint32_t cpu = 0; cpu < d->page_of.n && !r; cpu++)
		if (d->page_of.at[cpu])
			r = parts_read(&d->parts, d->page_of.at[cpu] - 1, put_page, d->out, d->err);
	return r;
}

/* The exporter's `write`. Each CPU's pages wait in a temporary file until all of them are known. */
static int write_trace_dat(struct export_job *job, struct err *err)
{
	struct trace_dat d = { .out = job->out, .err = err, .parts = parts_none() };
	int r;

	walk_init(&d.walk, job->source);
	d.walk.cuts = true;
	d.texts = event_texts_new(job->source->info);
	r = export_walk(job, &d.walk, take_step, &d, err);
	if (!r)
		r = put_file(&d);
	event_texts_free(d.texts);
	for (size_t i = 0; i < d.pages.n; i++)
		free(d.pages.at[i]);
	vec_free(&d.pages);
	vec_free(&d.page_of);
	vec_free(&d.cpu_of);
	parts_free(&d.parts);
	walk_free(&d.walk);
	return r;
}

const struct exporter export_trace_dat = {
	.name = "trace.dat", .summary = "trace-cmd's file (version 6), for trace-cmd and KernelShark",
	.binary = true, .holds = HOLDS_EVENTS | HOLDS_LOSSES, .write = write_trace_dat,
};
