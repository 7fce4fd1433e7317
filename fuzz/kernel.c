/* SPDX-License-Identifier: MIT */
/* Any bytes as pages of the kernel's ring buffer, of two CPUs in turn: decoded, merged and printed;
 * and as a trace file of both has them, among calls of a program, with the times in the kernel; as
 * a mapped ring, whose first page says anything about sub-buffers that hold anything; and as
 * records of a perf ring, of which pages are made.
 * Formats and symbols are those of the kernel that the seeds are from. */
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "kernel/perf_record.h"
#include "kernel/producer.h"
#include "kernel/ring_map.h"
#include "kernel/symbols.h"
#include "model/option.h"
#include "report/kernel_times.h"
#include "report/printer.h"
#include "trace/unpack.h"
#include "kernel_part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define PAGE_BYTES 4096u
static const char *const formats[] = {
	"name: funcgraph_entry\nID: 11\nformat:\n" KERNEL_COMMON_FIELDS
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n",
	"name: funcgraph_exit\nID: 10\nformat:\n" KERNEL_COMMON_FIELDS
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"<-- %ps\", (void *)REC->func\n",
	"name: function\nID: 1\nformat:\n" KERNEL_COMMON_FIELDS
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n",
	"name: print\nID: 5\nformat:\n" KERNEL_COMMON_FIELDS
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
	"\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
};

static const char switch_format[] =
	"name: sched_switch\nID: 300\nformat:\n" KERNEL_COMMON_FIELDS
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"%s\", REC->prev_comm\n";

static const char symbols[] = "ffffffff81000000 T first\nffffffff81500000 T second\n"
			      "ffffffff81800000 T __irqentry_text_start\n"
			      "ffffffff81800000 T interrupt\n"
			      "ffffffff81900000 T __irqentry_text_end\n";

static int drop(void *arg, const char *bytes, size_t n)
{
	return 0;
}

static int print_one(void *printer, const struct event *e, struct err *err)
{
	printer_event(printer, e);
	return 0;
}

static void print_all(struct kernel_rings *rings, struct trace_info *info)
{
	struct printer printer;
	struct out out;

	out_init(&out, drop, NULL);
	/* Not funcgraph-irqs: interrupts are looked for. */
	printer_begin(&printer, info, OPTION_BIT(OPTION_CONTEXT_INFO) |
		      OPTION_BIT(OPTION_GRAPH_CPU) | OPTION_BIT(OPTION_GRAPH_PROC), &out);
	kernel_rings_give(rings, UINT64_MAX / 2, print_one, &printer, NULL);
	kernel_rings_give(rings, UINT64_MAX, print_one, &printer, NULL);
	printer_close(&printer);
	out_flush(&out);
	out_free(&out);
}

static struct kernel_rings *read_pages(struct kernel_records *records, const uint8_t *data, size_t n)
{
	struct kernel_rings *rings = kernel_rings_empty(records);

	records->names = "12 sh\n13 a name that is longer than the kernel's\n";
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (kernel_records_format(records, "ftrace", formats[i], NULL))
			abort();
	if (kernel_records_format(records, "sched", switch_format, NULL))
		abort();
	for (size_t at = 0, page = 0; at < n; at += PAGE_BYTES, page++)
		kernel_rings_add(rings, page % 2, data + at,
				 n - at < PAGE_BYTES ? n - at : PAGE_BYTES,
				 page % 3 == 2 ? data[at] : 0);
	return rings;
}

static struct trace_info *new_info(const char *tracer)
{
	struct trace_info *info = trace_info_new();

	info->tracer = mem_strdup(tracer);
	info->cpus = 2;
	info->clock.hz = 1000000000;
	return info;
}

/* The kernel alone, as brace graph -K prints it. */
static void print_alone(const char *tracer, const uint8_t *data, size_t n)
{
	struct trace_info *info = new_info(tracer);
	int module = kernel_symbols_add(info, symbols, NULL);
	struct kernel_records records;
	struct kernel_rings *rings;

	kernel_records_init(&records, info, (uint32_t)module, NULL);
	rings = read_pages(&records, data, n);
	print_all(rings, info);
	kernel_rings_free(rings);
	kernel_records_free(&records);
	trace_info_free(info);
}

/* --- among a program's calls -------------------------------------------------------------- */

struct words_source {
	struct source source;
	thread_run_list runs;
	size_t run;
	struct unpack unpack;
	bool begun;
};

/* Runs one after the other: times go back between them, as in a damaged file. */
static int next_event(struct source *source, struct event *out, struct err *err)
{
	struct words_source *w = (struct words_source *)source;

	for (; w->run < w->runs.n; w->run++, w->begun = false) {
		const struct drain_run *r = &w->runs.at[w->run].run;

		if (!w->begun)
			w->unpack = (struct unpack){ .at = r->words, .end = r->words + r->n,
						     .tsc = r->near_tsc, .thread = r->slot,
						     .cpu = r->cpu };
		w->begun = true;
		if (unpack_next(&w->unpack, out))
			return 1;
	}
	return 0;
}

static void close_nothing(struct source *source)
{
}

static int store_one(void *runs, const struct event *e, struct err *err)
{
	kernel_record_add(runs, e);
	return 0;
}

/* A program's call around every third event of the kernel's, by the same thread. */
static void print_among(struct words_source *w, struct trace_info *info)
{
	struct event e, own;
	struct printer printer;
	struct out out;
	unsigned i = 0;

	out_init(&out, drop, NULL);
	printer_begin(&printer, info, OPTION_BIT(OPTION_CONTEXT_INFO) | OPTION_BIT(OPTION_GRAPH_CPU) |
		      OPTION_BIT(OPTION_GRAPH_IRQS), &out);
	w->run = 0;
	w->begun = false;
	while (next_event(&w->source, &e, NULL)) {
		if (i++ % 3 == 0) {
			own = (struct event){ .kind = i % 2 ? EVENT_ENTRY : EVENT_EXIT, .tsc = e.tsc,
					      .thread = (uint32_t)info->threads.n - 1, .fn = 1,
					      .cpu = e.cpu };
			printer_event(&printer, &own);
		}
		printer_event(&printer, &e);
	}
	printer_close(&printer);
	out_flush(&out);
	out_free(&out);
}

static void add_program(struct trace_info *info)
{
	const uint32_t tid = info->threads.n ? info->threads.at[0].tid : 12;

	*vec_add(&info->images) = (struct trace_image){ .exe = mem_strdup("p"),
							.cmdline = mem_strdup("p") };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = tid, .tid = tid, .image = 1 };
}

static void print_merged(const uint8_t *data, size_t n)
{
	static const struct source_ops ops = { next_event, close_nothing };
	struct trace_info *info = new_info("function_graph");
	struct words_source w = { .source = { .ops = &ops, .info = info } };
	struct thread_runs runs = { 0 };
	struct kernel_rings *rings;
	struct kernel_times *times;
	struct kernel_part part;

	kernel_part_begin(&part, info, symbols);
	rings = read_pages(&part.records, data, n);
	kernel_rings_give(rings, UINT64_MAX, store_one, &runs, NULL);
	thread_runs_take(&runs, 0, &w.runs);
	kernel_runs_renumber(&w.runs, &part.used, info);
	add_program(info);
	if (kernel_times_make(&w.source, &times, NULL))
		abort();
	kernel_times_between(times, 12, 1, UINT64_MAX);
	kernel_times_free(times);
	print_among(&w, info);
	for (size_t i = 0; i < w.runs.n; i++)
		vec_free(&w.runs.at[i].words);
	vec_free(&w.runs);
	thread_runs_free(&runs);
	kernel_rings_free(rings);
	kernel_part_end(&part);
}

/* --- a mapped ring ------------------------------------------------------------------------ */

static void read_through(const uint8_t *bytes, size_t n, size_t from)
{
	struct kernel_page_record record;
	struct kernel_page page;

	kernel_page_begin(&page, bytes, n);
	kernel_page_skip(&page, from);
	while (kernel_page_next(&page, &record))
		if (record.tsc > UINT64_MAX - 1)
			abort();
}

/* The kernel's page may say another reader after each take: 8 bytes of the input. The layout is the
 * input's, too, if it fits. */
static void read_map(const uint8_t *data, size_t n)
{
	static uint8_t page[KERNEL_RING_PAGE_BYTES];
	uint8_t meta[KERNEL_RING_META_BYTES];
	struct kernel_ring_map map;
	size_t at, bytes, from, got;
	uint8_t *pages;

	if (n < sizeof(meta))
		return;
	memcpy(meta, data, sizeof(meta));
	if (!kernel_ring_map_begin(&map, meta, &at, &bytes) || bytes > n)
		return;
	/* In memory of its own, so that a sanitizer sees what is read behind it. */
	pages = mem_realloc(NULL, bytes, 1);
	memcpy(pages, data + n - bytes, bytes);
	map.pages = pages;
	for (size_t i = 0; i + 8 <= n && i < 64; i += 8) {
		memcpy(meta + sizeof(meta) - 8, data + i, 8);
		if (!kernel_ring_map_take(&map, page, &got, &from))
			continue;
		if (got > map.page_bytes)
			abort();
		read_through(page, got, from);
	}
	free(pages);
}

/* --- a perf ring -------------------------------------------------------------------------- */

/* The bytes one after the other, by the sizes in their headers. A page that is made of them has as
 * many records, and is never bad. */
static void read_perf(const uint8_t *data, size_t n)
{
	struct kernel_made_page made = { 0 };
	struct kernel_perf_record p;
	struct kernel_page_record record;
	struct kernel_page page;
	size_t put = 0;
	uint16_t size;

	for (size_t at = 0; at + 8 <= n; at += size) {
		memcpy(&size, data + at + 6, sizeof(size));
		if (size < 8 || size > n - at)
			break;
		if (!kernel_perf_record_read(data + at, size, &p) || p.kind != KERNEL_PERF_SAMPLE_OF)
			continue;
		kernel_made_add(&made, p.time, p.data, p.n & ~3u);
		put++;
	}
	kernel_made_end(&made, n % 3);
	kernel_page_begin(&page, made.bytes.at, made.bytes.n);
	while (made.bytes.n < KERNEL_MADE_FULL && kernel_page_next(&page, &record))
		put--;
	if (made.bytes.n < KERNEL_MADE_FULL && (put || page.bad))
		abort();
	vec_free(&made.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	read_perf(data, n);
	read_map(data, n);
	print_alone("function_graph", data, n);
	print_alone("function", data, n);
	print_merged(data, n);
	return 0;
}
