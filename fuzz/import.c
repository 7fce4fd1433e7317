/* SPDX-License-Identifier: MIT */
/* Readers of other tools' traces on arbitrary bytes. The first byte chooses: perf script's,
 * trace-cmd report's or babeltrace2's text, or the files of uftrace's directory, each behind a line
 * "=NAME". What is read becomes a trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes between the line "=NAME" and the next line that begins so. */
static int get(void *of, const char *name, struct import_text *out, struct err *err)
{
	const struct import_text *all = of;
	struct import_text rest = *all, line;
	bool found = !*name;

	*out = rest;
	while (*name && import_line(&rest, &line)) {
		const char *begin = line.at;

		if (!import_literal(&line, "="))
			continue;
		if (found) {
			out->end = begin;
			return 0;
		}
		if (import_literal(&line, name) && line.at == line.end) {
			*out = rest;
			found = true;
		}
	}
	return found ? 0 : err_set(err, ENOENT, "there is no %s", name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_text all = { (const char *)data + 1, (const char *)data + size };
	const struct import_files files = { get, &all };
	struct import_build build = { 0 };
	struct err err = { 0 };
	int r;

	if (!size)
		return 0;
	r = (data[0] & 1 ? import_uftrace : data[0] & 2 ? import_graph_text
	     : data[0] & 4 ? import_ctf_text : import_perf)(
		&build, &files, &err);
	if (r && !err.code)
		abort();
	if (!r && import_write(&build, "/dev/null", &err))
		abort();
	import_build_free(&build);
	return 0;
}
