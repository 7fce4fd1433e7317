/* SPDX-License-Identifier: MIT */
/* links: arch event base model trace store excerpt report sym shared kernel */
/* Any bytes as pages of the kernel's ring buffer, of two CPUs in turn: decoded, merged and printed.
 * Formats and symbols are those of the kernel that the seeds are from. */
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "kernel/rings.h"
#include "kernel/symbols.h"
#include "model/option.h"
#include "report/printer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define PAGE_BYTES 4096u
#define COMMON                                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"       \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"       \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char *const formats[] = {
	"name: funcgraph_entry\nID: 11\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n",
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"<-- %ps\", (void *)REC->func\n",
	"name: print\nID: 5\nformat:\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
	"\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
};

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct trace_info *info = trace_info_new();
	struct kernel_records records;
	struct kernel_rings *rings;
	int module = kernel_symbols_add(info, symbols, NULL);

	info->tracer = mem_strdup("function_graph");
	info->cpus = 2;
	info->clock.hz = 1000000000;
	kernel_records_init(&records, info, (uint32_t)module);
	records.names = "12 sh\n13 a name that is longer than the kernel's\n";
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (kernel_records_format(&records, "ftrace", formats[i], NULL))
			abort();
	rings = kernel_rings_empty(&records);
	for (size_t at = 0, page = 0; at < n; at += PAGE_BYTES, page++)
		kernel_rings_add(rings, page % 2, data + at,
				 n - at < PAGE_BYTES ? n - at : PAGE_BYTES);
	print_all(rings, info);
	kernel_rings_free(rings);
	kernel_records_free(&records);
	trace_info_free(info);
	return 0;
}
