/* SPDX-License-Identifier: MIT */
/* Explains why a function that the user named is not there, or cannot be hooked, in one sentence.
 * ui/missing.c and instance/refusal.c ask when a filter selects nothing; on their thread. Reading
 * debug information may fail, and take a second for a large program. */
#include "hook/why.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/path.h"
#include "sym/inlined.h"

/* A sentence should fit two or three lines of a terminal. */
#define COPIES_SHOWN 3
#define CALLERS_OFFERED 6
#define NAMES_OFFERED 4

/* A string that grows. */
struct why_text {
	VEC(char) chars;
};

static void add_text(struct why_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_text(struct why_text *t, const char *fmt, ...)
{
	va_list ap;
	char *piece;
	size_t n;

	va_start(ap, fmt);
	piece = mem_vprintf(fmt, ap);
	va_end(ap);
	n = strlen(piece);
	vec_reserve(&t->chars, t->chars.n + n + 1);
	memcpy(t->chars.at + t->chars.n, piece, n + 1);
	t->chars.n += n;
	free(piece);
}

const char *why_spell(const struct sym_module *m, const struct sym_function *f, char *out, size_t n)
{
	const char *symbol = sym_name(m, f);

	if (symbol)
		demangle(symbol, out, n);
	else
		snprintf(out, n, "%s+0x%llx", path_file_name(m->path),
			 (unsigned long long)f->vaddr);
	return out;
}

/* True if the user may mean the function by the name: the symbol, or its spelling with or without
 * arguments. */
static bool is_name(const struct sym_module *m, const struct sym_function *f, const char *name)
{
	const char *symbol = sym_name(m, f);
	struct demangle_spellings spellings;
	bool same = false;

	if (f->cold)
		return false;
	if (!symbol) {
		char place[512];

		return !strcmp(why_spell(m, f, place, sizeof(place)), name);
	}
	demangle_spell(symbol, &spellings);
	for (unsigned i = 0; i < spellings.n; i++)
		same |= !strcmp(spellings.at[i], name);
	demangle_spellings_free(&spellings);
	return same || !strcmp(symbol, name);
}

bool why_has_function(const struct sym_module *m, const char *name)
{
	for (size_t i = 0; i < m->functions.n; i++)
		if (is_name(m, &m->functions.at[i], name))
			return true;
	return false;
}

/* DWARF has names without their scopes: "node::Start" -> "Start". Operators and templates stay
 * whole. */
static const char *unscoped_name(const char *name)
{
	const char *last = name;

	for (const char *p = strstr(name, "::"); p; p = strstr(p + 2, "::"))
		last = p + 2;
	return strpbrk(last, "<>()") ? name : last;
}

/* "3 copies, in a() at x.c:12, ..., and 1 body of its own" */
static void add_copies(struct why_text *t, const struct sym_inlined *in)
{
	add_text(t, "%zu cop%s, in", in->copies.n, in->copies.n == 1 ? "y" : "ies");
	for (size_t i = 0; i < in->copies.n && i < COPIES_SHOWN; i++) {
		const struct sym_inline_copy *c = &in->copies.at[i];

		add_text(t, "%s %s()", i ? "," : "", c->caller ? c->caller : "?");
		if (c->file)
			add_text(t, " at %s:%u", path_file_name(c->file), c->line);
	}
	if (in->copies.n > COPIES_SHOWN)
		add_text(t, ", ...");
	if (in->bodies)
		add_text(t, ", and %u bod%s of its own", in->bodies, in->bodies == 1 ? "y" : "ies");
	else
		add_text(t, ", and no body of its own");
}

/* True if an earlier copy has the same caller: each is offered once. */
static bool offered_before(const struct sym_inlined *in, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (in->copies.at[j].caller &&
		    !strcmp(in->copies.at[j].caller, in->copies.at[i].caller))
			return true;
	return false;
}

/* Offers the callers that can be traced themselves. */
static void add_callers(struct why_text *t, const struct sym_module *m,
			const struct sym_inlined *in)
{
	int offered = 0;

	for (size_t i = 0; i < in->copies.n && offered < CALLERS_OFFERED; i++) {
		const char *caller = in->copies.at[i].caller;

		if (!caller || offered_before(in, i) || !why_has_function(m, caller))
			continue;
		add_text(t, "%s -l %s", offered ? "" : "; trace the callers:", caller);
		offered++;
	}
}

/* Offers names like the one that was not found. */
static void add_nearest(struct why_text *t, const struct sym_module *m, const char *name)
{
	const char *near[NAMES_OFFERED];
	size_t n = sym_nearest(m, name, near, NAMES_OFFERED);

	for (size_t i = 0; i < n; i++)
		add_text(t, "%s %s", i ? "," : "; nearest names:", near[i]);
}

/* Says what to install, so that the next answer can be better. */
static void add_no_debug(struct why_text *t, const char *package)
{
	add_text(t,
		 ", and brace cannot know whether it was inlined: no debug information (install ");
	if (package)
		add_text(t, "%s-dbgsym", package);
	else
		add_text(t, "its -dbgsym package");
	add_text(t, ", or build with -g)");
}

/* Writes the sentence: inlined, without code, or not there at all. */
static void explain_module(struct why_text *t, const struct sym_module *m, const char *name,
		    const char *package, const struct sym_inlined *in)
{
	const char *file = path_file_name(m->path);

	if (in->copies.n) {
		add_text(t, "`%s` is inlined: ", name);
		add_copies(t, in);
		add_callers(t, m, in);
	} else if (in->known) {
		add_text(
			t,
			"`%s` has no code in %s: it is declared, but never called or all optimised "
			"away",
			name, file);
	} else {
		add_text(t, "there is no function `%s` in %s", name, file);
		if (!in->has_dwarf && !in->left_out)
			add_no_debug(t, package);
		add_nearest(t, m, name);
	}
	if (in->left_out)
		add_text(t, "; %s", in->left_out);
}

/* The sentence stays NULL where there is nothing to explain: a function that is there and has no
 * inlined copies. */
int why_find(const struct sym_module *m, const char *name, const char *package, struct why *out,
	     struct err *err)
{
	struct sym_inlined in = { 0 };
	struct why_text t = { 0 };
	int e = sym_inlined_find(m, unscoped_name(name), &in, err);

	*out = (struct why){ .there = why_has_function(m, name) };
	if (e)
		return e;
	if (!out->there || in.copies.n)
		explain_module(&t, m, name, package, &in);
	out->sentence = t.chars.at;
	sym_inlined_free(&in);
	return 0;
}

void why_free(struct why *w)
{
	free(w->sentence);
}

/* --- functions that are there, and cannot be hooked --- */

/* Cold fragments are not counted: they are parts of functions, and nobody names them. */
void why_count(const struct hook_module *m, bool (*select)(const char *name, void *arg), void *arg,
	       struct why_hooks *out)
{
	char name[4096];

	*out = (struct why_hooks){ 0 };
	for (uint32_t i = 0; i < m->n; i++) {
		const struct hook_plan_entry *e = &m->entries[i];

		hook_function_name(m, i, name, sizeof(name));
		if (e->reason == REASON_COLD || !select(name, arg))
			continue;
		if (e->kind == HOOK_NONE && !out->refused++)
			out->reason = e->reason;
		out->hooked += e->kind != HOOK_NONE;
	}
}

/* NULL if at least one function is hooked: then the name works. The caller frees the sentence. */
char *why_refused(const struct why_hooks *w, const char *name)
{
	const char *word = hook_reason_words[w->reason], *text = hook_reason_texts[w->reason];

	if (w->hooked || !w->refused)
		return NULL;
	if (w->refused == 1)
		return mem_printf("`%s` cannot be hooked: %s (%s)", name, word, text);
	return mem_printf(
		"none of the %u functions that `%s` means can be hooked: the first is %s (%s)",
		w->refused, name, word, text);
}
