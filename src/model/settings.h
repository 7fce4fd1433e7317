/* The settings of one instance: the files of ftrace's tree, by their names. Command-line
 * options are writes to them, and so will be `echo` into the mounted tree. Text in, text
 * out, one table; nothing here knows of processes or ELF. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

enum buffer_mode { BUFFER_STREAM, BUFFER_OVERWRITE, BUFFER_BLOCK };

/* A function list such as set_ftrace_filter: patterns in the order written. */
struct function_pattern { char *text; char *glob; char *module; };
struct function_list { VEC(struct function_pattern) patterns; };

struct settings {
	bool graph;                 /* current_tracer: function_graph, else function */
	bool tracing_on;
	struct function_list filter;   /* set_ftrace_filter */
	struct function_list notrace;  /* set_ftrace_notrace */
	struct function_list graph_function; /* set_graph_function */
	struct function_list graph_notrace;  /* set_graph_notrace */
	struct function_list modules;  /* -L: modules opened besides the main executable (globs) */
	uint32_t max_graph_depth;   /* 0 = no limit */
	uint64_t tracing_thresh_ns; /* the file is in microseconds, as ftrace's; 0 = off */
	uint64_t buffer_size_kb;    /* per thread */
	enum buffer_mode mode;      /* options/overwrite, and brace's own block */
	uint64_t options;           /* bits by enum trace_option */
};

void settings_init(struct settings *s);  /* defaults, as ftrace's after boot but function_graph on */
void settings_free(struct settings *s);

/* `echo text > file` (append: `>>`). 0 or -errno and *err with the caret; a failed write changes nothing. */
int settings_write(struct settings *s, const char *file, const char *text, bool append, struct err *err);
/* `cat file`: free() the result. NULL = no such file. */
char *settings_read(const struct settings *s, const char *file);

/* ftrace's matching: full, front*, *end, *middle*, and its other globs; "name@module" and
 * ":mod:module" narrow to a module (matched with and without directory and .so suffix as
 * documented in man brace-record). An empty list matches nothing. */
bool function_list_match(const struct function_list *l, const char *name, const char *module);

/* "10us", "5ms", "2s", a bare number in the unit given. "64K", "4M", "1G" likewise. */
int parse_time_ns(const char *text, uint64_t bare_unit_ns, uint64_t *out, struct err *err);
int parse_size_kb(const char *text, uint64_t *out, struct err *err);
