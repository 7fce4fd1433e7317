/* The settings of one instance: the files of ftrace's tree, by their names. Command-line
 * options are writes to them, and so will be `echo` into the mounted tree. Text in, text
 * out, one table; nothing here knows of processes or ELF. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/function_list.h"
#include "model/option.h"
#include "model/units.h"

enum buffer_mode { BUFFER_STREAM, BUFFER_OVERWRITE, BUFFER_BLOCK };

struct settings {
	bool graph;                 /* current_tracer: function_graph, else function */
	bool tracing_on;
	struct function_list filter;   /* set_ftrace_filter */
	struct function_list notrace;  /* set_ftrace_notrace */
	struct function_list graph_function; /* set_graph_function */
	struct function_list graph_notrace;  /* set_graph_notrace */
	struct function_list modules;  /* set_ftrace_module, brace's own (-L): modules opened besides
					  the main executable; module_list_match reads it */
	uint32_t max_graph_depth;   /* 0 = no limit */
	uint64_t tracing_thresh_ns; /* the file is in microseconds, as ftrace's; 0 = off */
	uint64_t buffer_size_kb;    /* per thread */
	enum buffer_mode mode;      /* options/overwrite, options/block; neither: stream */
	uint64_t options;           /* bits by enum trace_option */
};

/* Defaults, as ftrace's after boot but for: function_graph is on, and the buffer is streamed
 * (nooverwrite) and larger. */
void settings_init(struct settings *s);
void settings_free(struct settings *s);

/* `echo text > file` (append: `>>`). 0, or -errno and *err with the caret (ENOENT: no such file,
 * EACCES: not writable); a failed write changes nothing. */
int settings_write(struct settings *s, const char *file, const char *text, bool append, struct err *err);
/* `cat file`: free() the result. NULL = no such file. */
char *settings_read(const struct settings *s, const char *file);
/* The files' names but options/, in order; NULL behind the last. */
const char *settings_file(unsigned i);
