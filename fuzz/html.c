/* SPDX-License-Identifier: MIT */
/* Pages of any trace file that can be read. Whatever the trace is, a page has its three scripts and
 * no other. */
#include "export/html.h"
#include "store/store.h"
#include "trace_file.h"

/* A few bytes can stand for a million records. */
#define RECORDS_MOST 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends of script elements in what was written so far. */
struct seen { size_t ends, matched; };

static int look(void *arg, const char *bytes, size_t n)
{
	static const char end[] = "</script>";
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		s->matched = bytes[i] == end[s->matched] ? s->matched + 1 : bytes[i] == '<';
		if (s->matched < sizeof(end) - 1)
			continue;
		s->ends++;
		s->matched = 0;
	}
	return 0;
}

static void write_page(const uint8_t *bytes, size_t n)
{
	struct html_job job = { .title = "</script>" };
	struct store_description about;
	struct seen seen = { 0 };
	struct store_reader *r;
	struct out out;
	struct err err;

	if (store_open_bytes("fuzz", bytes, n, &r, &err))
		return;
	store_describe(r, &about);
	if (about.records <= RECORDS_MOST) {
		out_init(&out, look, &seen);
		job.source = store_source(r);
		job.out = &out;
		if (!html_write(&job, &err)) {
			out_flush(&out);
			if (seen.ends != 3)
				abort();
		}
		out_free(&out);
		job.source->ops->close(job.source);
	}
	store_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return trace_file_run(data, size, write_page);
}
