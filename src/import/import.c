/* SPDX-License-Identifier: MIT */
/* Tells formats apart, and gives them their files: a directory is uftrace's, or a CTF trace, whose
 * text by babeltrace2 the caller gives; a file is trace-cmd's or perf script's text. Binary files
 * are only told apart. brace import calls it, on brace's only thread. A file of no such format is
 * -errno and a sentence. */
#include "import/import.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/read_all.h"
#include "import/formats.h"
#include "store/format.h"

/* Files that were read, for free(). */
struct opened {
	const char *path;
	const char *given;     /* stands for the path's own bytes; NULL: nothing does */
	VEC(char *) texts;
};

/* All bytes of an open file. */
static int read_whole(int fd, const char *path, struct import_text *out, char **text,
		      struct err *err)
{
	size_t n;
	int error;

	*text = read_all(fd, &n, &error);
	*out = (struct import_text){ *text, *text + n };
	return error ? err_set(err, error, "cannot read %s: %s", path, strerror(error)) : 0;
}

/* A file of the directory, or, by "", the path itself. */
static int read_named(struct opened *o, const char *name, struct import_text *out, struct err *err)
{
	char *path = *name ? mem_printf("%s/%s", o->path, name) : mem_strdup(o->path), *text;
	int fd = file_open(path, err), r = fd < 0 ? fd : 0;

	if (!r) {
		r = read_whole(fd, path, out, &text, err);
		*vec_add(&o->texts) = text;
		close(fd);
	}
	free(path);
	return r;
}

/* struct import_files.get. What it reads stays until the import is over. */
static int get_file(void *of, const char *name, struct import_text *out, struct err *err)
{
	struct opened *o = of;

	if (!o->given || *name)
		return read_named(o, name, out, err);
	*out = (struct import_text){ o->given, o->given + strlen(o->given) };
	return 0;
}

/* A directory that is not uftrace's, whose file info every one of those has; CTF has its metadata
 * there, or LTTng below it in a directory for each user. */
static bool is_ctf(const char *path)
{
	static const char *const inside[] = { "metadata", "ust", "kernel" };
	char *info = mem_printf("%s/info", path);
	struct stat st;
	bool is = false;

	if (!file_look(info, &st))
		for (size_t i = 0; i < sizeof(inside) / sizeof(*inside) && !is; i++) {
			char *name = mem_printf("%s/%s", path, inside[i]);

			is = file_look(name, &st);
			free(name);
		}
	free(info);
	return is;
}

/* The magic of trace-cmd.dat.v7(5): three bytes that begin no text, and `tracing`; and perf's. A
 * file that cannot be opened is none; import_trace() then says why it cannot. */
enum import_binary import_binary_of(const char *path)
{
	static const char trace_dat[] = "\027\010\104tracing", perf_data[] = "PERFILE2";
	char head[sizeof(trace_dat) - 1] = { 0 };
	struct err err;
	int fd = is_ctf(path) ? -1 : file_open(path, &err);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

	if (fd >= 0)
		close(fd);
	if (n < (ssize_t)sizeof(head))
		return is_ctf(path) ? IMPORT_CTF : IMPORT_NO_BINARY;
	return !memcmp(head, trace_dat, sizeof(head))		   ? IMPORT_TRACE_DAT
	       : !memcmp(head, perf_data, sizeof(perf_data) - 1) ? IMPORT_PERF_DATA
								   : IMPORT_NO_BINARY;
}

/* Only looks: nothing is opened but directories, without waiting and not by a link. */
int import_check_below(const char *path, struct err *err)
{
	char *const paths[] = { (char *)path, NULL };
	FTS *walk = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *at;
	int r = 0;

	errno = ENOMEM; /* of fts_open() that failed */
	while (!r && walk && (errno = 0, at = fts_read(walk))) {
		if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR || at->fts_info == FTS_NS)
			r = err_set(err, at->fts_errno, "cannot import %s: cannot read %s: %s",
				    path, at->fts_path, strerror(at->fts_errno));
		else if (at->fts_info != FTS_D && at->fts_info != FTS_DP && at->fts_info != FTS_F)
			r = err_set(err, EINVAL,
				    "cannot import %s: %s is no regular file and no directory",
				    path, at->fts_path);
	}
	if (!r && errno)
		r = err_set(err, errno, "cannot import %s: %s", path, strerror(errno));
	if (walk)
		fts_close(walk);
	return r;
}

/* A function graph's text has a line that says so; other texts are samples. */
static int read_text(struct import_build *b, const struct import_files *files, struct err *err)
{
	static const char mark[] = ": funcgraph_entry: ";
	struct import_text text;
	int r = files->get(files->of, "", &text, err);

	if (r)
		return r;
	if (text.end - text.at >= (ptrdiff_t)strlen(FILE_MAGIC) &&
	    !memcmp(text.at, FILE_MAGIC, strlen(FILE_MAGIC)))
		return err_set(err, EEXIST,
			       "it is a trace file of brace already: brace report and brace export read it");
	return (memmem(text.at, (size_t)(text.end - text.at), mark, strlen(mark))
			? import_graph_text
			: import_perf)(b, files, err);
}

/* A fault of a file is told with its name in front. */
static int name_error(const char *path, int r, struct err *err)
{
	struct err why = *err;

	if (r && !strstr(why.text, path))
		err_set(err, why.code, "cannot import %s: %s", path, why.text);
	return r;
}

/* *result: as far as the import came; it is not set if there is no such file. */
int import_trace(const char *path, const char *text, const char *output,
		 struct import_result *result, struct err *err)
{
	struct opened opened = { .path = path, .given = text };
	const struct import_files files = { get_file, &opened };
	struct import_build build = { 0 };
	struct stat st;
	int r;

	if (!file_look(path, &st))
		return err_set(err, errno, "cannot import %s: %s", path, strerror(errno));
	r = (!S_ISDIR(st.st_mode) ? read_text : text ? import_ctf_text : import_uftrace)(
		&build, &files, err);
	r = name_error(path, r, err);
	if (!r)
		r = import_write(&build, output, err);
	*result = (struct import_result){ .tool = build.tool, .calls = build.calls,
					  .threads = build.threads.n, .lost = build.lost,
					  .left_out = build.left_out, .strange = build.strange };
	import_build_free(&build);
	for (size_t i = 0; i < opened.texts.n; i++)
		free(opened.texts.at[i]);
	vec_free(&opened.texts);
	return r;
}
