/* SPDX-License-Identifier: MIT */
/* Called by exporters whose format is a directory, on brace's only thread. The directory is removed
 * as a whole if anything fails (base/new_file.h). */
#include "export/files.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The sink of a file's output. */
static int write_bytes(void *arg, const char *bytes, size_t n)
{
	const struct export_file *f = arg;

	return write_all(f->fd, bytes, n);
}

/* O_EXCL and O_NOFOLLOW: a file that is there already was put there by somebody else. */
int files_begin(struct export_file *f, const struct export_job *job, const char *name,
		struct err *err)
{
	*f = (struct export_file){ .path = mem_printf("%s/%s", job->directory, name) };
	out_init_raw(&f->out, write_bytes, f);
	f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->fd >= 0)
		return 0;
	return err_set(err, errno, "cannot create %s: %s", f->path, strerror(errno));
}

/* close() may be where a full disk is told. The file stays, cut short. */
int files_end(struct export_file *f, struct err *err)
{
	int r = f->fd < 0 ? 0 : out_flush(&f->out);

	if (f->fd >= 0 && close(f->fd) && !r)
		r = -errno;
	if (r)
		r = err_set(err, -r, "cannot write %s: %s", f->path, strerror(-r));
	out_free(&f->out);
	free(f->path);
	return r;
}

/* Bytes up to `last` become underscores. */
static void put_name(struct out *o, const char *name, unsigned char last)
{
	for (; *name; name++)
		out_char(o, (unsigned char)*name <= last || *name == 127 ? '_' : *name);
}

void files_put_word(struct out *o, const char *name)
{
	put_name(o, name, ' ');
}

void files_put_line(struct out *o, const char *name)
{
	put_name(o, name, ' ' - 1);
}
