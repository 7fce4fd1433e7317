/* SPDX-License-Identifier: MIT */
/* The text of `trace-cmd report` of a function graph: "COMM-TID [CPU] TIME: funcgraph_entry:
 * DURATION | NAME() {", with ";" for a call and its end in one, and "funcgraph_exit:" for an end. A
 * call ends as long after its beginning as its duration says. Called by import.c. Fails on a text
 * without a call. One thread: the command's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/formats.h"

/* A thread's open calls: when they began. */
struct graph_text_thread { uint32_t thread; VEC(uint64_t) begins; };

/* The text has no processes: all threads are of one, the first thread's. */
struct reading_graph {
	struct import_build *build;
	struct number_map of_tid; /* tid + 1 -> place in threads */
	VEC(struct graph_text_thread) threads;
	struct err *err;
};

/* A line's parts. */
struct graph_line {
	struct import_text comm, name;
	uint64_t ns, duration;
	uint32_t tid;
	bool entry, opens;
};

/* "COMM-TID [CPU] ": the name may have blanks and dashes. */
static bool read_thread(struct import_text text, struct graph_line *l)
{
	const char *bracket = memrchr(text.at, '[', (size_t)(text.end - text.at)), *dash;
	struct import_text tid;
	uint64_t n;

	while (text.at < text.end && *text.at == ' ')
		text.at++;
	if (!bracket || bracket <= text.at)
		return false;
	text.end = bracket;
	dash = memrchr(text.at, '-', (size_t)(text.end - text.at));
	if (!dash)
		return false;
	l->comm = (struct import_text){ text.at, dash };
	tid = (struct import_text){ dash + 1, text.end };
	if (!import_number(&tid, 10, &n) || n > UINT32_MAX)
		return false;
	l->tid = (uint32_t)n;
	return true;
}

/* "+ 12.345 us   |": blanks where there is no duration. */
static bool read_duration(struct import_text *text, struct graph_line *l)
{
	const char *bar = memchr(text->at, '|', (size_t)(text->end - text->at));
	struct import_text number = { text->at, bar };
	uint64_t ns = 0;

	if (!bar)
		return false;
	while (number.at < bar && !strchr("0123456789", *number.at))
		number.at++;
	/* A fraction of a unit is read as one of a second, and is a thousandth of it in ns. */
	if (number.at < bar && !import_seconds(&number, &ns))
		return false;
	l->duration = ns / 1000000;
	text->at = bar + 1;
	return true;
}

/* The last ")" that ends a call's parentheses: ";" or " {" follows. What may stand behind is not of
 * the name: what the call returned, "(ret=0x1)", its caller, its depth. NULL: there is none. */
static const char *call_end(struct import_text text)
{
	for (const char *at = text.end; at-- > text.at;)
		if (*at == ')' && (text.end - at >= 2) &&
		    (at[1] == ';' || (text.end - at >= 3 && at[1] == ' ' && at[2] == '{')))
			return at;
	return NULL;
}

/* The parenthesis that `end` closes; within are others, of structures: "p=(STRUCT)[0x1]". An
 * overload's name has some, too: "price(Item)(of=0x1)". NULL: it closes none. */
static const char *opening_of(const char *begin, const char *end)
{
	size_t open = 0;

	for (const char *at = end + 1; at-- > begin;) {
		open += *at == ')';
		if (*at == '(' && !--open)
			return at;
	}
	return NULL;
}

/* "NAME() {", "NAME();", "NAME(a=1); (ret=0x2)" */
static bool read_name(struct import_text text, struct graph_line *l)
{
	const char *end, *open;

	while (text.at < text.end && *text.at == ' ')
		text.at++;
	end = call_end(text);
	open = end ? opening_of(text.at, end) : NULL;
	if (!open || open == text.at)
		return false;
	l->name = (struct import_text){ text.at, open };
	l->opens = end[1] != ';';
	return true;
}

/* False: the line has no call. */
static bool read_graph_line(struct import_text line, struct graph_line *l)
{
	struct import_text before = line, word;

	before.end = before.at;
	do {
		before.end = line.at;
		word = import_word(&line);
		if (word.at == word.end)
			return false;
	} while (!import_seconds(&word, &l->ns) || !import_literal(&word, ":") ||
		 word.at != word.end);
	l->entry = import_literal(&line, "funcgraph_entry:");
	if (!l->entry && !import_literal(&line, "funcgraph_exit:"))
		return false;
	return read_thread(before, l) && read_duration(&line, l) &&
	       (!l->entry || read_name(line, l));
}

/* NULL and *err: there are too many. */
static struct graph_text_thread *thread_of(struct reading_graph *g, const struct graph_line *l)
{
	uint64_t row = number_map_get(&g->of_tid, (uint64_t)l->tid + 1);
	struct graph_text_thread t = { 0 };
	char *comm;

	if (row != NUMBER_NONE)
		return &g->threads.at[row];
	comm = import_copy(l->comm);
	if (!g->build->processes.n)
		import_process(g->build, l->tid, comm);
	t.thread = import_thread(g->build, 0, l->tid, l->tid, comm, g->err);
	free(comm);
	if (t.thread == UINT32_MAX)
		return NULL;
	number_map_set(&g->of_tid, (uint64_t)l->tid + 1, g->threads.n);
	*vec_add(&g->threads) = t;
	return &g->threads.at[g->threads.n - 1];
}

/* The beginning of a call; without { it is all of the call. */
static int enter_call(struct reading_graph *g, struct graph_text_thread *t,
		      const struct graph_line *l)
{
	char *name = import_copy(l->name);
	uint32_t function = import_function(g->build, 0, "trace.dat", name, g->err);

	free(name);
	if (function == UINT32_MAX)
		return -E2BIG;
	import_enter(g->build, t->thread, l->ns, function);
	if (l->opens)
		*vec_add(&t->begins) = l->ns;
	else
		import_leave(g->build, t->thread, l->ns + l->duration);
	return 0;
}

/* An end without a beginning belongs to a call that began before the text. */
static int take_graph_line(struct reading_graph *g, const struct graph_line *l)
{
	struct graph_text_thread *t = thread_of(g, l);

	if (!t)
		return -E2BIG;
	if (l->entry)
		return enter_call(g, t, l);
	if (t->begins.n)
		import_leave(g->build, t->thread, t->begins.at[--t->begins.n] + l->duration);
	return 0;
}

/* Lines that are no calls are counted as left out, but for the head (cpus=N) and empty ones. */
int import_graph_text(struct import_build *b, const struct import_files *files, struct err *err)
{
	struct reading_graph g = { .build = b, .err = err };
	struct import_text text, line;
	int r = files->get(files->of, "", &text, err);

	b->tool = "trace-cmd report";
	while (!r && import_line(&text, &line)) {
		struct graph_line l;

		if (read_graph_line(line, &l))
			r = take_graph_line(&g, &l);
		else if (line.at < line.end && !import_literal(&line, "cpus="))
			b->left_out++;
	}
	if (!r && !b->calls)
		r = err_set(err, ENOEXEC, "it has no call of a function graph");
	for (size_t i = 0; i < g.threads.n; i++)
		vec_free(&g.threads.at[i].begins);
	vec_free(&g.threads);
	number_map_free(&g.of_tid);
	return r;
}
