/* SPDX-License-Identifier: MIT */
/* Every exporter on any trace file that can be read. The first byte chooses the format and what a
 * call weighs. */
#include "base/new_file.h"
#include "export/exporter.h"
#include "store/store.h"
#include "trace_file.h"

/* A few bytes can stand for a million records. */
#define RECORDS_MOST 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t how; /* the input's first byte */

static int swallow(void *arg, const char *bytes, size_t n)
{
	return 0;
}

/* Calls that begin and end are as many, whatever the file says. */
static void check(const struct export_job *job, int failed, const struct err *err)
{
	if (failed && !err->code)
		abort();
	if (job->counts.unfinished + job->counts.cut + job->counts.unfollowed > job->counts.calls)
		abort();
}

static void run(const struct exporter *e, unsigned weight, struct store_reader *r)
{
	char directory[] = "/dev/shm/brace-fuzz.XXXXXX";
	struct export_job job = { .source = store_source(r), .weight = weight % EXPORT_WEIGHTS };
	struct err err = { 0 };
	struct out out;

	out_init(&out, swallow, NULL);
	out.raw = e->binary;
	job.out = &out;
	if (e->directory && mkdtemp(directory))
		job.directory = directory;
	if (!e->directory || job.directory)
		check(&job, e->write(&job, &err), &err);
	if (job.directory)
		new_directory_remove(directory);
	out_free(&out);
	job.source->ops->close(job.source);
}

static void export_bytes(const uint8_t *bytes, size_t n)
{
	struct store_description about;
	struct store_reader *r;
	struct err err;
	size_t formats = 0;

	while (exporters[formats])
		formats++;
	if (store_open_bytes("fuzz", bytes, n, &r, &err))
		return;
	store_describe(r, &about);
	if (about.records <= RECORDS_MOST && !exporters[how % formats]->database)
		run(exporters[how % formats], how / formats, r);
	store_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	how = data[0];
	return trace_file_run(data + 1, size - 1, export_bytes);
}
