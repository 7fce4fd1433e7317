/* The table of files and, for each kind of value, how it is parsed and printed. */
#include "model/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A streamed buffer must outlast the time the tracer takes to come round: 4 MB hold half a
 * million records. Memory is used only as far as a thread fills it. */
#define BUFFER_SIZE_KB 32768
#define BUFFER_SIZE_KB_MAX (64 << 20)

struct file {
	const char *name;
	int (*write)(struct settings *s, const struct file *f, const char *text, bool append,
		     struct err *err); /* NULL: read only */
	char *(*read)(const struct settings *s, const struct file *f);
	size_t offset;     /* of the value in struct settings, where one function serves several */
	const char *empty; /* what an empty list shows */
};

#define AT(s, f, type) ((type *)((char *)(s) + (f)->offset))
#define AT_CONST(s, f, type) ((const type *)((const char *)(s) + (f)->offset))

/* --- values ------------------------------------------------------------------------- */

static int write_functions(struct settings *s, const struct file *f, const char *text, bool append,
			   struct err *err)
{
	return function_list_write(AT(s, f, struct function_list), text, append, err);
}

static int write_modules(struct settings *s, const struct file *f, const char *text, bool append,
			 struct err *err)
{
	return module_list_write(AT(s, f, struct function_list), text, append, err);
}

static char *read_list(const struct settings *s, const struct file *f)
{
	return function_list_read(AT_CONST(s, f, struct function_list), f->empty);
}

static const char *const tracers[] = { "function", "function_graph" };

static int write_tracer(struct settings *s, const struct file *f, const char *text, bool append,
			struct err *err)
{
	for (unsigned i = 0; i < 2; i++) {
		if (!strcmp(text, tracers[i])) {
			s->graph = i;
			return 0;
		}
	}
	return err_at(err, EINVAL, text, 0, "unknown tracer, there are function_graph and function");
}

static char *read_tracer(const struct settings *s, const struct file *f)
{
	return mem_printf("%s\n", tracers[s->graph]);
}

static char *read_tracers(const struct settings *s, const struct file *f)
{
	return mem_printf("%s %s\n", tracers[1], tracers[0]);
}

static int write_bool(struct settings *s, const struct file *f, const char *text, bool append,
		      struct err *err)
{
	uint64_t v;
	int e = parse_number(text, f->name, 0, UINT32_MAX, &v, err);

	if (!e)
		*AT(s, f, bool) = v;
	return e;
}

static char *read_bool(const struct settings *s, const struct file *f)
{
	return mem_printf("%d\n", *AT_CONST(s, f, bool));
}

static int write_depth(struct settings *s, const struct file *f, const char *text, bool append,
		       struct err *err)
{
	uint64_t v;
	int e = parse_number(text, "a depth", 0, INT32_MAX, &v, err);

	if (!e)
		s->max_graph_depth = (uint32_t)v;
	return e;
}

static char *read_depth(const struct settings *s, const struct file *f)
{
	return mem_printf("%" PRIu32 "\n", s->max_graph_depth);
}

static int write_thresh(struct settings *s, const struct file *f, const char *text, bool append,
			struct err *err)
{
	return parse_time_ns(text, 1000, &s->tracing_thresh_ns, err);
}

static char *read_thresh(const struct settings *s, const struct file *f)
{
	char buf[32];

	return mem_printf("%s\n", format_thresh(s->tracing_thresh_ns, buf));
}

static int write_size(struct settings *s, const struct file *f, const char *text, bool append,
		      struct err *err)
{
	uint64_t kb;
	int e = parse_size_kb(text, &kb, err);

	if (!e && kb > BUFFER_SIZE_KB_MAX)
		e = err_at(err, ERANGE, text, 0, "a buffer of one thread is at most %d GB",
			   BUFFER_SIZE_KB_MAX >> 20);
	if (!e)
		s->buffer_size_kb = kb;
	return e;
}

static char *read_size(const struct settings *s, const struct file *f)
{
	return mem_printf("%" PRIu64 "\n", s->buffer_size_kb);
}

static int write_clock(struct settings *s, const struct file *f, const char *text, bool append,
		       struct err *err)
{
	if (!strcmp(text, "x86-tsc"))
		return 0;
	return err_at(err, EINVAL, text, 0, "unknown clock, the only one is x86-tsc");
}

static char *read_clock(const struct settings *s, const struct file *f)
{
	return mem_printf("[x86-tsc]\n");
}

/* --- options ------------------------------------------------------------------------ */

/* The two options that are a choice of buffer mode; the mode is the truth, the bits follow it. */
static void set_mode(struct settings *s, enum buffer_mode mode)
{
	s->mode = mode;
	s->options &= ~(OPTION_BIT(OPTION_OVERWRITE) | OPTION_BIT(OPTION_BLOCK));
	if (mode == BUFFER_OVERWRITE)
		s->options |= OPTION_BIT(OPTION_OVERWRITE);
	if (mode == BUFFER_BLOCK)
		s->options |= OPTION_BIT(OPTION_BLOCK);
}

/* What brace's recording and printing heeds. The rest of ftrace's options keep the value they
 * have after boot: turning one the other way is refused, not ignored. */
static const uint64_t heeded =
	OPTION_BIT(OPTION_PRINT_PARENT) | OPTION_BIT(OPTION_SYM_OFFSET) |
	OPTION_BIT(OPTION_SYM_ADDR) | OPTION_BIT(OPTION_VERBOSE) | OPTION_BIT(OPTION_RAW) |
	OPTION_BIT(OPTION_HEX) | OPTION_BIT(OPTION_BIN) | OPTION_BIT(OPTION_FIELDS) |
	OPTION_BIT(OPTION_BLOCK) | OPTION_BIT(OPTION_OVERWRITE) | OPTION_BIT(OPTION_CONTEXT_INFO) |
	OPTION_BIT(OPTION_LATENCY_FORMAT) | OPTION_BIT(OPTION_RECORD_TGID) |
	OPTION_BIT(OPTION_IRQ_INFO) | OPTION_BIT(OPTION_GRAPH_OVERRUN) |
	OPTION_BIT(OPTION_GRAPH_CPU) | OPTION_BIT(OPTION_GRAPH_OVERHEAD) |
	OPTION_BIT(OPTION_GRAPH_PROC) | OPTION_BIT(OPTION_GRAPH_DURATION) |
	OPTION_BIT(OPTION_GRAPH_ABSTIME) | OPTION_BIT(OPTION_GRAPH_TAIL);

static bool can_set(enum trace_option o, bool on)
{
	return option_is_set(heeded, o) || on == trace_option_info(o)->on;
}

#define NOT_HEEDED "brace does not have this option of ftrace's; it stays as it is"

static void set_option(struct settings *s, enum trace_option o, bool on)
{
	if (o == OPTION_OVERWRITE || o == OPTION_BLOCK) {
		if (on)
			set_mode(s, o == OPTION_BLOCK ? BUFFER_BLOCK : BUFFER_OVERWRITE);
		else if (option_is_set(s->options, o))
			set_mode(s, BUFFER_STREAM);
	} else if (on) {
		s->options |= OPTION_BIT(o);
	} else {
		s->options &= ~OPTION_BIT(o);
	}
}

/* trace_options: one or several of NAME, noNAME. All are looked up before one is set. */
static int each_option(struct settings *s, const char *text, struct err *err)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \t\n,");
		bool off = n > 2 && !memcmp(p, "no", 2) && trace_option_find(p, n) == TRACE_OPTIONS_N;
		enum trace_option o = trace_option_find(p + 2 * off, n - 2 * off);

		if (o == TRACE_OPTIONS_N)
			return err_at(err, EINVAL, text, (size_t)(p - text), "unknown option");
		if (!can_set(o, !off))
			return err_at(err, EINVAL, text, (size_t)(p - text), NOT_HEEDED);
		if (s)
			set_option(s, o, !off);
		p += n;
		p += strspn(p, " \t\n,");
	}
	return 0;
}

static int write_options(struct settings *s, const struct file *f, const char *text, bool append,
			 struct err *err)
{
	int e = each_option(NULL, text, err);

	return e ? e : each_option(s, text, err);
}

static bool option_shown(const struct settings *s, enum trace_option o)
{
	uint8_t group = trace_option_info(o)->group;

	return group == OPTION_COMMON || group == (s->graph ? OPTION_GRAPH : OPTION_FUNCTION);
}

static char *read_options(const struct settings *s, const struct file *f)
{
	char *out = mem_zalloc(TRACE_OPTIONS_N * 32), *p = out;

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		if (option_shown(s, o))
			p += snprintf(p, 32, "%s%s\n", option_is_set(s->options, o) ? "" : "no",
				      trace_option_info(o)->name);
	return out;
}

static int write_one_option(struct settings *s, enum trace_option o, const char *text,
			    struct err *err)
{
	if (strcmp(text, "0") && strcmp(text, "1"))
		return err_at(err, EINVAL, text, 0, "an option is 0 or 1");
	if (!can_set(o, *text == '1'))
		return err_at(err, EINVAL, trace_option_info(o)->name, 0, NOT_HEEDED);
	set_option(s, o, *text == '1');
	return 0;
}

/* --- the table ---------------------------------------------------------------------- */

#define LIST(file_name, field, parse, empty_text) \
	{ file_name, parse, read_list, offsetof(struct settings, field), empty_text }

static const struct file files[] = {
	{ "available_tracers", NULL, read_tracers, 0, NULL },
	{ "buffer_size_kb", write_size, read_size, 0, NULL },
	{ "current_tracer", write_tracer, read_tracer, 0, NULL },
	{ "max_graph_depth", write_depth, read_depth, 0, NULL },
	LIST("set_ftrace_filter", filter, write_functions, "#### all functions enabled ####\n"),
	LIST("set_ftrace_module", modules, write_modules, "#### main executable only ####\n"),
	LIST("set_ftrace_notrace", notrace, write_functions, "#### no functions disabled ####\n"),
	LIST("set_graph_function", graph_function, write_functions,
	     "#### all functions enabled ####\n"),
	LIST("set_graph_notrace", graph_notrace, write_functions,
	     "#### no functions disabled ####\n"),
	{ "trace_clock", write_clock, read_clock, 0, NULL },
	{ "trace_options", write_options, read_options, 0, NULL },
	{ "tracing_on", write_bool, read_bool, offsetof(struct settings, tracing_on), NULL },
	{ "tracing_thresh", write_thresh, read_thresh, 0, NULL },
};
#define FILES_N (sizeof(files) / sizeof(*files))

static const struct file *find_file(const char *name)
{
	for (size_t i = 0; i < FILES_N; i++)
		if (!strcmp(files[i].name, name))
			return &files[i];
	return NULL;
}

static enum trace_option find_option_file(const char *name)
{
	static const char dir[] = "options/";

	if (strncmp(name, dir, strlen(dir)))
		return TRACE_OPTIONS_N;
	return trace_option_find(name + strlen(dir), strlen(name + strlen(dir)));
}

/* The text without the blanks and newline around it, which ftrace's files ignore too. */
static char *trimmed(const char *text)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	return mem_strndup(text, n);
}

int settings_write(struct settings *s, const char *file, const char *text, bool append,
		   struct err *err)
{
	const struct file *f = find_file(file);
	enum trace_option o = find_option_file(file);
	char *value;
	int e;

	if (!f && o == TRACE_OPTIONS_N)
		return err_set(err, ENOENT, "there is no file %s", file);
	if (f && !f->write)
		return err_set(err, EACCES, "%s can only be read", file);
	value = trimmed(text);
	e = f ? f->write(s, f, value, append, err) : write_one_option(s, o, value, err);
	free(value);
	return e;
}

char *settings_read(const struct settings *s, const char *file)
{
	const struct file *f = find_file(file);
	enum trace_option o = find_option_file(file);

	if (f)
		return f->read(s, f);
	return o == TRACE_OPTIONS_N ? NULL : mem_printf("%d\n", option_is_set(s->options, o));
}

const char *settings_file(unsigned i)
{
	return i < FILES_N ? files[i].name : NULL;
}

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.graph = true,
		.tracing_on = true,
		.buffer_size_kb = BUFFER_SIZE_KB,
		.options = trace_options_default(),
	};
	set_mode(s, BUFFER_STREAM);
}

void settings_free(struct settings *s)
{
	function_list_free(&s->filter);
	function_list_free(&s->notrace);
	function_list_free(&s->graph_function);
	function_list_free(&s->graph_notrace);
	function_list_free(&s->modules);
}
