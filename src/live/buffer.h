/* An instance's buffer: what it recorded, when it did, and the two ways to read it: `trace`, which takes nothing
 * away, and `trace_pipe`, which does. The caller has the trace_info to himself in the functions that get it. */
#pragma once
#include "live/merge.h"
#include "live/ring.h"
#include "model/settings.h"
#include "report/out.h"
#include "report/printer.h"

/* trace_pipe between two reads. */
struct buffer_pipe {
	bool open;               /* printer and source are */
	struct printer printer;
	struct source *source;   /* of what was taken and is not printed yet; NULL: of nothing */
	struct out out;
	VEC(char) text;          /* printed, not read yet: from `read` on */
	size_t read;
	bool graph;              /* as it was opened */
	uint64_t options;
	uint64_t fed_ns;         /* when the printer got something last; 0: it holds nothing back */
};

struct buffer {
	struct ring ring;
	pthread_mutex_t lock;    /* of what follows */
	off_list off;
	bool on;
	struct settings settings;
	pthread_mutex_t reading; /* of the pipe */
	struct buffer_pipe pipe;
};

void buffer_init(struct buffer *b, const struct settings *settings);
void buffer_free(struct buffer *b);
/* Other settings: size, mode, on or off from this moment (a TSC) on. Another tracer empties it. */
void buffer_configure(struct buffer *b, const struct settings *settings, uint64_t tsc);
void buffer_clear(struct buffer *b, uint64_t tsc); /* of what was recorded before */
/* What it keeps of the records that a thread made from this time on: of enum keep. */
unsigned buffer_wants(struct buffer *b, pid_t tid, uint64_t tsc);

/* What `cat trace` shows. */
int buffer_show(struct buffer *b, struct trace_info *info, const struct settings *s, struct out *out, struct err *err);

/* All of it into a new trace file. */
int buffer_extract(struct buffer *b, struct trace_info *info, const char *path, struct err *err);

/* Bytes of whole lines, at most n; -EAGAIN: none now. */
ssize_t buffer_read(struct buffer *b, struct trace_info *info, char *buf, size_t n, struct err *err);
bool buffer_is_readable(struct buffer *b);
