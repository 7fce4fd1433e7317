/* SPDX-License-Identifier: MIT */
/* Tables of keys, walked in the kernel's order. brace's own keys: ftrace.file.PATH, where a dot
 * stands for the slash, is a write to any file of the tree. Called on any thread; it owns what it
 * adds to the writes. Nothing fails: a key that is not understood becomes a remark. */
#include "config/writes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "config/events.h"
#include "config/reading.h"

/* --- reading --------------------------------------------------------------------------------- */

/* All keys on the way count as known. */
uint32_t reading_find(struct config_reading *r, uint32_t key, const char *path)
{
	uint32_t k = bootconfig_find(r->c, key, path);

	for (uint32_t up = k; up != BOOTCONFIG_NONE && up != key; up = r->c->keys.at[up].parent)
		r->known[up] = true;
	return k;
}

/* A key has a greater number than those above it. */
void reading_know_all(struct config_reading *r, uint32_t key)
{
	for (uint32_t k = key + 1; k < r->c->keys.n; k++)
		for (uint32_t up = r->c->keys.at[k].parent; up >= key && up != BOOTCONFIG_NONE;
		     up = r->c->keys.at[up].parent)
			r->known[k] |= up == key;
}

/* Where value i stands, or the key, if it has no such value: for remarks. */
size_t reading_position(const struct config_reading *r, uint32_t key, size_t i)
{
	const struct bootconfig_key *k = &r->c->keys.at[key];

	return i < k->values.n ? k->values.at[i].at : k->at;
}

/* Takes file and text over. append: `>>`. */
void reading_write(struct config_reading *r, size_t at, char *file, char *text, bool append)
{
	*vec_add(&r->to->all) = (struct config_write){
		.instance = r->instance ? mem_strdup(r->instance) : NULL,
		.file = file, .text = text, .append = append, .at = at };
}

/* A remark is no error: the kernel, too, goes on behind a setting that it does not know. `at` is
 * the place in the text, for the line and column that are said with it. */
void reading_remark(struct config_reading *r, size_t at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*vec_add(&r->to->remarks) = (struct config_remark){ at, mem_vprintf(fmt, ap) };
	va_end(ap);
}

/* The key's values as one text, for free(); "" if it has none. */
char *reading_join(const struct config_reading *r, uint32_t key, const char *separator)
{
	const struct bootconfig_key *k = &r->c->keys.at[key];
	char *text;
	size_t n;
	FILE *out = mem_stream(&text, &n);

	for (size_t i = 0; i < k->values.n; i++)
		fprintf(out, "%s%s", i ? separator : "", k->values.at[i].text);
	mem_stream_close(out, &text);
	return text;
}

/* --- rows ------------------------------------------------------------------------------------ */

struct row;

typedef void row_writer(struct config_reading *r, const struct row *row, uint32_t key);

/* A key, and how its values become writes to a file. */
struct row {
	const char *key;
	row_writer *write;
	const char *file;        /* or the sentence of remark_key() */
};

/* `echo VALUE >> FILE` for each; a value may be a list with commas. */
static void write_words(struct config_reading *r, const struct row *row, uint32_t key)
{
	const struct bootconfig_key *k = &r->c->keys.at[key];

	for (size_t i = 0; i < k->values.n; i++) {
		const char *word = k->values.at[i].text;
		size_t n;

		for (; *word; word += n + !!word[n]) {
			n = strcspn(word, ",");
			if (n)
				reading_write(r, k->values.at[i].at, mem_strdup(row->file),
					      mem_strndup(word, n), true);
		}
	}
}

/* `echo VALUE > FILE` of the first value. */
static void write_first(struct config_reading *r, const struct row *row, uint32_t key)
{
	const struct bootconfig_key *k = &r->c->keys.at[key];

	if (k->values.n && *k->values.at[0].text)
		reading_write(r, k->values.at[0].at, mem_strdup(row->file),
			      mem_strdup(k->values.at[0].text), false);
}

/* `echo 1 > FILE`, whatever the value is: the kernel looks only whether the key is there. */
static void write_one(struct config_reading *r, const struct row *row, uint32_t key)
{
	reading_write(r, r->c->keys.at[key].at, mem_strdup(row->file), mem_strdup("1"), false);
}

/* A size in bytes, with K, M or G, as buffer_size_kb. The kernel reads no further than the letter,
 * so 512KB is half a megabyte, too. */
static void write_size(struct config_reading *r, const struct row *row, uint32_t key)
{
	const size_t at = reading_position(r, key, 0);
	char *text = reading_join(r, key, ","), *end;
	uint64_t n = strtoull(text, &end, 0);
	const char *unit = *end ? strchr("kKmMgG", *end) : NULL;

	if (unit)
		n = n > UINT64_MAX >> 30 ? UINT64_MAX : n << (10 + 10 * ((unit - "kKmMgG") / 2));
	if (end == text || (*end && !unit) || !n)
		reading_remark(r, at, "%s is no size (4096, 512K, 4M)", text);
	else
		reading_write(r, at, mem_strdup(row->file),
			/* Less than a KiB is one: 0 would be refused. */
			      mem_printf("%" PRIu64, n >> 10 ? n >> 10 : 1), false);
	free(text);
}

/* "PROBE,ARGUMENT,...;PROBE...": commas stand for blanks. */
static void write_probes(struct config_reading *r, const struct row *row, uint32_t key)
{
	char *text = reading_join(r, key, ","), *rest = text;

	for (char *probe; (probe = strsep(&rest, ";"));) {
		for (char *at = probe; (at = strchr(at, ','));)
			*at = ' ';
		if (*probe)
			reading_write(r, reading_position(r, key, 0), mem_strdup(row->file),
				      mem_strdup(probe), true);
	}
	free(text);
}

/* "NAME,EVENT,EVENT...": an instance. */
static void write_instance(struct config_reading *r, const struct row *row, uint32_t key)
{
	char *text = reading_join(r, key, ","), *rest = text;

	r->instance = strsep(&rest, ",");
	for (char *event; (event = strsep(&rest, ","));)
		reading_write(r, reading_position(r, key, 0), mem_strdup(row->file),
			      mem_strdup(event), true);
	r->instance = NULL;
	free(text);
}

/* A key that is known and does nothing here: `file` is the sentence that says why. */
static void remark_key(struct config_reading *r, const struct row *row, uint32_t key)
{
	reading_remark(r, r->c->keys.at[key].at, "%s: %s", row->key, row->file);
}

/* A write to a file of the tree for each value below `file`. */
static void write_files(struct config_reading *r, const struct row *row, uint32_t key)
{
	const struct bootconfig *c = r->c;

	for (uint32_t k = c->keys.at[key].child; k != BOOTCONFIG_NONE; k = c->keys.at[k].next) {
		char *path = *row->file ? mem_printf("%s/%s", row->file, c->keys.at[k].word)
					: mem_strdup(c->keys.at[k].word);
		const struct row below = { c->keys.at[k].word, write_files, path };

		r->known[k] = true;
		for (size_t i = 0; i < c->keys.at[k].values.n; i++)
			reading_write(r, c->keys.at[k].values.at[i].at, mem_strdup(path),
				      mem_strdup(c->keys.at[k].values.at[i].text), true);
		write_files(r, &below, k);
		free(path);
	}
}

/* The node `event` has files of its own. */
static void write_events(struct config_reading *r, const struct row *row, uint32_t key)
{
	config_events(r, key);
}

#define NO_KERNEL "a setting of a booting kernel, which has no meaning for programs"

/* Parameters of the kernel's command line. The last rows are the document's names for parameters
 * that the kernel's code calls otherwise. */
static const struct row parameters[] = {
	{ "trace_options", write_words, "trace_options" },
	{ "trace_clock", write_first, "trace_clock" },
	{ "trace_buf_size", write_size, "buffer_size_kb" },
	{ "tracing_thresh", write_first, "tracing_thresh" },
	{ "kprobe_event", write_probes, "kprobe_events" },
	{ "trace_event", write_words, "set_event" },
	{ "trace_trigger", remark_key, "say ftrace.event.GROUP.EVENT.actions = \"TRIGGER\" instead" },
	{ "trace_instance", write_instance, "set_event" },
	{ "ftrace_filter", write_words, "set_ftrace_filter" },
	{ "ftrace_notrace", write_words, "set_ftrace_notrace" },
	{ "ftrace_graph_filter", write_words, "set_graph_function" },
	{ "ftrace_graph_notrace", write_words, "set_graph_notrace" },
	{ "ftrace_graph_max_depth", write_first, "max_graph_depth" },
	{ "ftrace", write_first, "current_tracer" },
	{ "alloc_snapshot", write_one, "snapshot" },
	{ "stacktrace_filter", write_words, "stack_trace_filter" },
	{ "stacktrace", write_one, "stack_tracer_enabled" },
	{ "tp_printk", remark_key, NO_KERNEL },
	{ "tp_printk_stop_on_boot", remark_key, NO_KERNEL },
	{ "ftrace_dump_on_oops", remark_key, NO_KERNEL },
	{ "traceoff_on_warning", remark_key, NO_KERNEL },
	{ "ftrace_boot_snapshot", remark_key, NO_KERNEL },
	{ "dump_on_oops", remark_key, NO_KERNEL },
	{ "fgraph_filters", write_words, "set_graph_function" },
	{ "fgraph_notraces", write_words, "set_graph_notrace" },
	{ "fgraph_max_depth", write_first, "max_graph_depth" },
	{ NULL, NULL, NULL }
};

/* Keys of ftrace.*, and of ftrace.instance.I.*. */
static const struct row nodes[] = {
	{ "options", write_words, "trace_options" },
	{ "tracing_on", write_first, "tracing_on" },
	{ "trace_clock", write_first, "trace_clock" },
	{ "buffer_size", write_size, "buffer_size_kb" },
	{ "cpumask", write_first, "tracing_cpumask" },
	{ "file", write_files, "" },
	{ "event", write_events, NULL },
	{ "events", write_words, "set_event" },
	{ "ftrace.filters", write_words, "set_ftrace_filter" },
	{ "ftrace.notraces", write_words, "set_ftrace_notrace" },
	{ "ftrace.notrace", write_words, "set_ftrace_notrace" },
	{ "tracer", write_first, "current_tracer" },
	{ "alloc_snapshot", write_one, "snapshot" },
	{ NULL, NULL, NULL }
};

/* In the order of the rows, which is the kernel's, not in that of the text. */
static void write_rows(struct config_reading *r, const struct row *rows, uint32_t key)
{
	for (const struct row *row = rows; row->key; row++) {
		uint32_t k = reading_find(r, key, row->key);

		if (k != BOOTCONFIG_NONE)
			row->write(r, row, k);
	}
}

/* ftrace.instance.I.*: the same keys, for the files of instance I. */
static void write_instances(struct config_reading *r, uint32_t ftrace)
{
	const struct bootconfig *c = r->c;
	uint32_t all = reading_find(r, ftrace, "instance");

	if (all == BOOTCONFIG_NONE)
		return;
	for (uint32_t k = c->keys.at[all].child; k != BOOTCONFIG_NONE; k = c->keys.at[k].next) {
		r->known[k] = true;
		r->instance = c->keys.at[k].word;
		write_rows(r, nodes, k);
	}
	r->instance = NULL;
}

/* --- unknown keys ---------------------------------------------------------------------------- */

/* The nearest key that could stand in its place. */
static const char *nearest_key(const struct bootconfig *c, uint32_t key)
{
	static const char *const words[] = {
		"kernel", "ftrace", "instance", "filters", "notraces", "enable", "filter", "actions",
		"probes", "fields", "hist", "keys", "values", "sort", "size", "name", "var", "pause",
		"continue", "clear", "onmax", "onchange", "onmatch", "trace", "save", "snapshot",
	};
	struct nearest n = { c->keys.at[key].word, NULL, 0 };

	for (const struct row *row = nodes; row->key; row++)
		nearest_offer(&n, row->key);
	for (const struct row *row = parameters; row->key; row++)
		nearest_offer(&n, row->key);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_offer(&n, words[i]);
	return n.best && strcmp(n.best, n.word) ? n.best : NULL;
}

/* A key without a meaning is told once: at the first of its words that has none. The first words of
 * all keys, and those below `kernel`, are other subsystems', unless they look like one of ours. */
static void remark_unknown(struct config_reading *r, uint32_t kernel)
{
	const struct bootconfig *c = r->c;

	for (uint32_t k = 1; k < c->keys.n; k++) {
		const uint32_t parent = c->keys.at[k].parent;
		const char *near = r->known[k] ? NULL : nearest_key(c, k);
		char *path;

		if (r->known[k] || !r->known[parent] || (!near && (!parent || parent == kernel)))
			continue;
		path = bootconfig_path(c, k);
		reading_remark(r, c->keys.at[k].at, "no setting has the key %s%s%s%s", path,
			       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
		free(path);
	}
}

/* A value that begins on a later line than its key, which newer kernels refuse. */
static void remark_later(struct config_reading *r)
{
	const struct bootconfig *c = r->c;

	for (uint32_t k = 1; k < c->keys.n; k++)
		if (c->keys.at[k].values.n && c->keys.at[k].values.at[0].is_later)
			reading_remark(r, c->keys.at[k].values.at[0].at,
				       "the value of %s begins on a later line, which newer kernels "
				       "refuse", c->keys.at[k].word);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* kernel.* before ftrace.*, as the kernel's start has it. Remarks come last. */
void config_writes(const struct bootconfig *c, struct config_writes *w)
{
	struct config_reading r = { .c = c, .to = w };
	uint32_t kernel, ftrace;

	*w = (struct config_writes){ 0 };
	r.known = mem_zalloc(c->keys.n);
	r.known[0] = true;
	kernel = reading_find(&r, 0, "kernel");
	if (kernel != BOOTCONFIG_NONE)
		write_rows(&r, parameters, kernel);
	ftrace = reading_find(&r, 0, "ftrace");
	if (ftrace != BOOTCONFIG_NONE) {
		write_rows(&r, nodes, ftrace);
		write_instances(&r, ftrace);
	}
	remark_unknown(&r, kernel);
	remark_later(&r);
	free(r.known);
}

void config_writes_free(struct config_writes *w)
{
	for (size_t i = 0; i < w->all.n; i++) {
		free(w->all.at[i].instance);
		free(w->all.at[i].file);
		free(w->all.at[i].text);
	}
	for (size_t i = 0; i < w->remarks.n; i++)
		free(w->remarks.at[i].text);
	vec_free(&w->all);
	vec_free(&w->remarks);
}
