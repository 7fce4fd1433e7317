/* SPDX-License-Identifier: MIT */
/* Reads what a model says of its events. Called by `brace rv` on its thread (any would do); the
 * text may be anybody's. The first fault ends it. */
#include "report/automaton_bindings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A newline is a blank, because DOT lets a string go over several lines. */
static const char blanks[] = " \t\n";

/* A word of the text, which ends at a blank or at |. */
struct binding_word { const char *at; size_t n; };

/* Length 0: the text ends here, or a | stands here. *at moves behind the word, and not behind the
 * |, which read_event() takes. */
static struct binding_word next_word(const char **at)
{
	struct binding_word w;

	*at += strspn(*at, blanks);
	w = (struct binding_word){ *at, strcspn(*at, " \t\n|") };
	*at += w.n;
	return w;
}

/* Words are parts of the model's text, without a NUL behind them. */
static bool is_word(struct binding_word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.at, text, w.n);
}

/* FUNCTION, FUNCTION%return or SYSTEM:EVENT. Marks are taken off from the end: %return, then the ?
 * of a function that need not be there. The reading of w.at beyond w.n is safe: the text ends with
 * a NUL. */
static int read_what(const char *text, struct binding_word w, struct binding *b, struct err *err)
{
	static const char end[] = "%return";
	const char *colon = memchr(w.at, ':', w.n);
	const size_t n_end = sizeof(end) - 1;

	/* C++'s names have two colons. */
	if (colon && colon[1] == ':')
		colon = NULL;
	if (!w.n)
		return err_at(err, EINVAL, text, (size_t)(w.at - text),
			      "FUNCTION, FUNCTION%%return or SYSTEM:EVENT is wanted here");
	if (colon && (colon == w.at || colon + 1 == w.at + w.n))
		return err_at(err, EINVAL, text, (size_t)(colon - text),
			      "an event is SYSTEM:EVENT");
	if (colon) {
		b->system = mem_strndup(w.at, (size_t)(colon - w.at));
		b->name = mem_strndup(colon + 1, (size_t)(w.at + w.n - colon - 1));
		return 0;
	}
	b->returns = w.n > n_end && !memcmp(w.at + w.n - n_end, end, n_end);
	w.n -= b->returns ? n_end : 0;
	b->handler = is_word(w, "%handler");
	if (b->handler)
		return 0;
	b->optional = w.n && w.at[w.n - 1] == '?';
	w.n -= b->optional;
	b->function = mem_strndup(w.at, w.n);
	return w.n ? 0 : err_at(err, EINVAL, text, (size_t)(w.at - text), "a function has a name");
}

/* The values depend on the thing whose key it is. $retval is known at the return alone. ? is for a
 * key alone: an event whose object nobody can tell. */
static int read_key(const char *text, struct binding_word w, const struct binding *b,
		    struct binding_key *key, struct err *err)
{
	const bool argument = w.n == 5 && !memcmp(w.at, "$arg", 4) && w.at[4] >= '1' && w.at[4] <= '6';

	if (is_word(w, "?") && key == &b->key)
		*key = (struct binding_key){ .kind = BINDING_UNKNOWN };
	else if (b->function && argument)
		*key = (struct binding_key){ BINDING_ARGUMENT, (unsigned)(w.at[4] - '1'), NULL };
	else if (b->function && b->returns && is_word(w, "$retval"))
		*key = (struct binding_key){ .kind = BINDING_RETVAL };
	else if (b->name && w.n && *w.at != '$')
		*key = (struct binding_key){ BINDING_FIELD, 0, mem_strndup(w.at, w.n) };
	else
		return err_at(err, EINVAL, text, (size_t)(w.at - text), "%s",
			      b->handler   ? "a handler has no key"
			      : !b->function ? "a field of the event is wanted here"
			      : b->returns ? "$arg1 to $arg6 or $retval is wanted here"
					   : "$arg1 to $arg6 is wanted here; $retval is known at FUNCTION%return");
	return 0;
}

/* Reads one of the bindings that | separates; *at moves behind it. key, if and outside may come in
 * any order, since each begins with a word of its own. */
static int read_one(const char *text, const char **at, struct binding *b, struct err *err)
{
	int e = read_what(text, next_word(at), b, err);

	while (!e) {
		struct binding_word w = next_word(at);

		if (!w.n)
			break;
		if (is_word(w, "key") && b->key.kind == BINDING_NOTHING) {
			e = read_key(text, next_word(at), b, &b->key, err);
		} else if (is_word(w, "if") && b->condition.kind == BINDING_NOTHING) {
			w = next_word(at);
			b->negated = w.n && *w.at == '!';
			w.at += b->negated;
			w.n -= b->negated;
			e = read_key(text, w, b, &b->condition, err);
		} else if (is_word(w, "outside") && b->function) {
			b->outside = true;
		} else {
			e = err_at(err, EINVAL, text, (size_t)(w.at - text),
				   "key, if, outside or | is wanted here, each once");
		}
	}
	return e;
}

/* An event without an attribute of its own is bound by its name: a model whose events are functions
 * needs nothing else. The comparison with the first binding keeps keyed objects and those of
 * threads out of one model. */
static int read_event(const struct automaton *a, uint32_t event, struct automaton_bindings *out,
		      struct err *err)
{
	const char *text = a->events.at[event].what ? a->events.at[event].what
						    : a->events.at[event].name;
	const char *at = text;
	int e = 0;

	do {
		struct binding *b = vec_add(&out->at);

		at += *at == '|';
		*b = (struct binding){ .event = event };
		e = read_one(text, &at, b, err);
		if (!e && out->at.n > 1 &&
		    (b->key.kind == BINDING_NOTHING) == (out->at.at[0].key.kind != BINDING_NOTHING))
			e = err_at(err, EINVAL, text, 0,
				   "either all events of a model have a key, or none has");
	} while (!e && *at == '|');
	return e;
}

/* After a failure too automaton_bindings_free() is called: texts of bindings that were read are in
 * *out. */
int automaton_bindings_read(const struct automaton *a, struct automaton_bindings *out,
			    struct err *err)
{
	int e = 0;

	*out = (struct automaton_bindings){ 0 };
	for (uint32_t i = 0; i < a->events.n && !e; i++)
		e = read_event(a, i, out, err);
	out->keyed = out->at.n && out->at.at[0].key.kind != BINDING_NOTHING;
	return e;
}

void automaton_bindings_free(struct automaton_bindings *b)
{
	for (size_t i = 0; i < b->at.n; i++) {
		free(b->at.at[i].function);
		free(b->at.at[i].system);
		free(b->at.at[i].name);
		free(b->at.at[i].key.field);
		free(b->at.at[i].condition.field);
	}
	vec_free(&b->at);
}
