/* SPDX-License-Identifier: MIT */
/* The page: the viewer's style and script, what is told about the trace as JSON, and the columns
 * of its lanes, compressed by zlib, which browsers can undo, in base64. Names are the traced
 * program's: they stand only in the JSON, whose "<" are escaped, and in the base64. The page's
 * policy lets no script run but the viewer's own, by its hash, and nothing be loaded. Called by
 * ui/cmd/html.c, on brace's only thread. */
#include "export/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/deflate.h"
#include "export/html_columns.h"
#include "export/html_escape.h"
#include "export/html_page.h"
#include "report/declared.h"
#include "report/losses.h"

struct html_page {
	struct html_job *job;
	struct walk walk;
	struct html_columns columns;
	struct source between; /* the job's source, with a look at the sleeps */
	VEC(uint32_t) row_of;  /* by function of the walk: its row on the page */
	uint32_t rows;
	struct declared *declared;
};

/* --- the columns' bytes --------------------------------------------------------------------- */

/* The deflater, and what comes out of it on its way through base64. */
struct packer {
	struct deflater *deflater;
	struct err *err;
	struct out *out;
	unsigned char left[3]; /* bytes that do not make a group of base64 yet */
	size_t n;
};

/* One group of base64: n of three bytes, as four characters. */
static void put_group(struct out *o, const unsigned char *b, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t v = (uint32_t)b[0] << 16 | (uint32_t)(n > 1 ? b[1] : 0) << 8 | (n > 2 ? b[2] : 0);
	char to[4] = { digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
		       n > 2 ? digits[v & 63] : '=' };

	out_bytes(o, to, sizeof(to));
}

/* deflate_new()'s sink. Collects groups of three bytes; the last one may stay in `left` until
 * pack_columns() ends. */
static int put_base64(void *arg, const unsigned char *b, size_t n)
{
	struct packer *p = arg;

	for (size_t i = 0; i < n; i++) {
		p->left[p->n++] = b[i];
		if (p->n < sizeof(p->left))
			continue;
		put_group(p->out, p->left, p->n);
		p->n = 0;
	}
	return p->out->error;
}

/* parts_read()'s sink: a block of a column. */
static int pack_block(void *arg, const char *bytes, size_t n)
{
	struct packer *p = arg;

	return deflate_add(p->deflater, bytes, n, p->err);
}

/* Column by column, so that like stands by like. zlib finds more repetitions within a column than
 * within a lane. The page undoes this by the bytes of each lane's columns (put_lane()). */
static int pack_columns(const struct html_page *g, struct packer *p, struct err *err)
{
	const size_t lanes = g->columns.lanes.n;
	int r = 0;

	for (unsigned column = 0; column < HTML_COLUMNS && !r; column++)
		for (uint32_t lane = 0; lane < lanes && !r; lane++)
			r = parts_read(&g->columns.parts, lane * HTML_COLUMNS + column, pack_block,
				       p, err);
	if (!r)
		r = deflate_finish(p->deflater, err);
	if (!r && p->n)
		put_group(p->out, p->left, p->n);
	return r;
}

/* The element's text. Memory for zlib is all that may fail here, and reading the columns back. */
static int put_columns(const struct html_page *g, struct err *err)
{
	struct packer p = { .out = g->job->out, .err = err };
	int r;

	p.deflater = deflate_new(put_base64, &p);
	r = pack_columns(g, &p, err);
	deflate_free(p.deflater);
	return r;
}

/* --- functions ------------------------------------------------------------------------------ */

/* Equal functions of several images are one row, as in `brace report`: they have one key. */
struct keyed_function { char *key; uint32_t function; };

/* A function's identity over all images: its file and address, or, in a file that is traced as a
 * library's names alone, file and name. "" for what nothing defines. free() it. */
static char *key_of(const struct walk *w, uint32_t i)
{
	const struct trace_module *m = NULL;
	const struct trace_function *f = walk_function(w, i, &m);
	bool known;

	if (!f)
		return mem_strdup("");
	if (f->library)
		return mem_printf("library %s\n%s", trace_function_file(m, f, &known),
				  m->strings.at + f->name);
	return mem_printf("%s\n%llx", m->path, (unsigned long long)f->vaddr);
}

/* Two functions of one key keep the order of the walk: the page is the same for the same trace. */
static int by_key(const void *a, const void *b)
{
	const struct keyed_function *x = a, *y = b;
	int c = strcmp(x->key, y->key);

	return c ? c : (x->function > y->function) - (x->function < y->function);
}

/* Gives functions with equal keys the same row, in the order of their keys. After the walk, when
 * all functions are known. */
static void number_rows(struct html_page *g)
{
	size_t n = g->walk.functions.n;
	struct keyed_function *all = mem_realloc(NULL, n + 1, sizeof(*all));

	vec_reserve(&g->row_of, n + 1);
	g->row_of.n = n;
	for (uint32_t i = 0; i < n; i++)
		all[i] = (struct keyed_function){ key_of(&g->walk, i), i };
	qsort(all, n, sizeof(*all), by_key);
	for (size_t i = 0; i < n; i++) {
		g->rows += i && strcmp(all[i - 1].key, all[i].key);
		g->row_of.at[all[i].function] = g->rows;
	}
	g->rows += n != 0;
	for (size_t i = 0; i < n; i++)
		free(all[i].key);
	free(all);
}

/* --- what is told about the trace ------------------------------------------------------------ */

/* A text member; NULL is null. */
static void put_name(struct out *o, const char *key, const char *text)
{
	out_printf(o, ",\"%s\":", key);
	json_string(o, text);
}

/* Beyond 2^53 a number would not be exact in JavaScript. */
static void put_u64(struct out *o, const char *key, uint64_t v)
{
	out_printf(o, ",\"%s\":\"%llu\"", key, (unsigned long long)v);
}

/* "[name, file, place]": short, because a trace may have tens of thousands. The place in the source
 * stands there where debug information tells it. */
static void put_function(struct out *o, const struct html_page *g, uint32_t function,
			 struct declared *declared)
{
	const struct walk_function *about = &g->walk.functions.at[function];
	const struct trace_module *m;
	const struct trace_function *f = walk_function(&g->walk, function, &m);
	uint32_t line = 0;
	const char *path = f ? declared_of(declared, m, f, &line) : NULL;
	char *place = path ? mem_printf("%s:%u", path, line) : NULL;

	out_char(o, '[');
	json_string(o, about->text);
	out_char(o, ',');
	json_string(o, about->file);
	if (place) {
		out_char(o, ',');
		json_string(o, place);
	}
	out_char(o, ']');
	free(place);
}

/* A row's name is that of the first function that has it. "rows" leads from a function of the
 * columns to its row. From the last function to the first, so that `first` keeps the first. */
static void put_functions(const struct html_page *g, struct out *o)
{
	uint32_t *first = mem_realloc(NULL, g->rows + 1, sizeof(*first));

	for (uint32_t i = (uint32_t)g->row_of.n; i-- > 0;)
		first[g->row_of.at[i]] = i;
	out_str(o, ",\n\"functions\":[");
	for (uint32_t i = 0; i < g->rows; i++) {
		out_str(o, i ? ",\n" : "");
		put_function(o, g, first[i], g->declared);
	}
	out_str(o, "],\n\"rows\":[");
	for (size_t i = 0; i < g->row_of.n; i++)
		out_printf(o, "%s%u", i ? "," : "", g->row_of.at[i]);
	out_char(o, ']');
	free(first);
}

/* The lanes of the programs' threads, by TID, + 1. */
static struct number_map lanes_by_tid(const struct html_page *g)
{
	struct number_map lanes = { 0 };

	for (uint32_t i = 0; i < g->columns.lanes.n; i++)
		if (!walk_is_kernel(&g->walk, i) && !g->walk.lanes.at[i].coroutine)
			number_map_set(&lanes, 1 + (uint64_t)walk_thread(&g->walk, i)->tid, i);
	return lanes;
}

/* A thread's calls in the kernel stand below those in its program. */
static void put_home(const struct html_page *g, uint32_t i, const struct number_map *homes,
		     struct out *o)
{
	uint64_t home = number_map_get(homes, 1 + (uint64_t)walk_thread(&g->walk, i)->tid);

	if (walk_is_kernel(&g->walk, i) && home != NUMBER_NONE)
		out_printf(o, ",\"home\":%u", (unsigned)home);
}

/* A thread's or coroutine's head: what it is, and how many bytes of each column are its own.
 * Losses of a thread are told with its own stack, not with its coroutines'. */
static void put_lane(const struct html_page *g, uint32_t i, const struct number_map *homes,
		     struct out *o)
{
	const struct html_lane *l = &g->columns.lanes.at[i];
	const struct walk_lane *w = &g->walk.lanes.at[i];
	const struct trace_thread *t = &g->walk.info->threads.at[w->thread];
	/* The page shows the thread's id itself, which the name of a kernel's lane has. */
	char *name = walk_is_kernel(&g->walk, i) ? mem_strndup(trace_thread_name(t), TRACE_COMM)
						 : walk_lane_name(&g->walk, i);

	out_printf(o, "%s{\"thread\":%u,\"coroutine\":%u,\"pid\":%u,\"tid\":%u,\"image\":%u",
		   i ? ",\n" : "", w->thread, w->coroutine, walk_process(&g->walk, i), t->tid,
		   t->image);
	put_name(o, "name", name);
	put_home(g, i, homes, o);
	out_printf(o, ",\"calls\":%llu,\"losses\":%llu,\"events\":%llu,\"states\":%llu",
		   (unsigned long long)l->calls, (unsigned long long)l->losses,
		   (unsigned long long)l->events, (unsigned long long)l->states);
	put_u64(o, "lost", w->coroutine ? 0 : t->lost);
	out_str(o, ",\"bytes\":[");
	for (unsigned c = 0; c < HTML_COLUMNS; c++)
		out_printf(o, "%s%llu", c ? "," : "",
			   (unsigned long long)parts_size(&g->columns.parts, i * HTML_COLUMNS + c));
	out_str(o, "]}");
	free(name);
}

/* Images and events, by their index in the trace, and the lanes in the order of the columns. */
static void put_lists(const struct html_page *g, struct out *o)
{
	struct number_map homes = lanes_by_tid(g);
	const struct trace_info *info = g->walk.info;

	out_str(o, ",\n\"images\":[");
	for (size_t i = 0; i < info->images.n; i++) {
		out_printf(o, "%s{\"pid\":%u", i ? "," : "", info->images.at[i].pid);
		put_name(o, "exe", info->images.at[i].exe);
		put_name(o, "cmdline", info->images.at[i].cmdline);
		out_char(o, '}');
	}
	out_str(o, "],\n\"events\":[");
	for (size_t i = 0; i < info->events.n; i++) {
		out_printf(o, "%s{\"index\":%u", i ? ",\n" : "", info->events.at[i].index);
		put_name(o, "system", info->events.at[i].system);
		put_name(o, "name", info->events.at[i].name);
		out_char(o, '}');
	}
	out_str(o, "],\n\"lanes\":[");
	for (uint32_t i = 0; i < g->columns.lanes.n; i++)
		put_lane(g, i, &homes, o);
	out_char(o, ']');
	number_map_free(&homes);
}

/* All that the page is told, as one JSON object. 64-bit numbers are strings (put_u64()). */
static void put_info(const struct html_page *g, struct out *o)
{
	const struct trace_info *info = g->walk.info;
	const struct losses lost = losses_of(info);

	out_str(o, "{\"schema\":\"brace-html\",\"version\":1");
	put_name(o, "title", g->job->title);
	put_name(o, "host", info->host);
	put_name(o, "kernel", info->kernel);
	put_name(o, "cpu", info->cpu);
	put_name(o, "cmdline", info->cmdline);
	put_name(o, "brace", info->version);
	put_name(o, "tracer", info->tracer);
	put_u64(o, "hz", info->clock.hz ? info->clock.hz : UINT64_C(1000000000));
	put_u64(o, "begin_ns", trace_clock_ns(&info->clock, g->columns.begin));
	put_u64(o, "real_ns", info->clock.real_ns - info->clock.mono_ns +
				      trace_clock_ns(&info->clock, g->columns.begin));
	put_u64(o, "records", lost.records);
	put_u64(o, "lost", lost.lost);
	put_u64(o, "thresh_ns", info->thresh_ns);
	out_printf(o, ",\"calls\":%llu", (unsigned long long)g->walk.counts.calls);
	/* Calls of the whole trace, if the page has a part; 0: not known, or it has all. */
	put_u64(o, "of_calls", g->job->is_part ? info->total.calls : 0);
	put_u64(o, "min_ns", g->job->min_ns);
	out_printf(o, ",\"part\":%s", g->job->is_part ? "true" : "false");
	put_functions(g, o);
	put_lists(g, o);
	out_str(o, "}\n");
}

/* put_info(), with every < of it written as an escape. */
static void put_about_escaped(const struct html_page *g)
{
	struct out json;

	out_init(&json, html_escape_json, g->job->out);
	put_info(g, &json);
	out_flush(&json);
	out_free(&json);
}

/* --- the page ------------------------------------------------------------------------------- */

/* The page. The policy stands first, before any byte that comes from the trace. No byte of the
 * trace stands in an element that a browser would run: the script has a hash in the policy, and
 * base64 has no <. */
static int put_page(const struct html_page *g, struct err *err)
{
	struct out *o = g->job->out;
	int r;

	out_str(o, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
	out_str(o, "script-src 'sha256-" HTML_SCRIPT_HASH "'; style-src 'sha256-" HTML_STYLE_HASH
		   "'; base-uri 'none'; form-action 'none'\">\n");
	out_str(o, "<meta name=\"viewport\" content=\"width=device-width\">\n"
		   "<title>brace</title>\n<style>");
	out_str(o, html_style);
	out_str(o, "</style></head>\n<body>\n"
		   "<noscript>This page shows a trace, and needs JavaScript.</noscript>\n"
		   "<script type=\"application/json\" id=\"about\">\n");
	put_about_escaped(g);
	out_str(o, "</script>\n<script type=\"text/plain\" id=\"columns\">");
	r = put_columns(g, err);
	out_str(o, "</script>\n<script>");
	out_str(o, html_script);
	out_str(o, "</script>\n</body></html>\n");
	return r ? r : o->error;
}

/* Threads' sleeps are part of no walk: they are noted as they come by. Sleeps are events of the
 * source that the walk passes over. -errno ends the walk, as a fault of the source does. */
static int next_between(struct source *s, struct event *out, struct err *err)
{
	struct html_page *g = (struct html_page *)((char *)s - offsetof(struct html_page, between));
	struct source *from = g->job->source;
	int r = from->ops->next(from, out, err);

	if (r > 0 && out->kind == EVENT_SLEPT && out->thread < from->info->threads.n) {
		int e = html_columns_slept(&g->columns, walk_thread_lane(&g->walk, out->thread),
					   out->begin, out->count);

		return e ? e : r;
	}
	return r;
}

static const struct source_ops between_ops = { .next = next_between };

int html_write(struct html_job *job, struct err *err)
{
	struct html_page g = { .job = job,
			  .between = { .ops = &between_ops, .info = job->source->info } };
	int r;

	g.declared = declared_new();
	walk_init(&g.walk, &g.between);
	g.walk.wants_arguments = true;
	g.walk.stop = job->stop;
	html_columns_init(&g.columns, &g.walk, err);
	r = walk_run(&g.walk, html_columns_take, &g.columns, err);
	if (!r)
		/* Calls of the system and waits that are open at the end are told now. */
		r = html_columns_end(&g.columns);
	if (!r) {
		number_rows(&g);
		r = put_page(&g, err);
	}
	if (!r)
		r = declared_failure(g.declared, err);
	job->counts = g.walk.counts;
	job->lanes = g.columns.lanes.n;
	html_columns_free(&g.columns);
	walk_free(&g.walk);
	vec_free(&g.row_of);
	declared_free(g.declared);
	return r;
}
