/* SPDX-License-Identifier: MIT */
/* links: export report excerpt sym store arch trace model event shared base zstd threads */
/* Every exporter on any trace file that can be read: the first byte chooses how the bytes become
 * one (store.c has the same two ways), the second the format and what a call weighs. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "export/exporter.h"
#include "store/store.h"
#include "trace_file.h"

/* A few bytes can stand for a million records. */
#define RECORDS_MOST 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int swallow(void *arg, const char *bytes, size_t n)
{
	return 0;
}

static void empty_directory(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
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
		empty_directory(directory);
	out_free(&out);
	job.source->ops->close(job.source);
}

static void export_bytes(const uint8_t *bytes, size_t n, uint8_t how)
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
	if (about.records <= RECORDS_MOST)
		run(exporters[how % formats], how / formats, r);
	store_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes file;

	if (size < 2)
		return 0;
	if (data[0] % 4 == 0) {
		export_bytes(data + 2, size - 2, data[1]);
		return 0;
	}
	file = trace_file_make(data + 2, size - 2, data[0] % 4 == 1);
	export_bytes(file.at, file.n, data[1]);
	vec_free(&file);
	return 0;
}
