/* SPDX-License-Identifier: MIT */
/* Reads DOT: graph attributes, nodes, edges with labels, and subgraphs in braces, which only group
 * here. Called by `brace rv` on its thread (any would do). The text may be anybody's: numbers of
 * states and events have limits, and braces may be nested so deep only. The first fault ends it. */
#include "report/automaton.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Limits, so that nobody's text makes the reader large. The 64 states of AUTOMATON_MOST are the
 * bits of one word, in which a set of states is kept. */
#define DEPTH_MOST 32u
#define NAME_MOST 128u

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_ARROW, TOKEN_SIGN };

/* `text` is a name's, without its quotes; a sign is its character. */
struct token {
	enum token_kind kind;
	const char *at;
	bool quoted;
	char sign, text[2 * NAME_MOST];
};

/* One pass over the text, with one token looked at ahead: Graphviz's grammar of DOT needs no more.
 * Nothing is kept of the text but names. */
struct reader {
	const char *text, *at, *end;
	struct token token;       /* the one that is looked at */
	struct automaton *a;
	struct { char *name, *what; } bound[AUTOMATON_MOST];
	unsigned n_bound, depth;
	bool final[DEPTH_MOST];   /* by depth: nodes have a final state's shape if none is given */
	struct err *err;
};

/* The attributes of a node or an edge that mean something. */
struct attributes {
	bool has_shape, final;
	const char *label_at;
	char label[2 * NAME_MOST];  /* "": none */
};

/* --- words ----------------------------------------------------------------------------------- */

/* The line is what the user sees with the caret. Returns -EINVAL. `at` lies within the text or is
 * its end; the line is counted anew, since it happens once. */
static int refuse(struct reader *r, const char *at, const char *sentence)
{
	const char *begin = at, *end = at;
	unsigned number = 1;
	char *line;
	int e;

	while (begin > r->text && begin[-1] != '\n')
		begin--;
	while (end < r->end && *end != '\n')
		end++;
	for (const char *p = r->text; p < begin; p++)
		number += *p == '\n';
	line = mem_strndup(begin, (size_t)(end - begin));
	e = err_at(r->err, EINVAL, line, (size_t)(at - begin), "line %u: %s", number, sentence);
	free(line);
	return e;
}

/* C's comments, and lines of the preprocessor. A # counts at the beginning of a line only. A
 * comment without an end reaches to that of the text, where the missing brace is told. r->at is
 * before r->end. */
static bool skip_comment(struct reader *r)
{
	const bool block = r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '*';
	const bool line = r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '/';
	const bool hash = *r->at == '#' && (r->at == r->text || r->at[-1] == '\n');

	if (!block && !line && !hash)
		return false;
	for (r->at += block ? 2 : 0; r->at < r->end; r->at++) {
		if (!block && *r->at == '\n')
			break;
		if (block && *r->at == '*' && r->end - r->at > 1 && r->at[1] == '/') {
			r->at += 2;
			break;
		}
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* An ID without quotes, as DOT has it: letters, digits, underscores, and bytes above 0x7f. A point
 * belongs to its numbers. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* Within a quoted name, a backslash stands before a quote of the name, and at the end of a line
 * that goes on. A NUL, which a file may contain, ends the reading like a name that is too long:
 * names are C's strings from here on. */
static int take_quoted(struct reader *r)
{
	struct token *t = &r->token;
	size_t n = 0;

	t->quoted = true;
	for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
		if (*r->at == '\\' && r->end - r->at > 1 && (r->at[1] == '"' || r->at[1] == '\n')) {
			r->at++;
			if (*r->at == '\n')
				continue;
		}
		if (!*r->at || n + 1 == sizeof(t->text))
			return refuse(r, t->at, "this name is too long");
		t->text[n++] = *r->at;
	}
	t->text[n] = '\0';
	if (r->at == r->end)
		return refuse(r, t->at, "this string has no end");
	r->at++;
	return 0;
}

/* A longer name is refused, not cut: two states that differ behind the end would be one. */
static int take_name(struct reader *r)
{
	struct token *t = &r->token;
	size_t n = 0;

	for (; r->at < r->end && is_letter(*r->at); r->at++) {
		if (n + 1 == sizeof(t->text))
			return refuse(r, t->at, "this name is too long");
		t->text[n++] = *r->at;
	}
	t->text[n] = '\0';
	return 0;
}

/* Looks at the next token. 0, or -EINVAL. Token and text are in the reader and are overwritten:
 * whoever needs a name behind the next token copies it first. */
static int advance(struct reader *r)
{
	struct token *t = &r->token;

	while (r->at < r->end && (is_blank(*r->at) || skip_comment(r)))
		r->at += r->at < r->end && is_blank(*r->at);
	t->at = r->at;
	t->quoted = false;
	t->kind = r->at == r->end ? TOKEN_END : TOKEN_NAME;
	if (r->at == r->end)
		return 0;
	if (*r->at == '"')
		return take_quoted(r);
	if (is_letter(*r->at))
		return take_name(r);
	t->kind = r->end - r->at > 1 && !memcmp(r->at, "->", 2) ? TOKEN_ARROW : TOKEN_SIGN;
	t->sign = *r->at;
	r->at += t->kind == TOKEN_ARROW ? 2 : 1;
	return 0;
}

static bool is_sign(const struct reader *r, char sign)
{
	return r->token.kind == TOKEN_SIGN && r->token.sign == sign;
}

/* DOT's keywords are written in any case, and are names in quotes. */
static bool is_word(const struct reader *r, const char *word)
{
	return r->token.kind == TOKEN_NAME && !r->token.quoted && !strcasecmp(r->token.text, word);
}

static int want_sign(struct reader *r, char sign, const char *sentence)
{
	return is_sign(r, sign) ? advance(r) : refuse(r, r->token.at, sentence);
}

/* --- states and events ----------------------------------------------------------------------- */

static const char init[] = "__init_";

/* The convention of the kernel's models (Documentation/trace/rv/deterministic_automata.rst): an
 * edge from the node __init_STATE tells where the automaton begins. The node is no state. */
static bool is_init(const char *name)
{
	return !strncmp(name, init, sizeof(init) - 1);
}

/* Sets *state to that of the name, which is made if there is none. States are found one by one,
 * since there are 64 at most. Their numbers are bits of sets, and stay. */
static int state_of(struct reader *r, const char *at, const char *name, unsigned *state)
{
	struct automaton *a = r->a;

	for (*state = 0; *state < a->states.n; ++*state)
		if (!strcmp(a->states.at[*state], name))
			return 0;
	if (a->states.n == AUTOMATON_MOST)
		return refuse(r, at, "a model has 64 states at most");
	if (!*name || strlen(name) >= NAME_MOST)
		return refuse(r, at, "a state has a name of 1 to 127 characters");
	*vec_add(&a->states) = mem_strdup(name);
	return 0;
}

/* Finds the event's number, or gives it one, by the rules of state_of(). The name is one line of a
 * label, with its length, since no NUL ends it. */
static int event_of(struct reader *r, const char *at, const char *name, size_t n, unsigned *event)
{
	struct automaton *a = r->a;

	for (*event = 0; *event < a->events.n; ++*event)
		if (strlen(a->events.at[*event].name) == n &&
		    !memcmp(a->events.at[*event].name, name, n))
			return 0;
	if (a->events.n == AUTOMATON_MOST)
		return refuse(r, at, "a model has 64 events at most");
	if (!n || n >= NAME_MOST)
		return refuse(r, at, "an event has a name of 1 to 127 characters");
	*vec_add(&a->events) = (struct automaton_event){ .name = mem_strndup(name, n) };
	return 0;
}

/* The label's lines, which end by \n or by a newline, are events. Two edges may have one event and
 * one origin: the automaton is then one that has several next states (verify.c keeps all). A
 * semicolon in a label begins the guard of a hybrid automaton, without which the edge would be
 * taken too often. */
static int add_edge(struct reader *r, unsigned from, unsigned to, const struct attributes *t)
{
	const char *at = t->label;

	if (strchr(at, ';'))
		return refuse(r, t->label_at, "an edge's conditions on clocks are not taken");
	while (*at) {
		const size_t n = strcspn(at, "\n\\");
		unsigned event;
		int e = n || !*at ? event_of(r, t->label_at, at, n, &event) : 0;

		if (e)
			return e;
		if (n)
			r->a->events.at[event].next[from] |= UINT64_C(1) << to;
		at += n;
		at += *at == '\n' ? 1 : *at == '\\' ? 1 + (at[1] != '\0') : 0;
	}
	return 0;
}

/* --- statements ------------------------------------------------------------------------------ */

/* The kernel's tools look for these two shapes in the text (tools/verification, automata.py). */
static bool is_final_shape(const char *shape)
{
	return !strcmp(shape, "doublecircle") || !strcmp(shape, "ellipse");
}

/* Colours, sizes and positions are for those who draw the graph. */
static void take_attribute(struct attributes *t, const char *name, const struct token *value)
{
	if (!strcmp(name, "shape")) {
		t->has_shape = true;
		t->final = is_final_shape(value->text);
	} else if (!strcmp(name, "label")) {
		t->label_at = value->at;
		memcpy(t->label, value->text, sizeof(t->label));
	}
}

static int note_graph_attribute(struct reader *r, const char *at, const char *name);

/* NAME = VALUE at the value. of: NULL: a graph's. */
static int take_value(struct reader *r, const char *at, const char *name, struct attributes *of)
{
	if (r->token.kind != TOKEN_NAME)
		return refuse(r, r->token.at, "a value is wanted here; HTML's is not taken");
	if (of)
		take_attribute(of, name, &r->token);
	else if (note_graph_attribute(r, at, name))
		return -EINVAL;
	return advance(r);
}

/* Lists in brackets, if there are any. */
static int read_attributes(struct reader *r, struct attributes *of)
{
	char name[2 * NAME_MOST];
	int e = 0;

	while (!e && is_sign(r, '[')) {
		e = advance(r);
		while (!e && !is_sign(r, ']')) {
			const char *at = r->token.at;

			if (r->token.kind != TOKEN_NAME)
				return refuse(r, at, "an attribute or ] is wanted here");
			memcpy(name, r->token.text, sizeof(name));
			e = advance(r);
			e = e ? e : want_sign(r, '=', "= is wanted here");
			e = e ? e : take_value(r, at, name, of);
			if (!e && (is_sign(r, ',') || is_sign(r, ';')))
				e = advance(r);
		}
		e = e ? e : advance(r);
	}
	return e;
}

/* The graph's attributes brace_by and brace_EVENT; others are for those who draw it. */
static int note_graph_attribute(struct reader *r, const char *at, const char *name)
{
	static const char begin[] = "brace_";
	static const char *const words[] = { "thread", "process", "all" };
	const char *own = name + sizeof(begin) - 1, *value = r->token.text;

	if (strncmp(name, begin, sizeof(begin) - 1) != 0)
		return 0;
	if (!strcmp(own, "by")) {
		for (unsigned i = 0; i < 3; i++)
			if (!strcmp(words[i], value)) {
				r->a->by = i;
				return 0;
			}
		return refuse(r, r->token.at, "thread, process or all is wanted here");
	}
	if (r->n_bound == AUTOMATON_MOST)
		return refuse(r, at, "more is said of events than a model can have");
	r->bound[r->n_bound].name = mem_strdup(own);
	r->bound[r->n_bound++].what = mem_strdup(value);
	return 0;
}

/* The nodes that an edge leads to, one after another. at: where the edge begins. The edge from
 * __init_ has no event, and needs no label: it only names the first state. Attributes stand behind
 * the whole chain and hold for each of its edges. */
static int read_edge(struct reader *r, const char *at, const char *first)
{
	unsigned chain[AUTOMATON_MOST], n = 0;
	struct attributes t = { 0 };
	const bool begins = is_init(first);
	int e = begins ? 0 : state_of(r, at, first, &chain[n++]);

	while (!e && r->token.kind == TOKEN_ARROW) {
		e = advance(r);
		if (!e && (r->token.kind != TOKEN_NAME || is_init(r->token.text) ||
			   n == AUTOMATON_MOST))
			return refuse(r, r->token.at, "a state is wanted here");
		e = e ? e : state_of(r, r->token.at, r->token.text, &chain[n++]);
		e = e ? e : advance(r);
	}
	e = e ? e : read_attributes(r, &t);
	if (e)
		return e;
	if (begins)
		r->a->first |= UINT64_C(1) << chain[0];
	if (n > 1 && !*t.label)
		return refuse(r, at, "this edge has no label, which is its event");
	for (unsigned i = 1; i < n && !e; i++)
		e = add_edge(r, chain[i - 1], chain[i], &t);
	return e;
}

/* The kernel's hybrid automata tell how long a state may last below its name. Without it the model
 * would allow more than its author meant. Other lines of a label are for those who draw it. */
static bool has_condition(const char *label)
{
	const size_t first = strcspn(label, "\n\\");

	return strpbrk(label + first, "<>=") != NULL;
}

static int read_node(struct reader *r, const char *at, const char *name)
{
	struct attributes t = { 0 };
	unsigned state;
	int e = read_attributes(r, &t);

	if (!e && has_condition(t.label))
		return refuse(r, t.label_at, "a state's conditions on clocks are not taken");
	if (e || is_init(name))
		return e;
	e = state_of(r, at, name, &state);
	if (!e && (t.has_shape ? t.final : r->final[r->depth]))
		r->a->final |= UINT64_C(1) << state;
	return e;
}

/* node, edge or graph, and what holds for all of them. The default of nodes counts for those that
 * are named after it, so that its place in the text matters. */
static int read_defaults(struct reader *r)
{
	const bool node = is_word(r, "node"), graph = is_word(r, "graph");
	struct attributes t = { 0 };
	int e = advance(r);

	e = e ? e : read_attributes(r, graph ? NULL : &t);
	if (node && t.has_shape)
		r->final[r->depth] = t.final;
	return e;
}

/* A name begins a node, an edge, or an attribute of the graph. */
static int read_named(struct reader *r)
{
	const char *at = r->token.at;
	char name[2 * NAME_MOST];
	int e;

	memcpy(name, r->token.text, sizeof(name));
	e = advance(r);
	if (e)
		return e;
	if (is_sign(r, ':'))
		return refuse(r, r->token.at, "ports of nodes are not taken");
	if (r->token.kind == TOKEN_ARROW)
		return read_edge(r, at, name);
	if (!is_sign(r, '='))
		return read_node(r, at, name);
	e = advance(r);
	return e ? e : take_value(r, at, name, NULL);
}

/* A default shape that is set within braces ends with them, as in Graphviz. read_statement() does
 * not call itself: depth is a counter, and braces cost no stack. */
static int begin_group(struct reader *r)
{
	if (r->depth + 1 == DEPTH_MOST)
		return refuse(r, r->token.at, "braces are nested too deep");
	r->depth++;
	r->final[r->depth] = r->final[r->depth - 1];
	return advance(r);
}

/* subgraph [NAME] { ... } is a group, as braces alone are. */
static int read_subgraph(struct reader *r)
{
	int e = advance(r);

	if (!e && r->token.kind == TOKEN_NAME)
		e = advance(r);
	return e ? e : is_sign(r, '{') ? 0 : refuse(r, r->token.at, "{ is wanted here");
}

/* DOT's semicolons are optional: a statement ends where the next one begins. */
static int read_statement(struct reader *r)
{
	if (is_sign(r, ';'))
		return advance(r);
	if (is_word(r, "subgraph"))
		return read_subgraph(r);
	if (is_sign(r, '{'))
		return begin_group(r);
	if (is_sign(r, '}')) {
		r->depth--;
		return advance(r);
	}
	if (is_word(r, "node") || is_word(r, "edge") || is_word(r, "graph"))
		return read_defaults(r);
	if (r->token.kind == TOKEN_NAME)
		return read_named(r);
	return refuse(r, r->token.at,
		      r->token.kind == TOKEN_END ? "the model ends before its last }"
						 : "a state, an edge or } is wanted here");
}

/* --- the whole ------------------------------------------------------------------------------- */

/* [strict] digraph [NAME] { */
static int read_head(struct reader *r)
{
	int e = advance(r);

	if (!e && is_word(r, "strict"))
		e = advance(r);
	if (e)
		return e;
	if (!is_word(r, "digraph"))
		return refuse(r, r->token.at, "a model begins with digraph: DOT, as the kernel's rvgen takes it");
	e = advance(r);
	if (!e && r->token.kind == TOKEN_NAME) {
		r->a->name = mem_strdup(r->token.text);
		e = advance(r);
	}
	if (!r->a->name)
		r->a->name = mem_strdup("model");
	e = e ? e : is_sign(r, '{') ? 0 : refuse(r, r->token.at, "{ is wanted here");
	return e ? e : begin_group(r);
}

/* The graph's attributes that tell of events; each is one of the model. It is done behind the last
 * brace, since an attribute may stand before the edges that have its event. The last word about an
 * event counts. Brace's attributes with another name are refused: a typing error would change what
 * is watched, silently. */
static int bind_events(struct reader *r)
{
	for (unsigned i = 0; i < r->n_bound; i++) {
		struct automaton_event *of = NULL;

		for (size_t k = 0; k < r->a->events.n; k++)
			if (!strcmp(r->a->events.at[k].name, r->bound[i].name))
				of = &r->a->events.at[k];
		if (!of)
			return err_at(r->err, EINVAL, r->bound[i].name, 0,
				      "no edge of the model has this event");
		free(of->what);
		of->what = mem_strdup(r->bound[i].what);
	}
	return 0;
}

/* All faults are found before an automaton is given out: automaton_step() checks nothing. */
static int read_all(struct reader *r)
{
	int e = read_head(r);

	while (!e && r->depth)
		e = read_statement(r);
	if (e)
		return e;
	if (r->token.kind != TOKEN_END)
		return refuse(r, r->token.at, "nothing is wanted behind the last }");
	if (!r->a->first)
		return err_set(r->err, EINVAL,
			       "the model does not say where it begins: an edge from \"__init_STATE\" to \"STATE\" does");
	if (!r->a->events.n)
		return err_set(r->err, EINVAL, "the model has no event: an edge's label is one");
	return bind_events(r);
}

int automaton_read(const char *text, size_t n, struct automaton **out, struct err *err)
{
	struct reader r = { .text = text, .at = text, .end = text + n, .err = err };
	int e;

	r.a = mem_zalloc(sizeof(*r.a));
	e = read_all(&r);
	for (unsigned i = 0; i < r.n_bound; i++) {
		free(r.bound[i].name);
		free(r.bound[i].what);
	}
	if (e)
		automaton_free(r.a);
	else
		*out = r.a;
	return e;
}

void automaton_free(struct automaton *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->states.n; i++)
		free(a->states.at[i]);
	for (size_t i = 0; i < a->events.n; i++) {
		free(a->events.at[i].name);
		free(a->events.at[i].what);
	}
	vec_free(&a->states);
	vec_free(&a->events);
	free(a->name);
	free(a);
}

/* A shift by 64 is undefined in C: the full word is a case of its own. */
uint64_t automaton_all(const struct automaton *a)
{
	return a->states.n == AUTOMATON_MOST ? UINT64_MAX : (UINT64_C(1) << a->states.n) - 1;
}

/* The union of all that each state of the set leads to: the step of an automaton without knowledge
 * of where it is. Each round takes the set's lowest bit away. */
uint64_t automaton_step(const struct automaton *a, uint32_t event, uint64_t states)
{
	const uint64_t *next = a->events.at[event].next;
	uint64_t after = 0;

	for (; states; states &= states - 1)
		after |= next[__builtin_ctzll(states)];
	return after;
}
