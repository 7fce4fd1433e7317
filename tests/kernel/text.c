/* SPDX-License-Identifier: MIT */
/* Puts the pieces of src/kernel together as ui does, without an instance. */
#include "text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/out.h"
#include "kernel/rings.h"
#include "kernel/symbols.h"
#include "kernel/tracefs.h"
#include "report/printer.h"

static int write_text(void *stream, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, stream);
	return 0;
}

static int print_one(void *printer, const struct event *e, struct err *err)
{
	printer_event(printer, e);
	return 0;
}

static void give_up(const char *directory, const struct err *err)
{
	fprintf(stderr, "%s: %s\n", directory, err->text);
	exit(1);
}

static void add_formats(struct kernel_records *r, const char *directory, const char *system)
{
	char *path = mem_printf("%s/%s", directory, system);
	DIR *dir = opendir(path);
	struct dirent *d;
	struct err err;

	while (dir && (d = readdir(dir))) {
		char *text = *d->d_name == '.' ? NULL : kernel_tracefs_read(path, d->d_name);

		if (text && kernel_records_format(r, system, text, &err))
			give_up(path, &err);
		free(text);
	}
	if (dir)
		closedir(dir);
	free(path);
}

static void add_pages(struct kernel_rings *rings, const char *directory)
{
	uint8_t page[4096];

	for (uint16_t cpu = 0; cpu < 2; cpu++) {
		char *path = mem_printf("%s/raw%u", directory, cpu);
		FILE *f = fopen(path, "r");
		size_t n;

		while (f && (n = fread(page, 1, sizeof(page), f)))
			kernel_rings_add(rings, cpu, page, n, 0);
		if (f)
			fclose(f);
		free(path);
	}
}

static struct trace_info *read_info(const char *directory, struct kernel_records *records)
{
	struct trace_info *info = trace_info_new();
	char *symbols = kernel_tracefs_read(directory, "kallsyms");
	struct err err;
	int module = kernel_symbols_add(info, symbols ? symbols : "", &err);

	if (module < 0)
		give_up(directory, &err);
	info->tracer = mem_strdup("function_graph");
	info->cpus = 2;
	info->clock.hz = 1000000000;
	kernel_records_init(records, info, (uint32_t)module, NULL);
	add_formats(records, directory, "ftrace");
	add_formats(records, directory, "sched");
	free(symbols);
	return info;
}

char *kernel_text(const char *directory, uint64_t options)
{
	struct kernel_records records;
	struct trace_info *info = read_info(directory, &records);
	struct kernel_rings *rings = kernel_rings_empty(&records);
	char *cmdlines = kernel_tracefs_read(directory, "saved_cmdlines"), *text;
	struct printer printer;
	struct out out;
	struct err err;
	size_t n;
	FILE *stream = mem_stream(&text, &n);

	records.names = cmdlines;
	add_pages(rings, directory);
	out_init_raw(&out, write_text, stream);
	printer_begin(&printer, info, options, &out);
	if (kernel_rings_give(rings, UINT64_MAX, print_one, &printer, &err))
		give_up(directory, &err);
	printer_close(&printer);
	out_flush(&out);
	out_free(&out);
	fclose(stream);
	kernel_rings_free(rings);
	kernel_records_free(&records);
	trace_info_free(info);
	free(cmdlines);
	return text;
}
