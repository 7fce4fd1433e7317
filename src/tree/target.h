/* What stands behind the files of an instance: nothing at first, when they keep their values and an
 * empty trace; a session once one is attached.
 *
 * All calls may come from any thread. `apply`, `clear`, `make` and `drop` of one instance come one at a time;
 * the others come at any time between instance_attach and the return of instance_detach. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/settings.h"
#include "report/out.h"

struct tree_target {
	const struct tree_target_ops *ops; /* NULL: there is none */
	void *arg;
};

struct tree_target_ops {
	/* The settings are about to be these, because of a write to `file` ("options/overwrite"; NULL: all
	 * are new, the target is being attached). 0 when it is so; -errno and *err with the column in what
	 * was written: nothing has changed then, and the settings stay what they were. */
	int (*apply)(void *arg, const struct settings *next, const char *file, struct err *err);
	/* `cat trace`, header and all; nothing is consumed. */
	int (*trace)(void *arg, const struct settings *s, struct out *out, struct err *err);
	int (*clear)(void *arg, struct err *err); /* `> trace` */
	/* trace_pipe: the next bytes of whole lines, consumed; -EAGAIN when there are none now, 0 at the end.
	 * One reader at a time. Call instance_wake when there are some. */
	ssize_t (*pipe)(void *arg, char *buf, size_t n, struct err *err);
	bool (*pipe_ready)(void *arg);
	/* trace_marker (raw: trace_marker_raw, the first 4 bytes are the id), written by this thread. */
	int (*marker)(void *arg, pid_t thread, const char *text, size_t n, bool raw, struct err *err);
	/* mkdir instances/NAME, rmdir: a target for the new instance. NULL: it has none. `drop` gets the new one's. */
	int (*make)(void *arg, const char *name, struct tree_target *out, struct err *err);
	void (*drop)(void *arg);
};
