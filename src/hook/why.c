/* SPDX-License-Identifier: MIT */
#include "hook/why.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "sym/inlined.h"

#define COPIES_SHOWN 3
#define CALLERS_OFFERED 6
#define NAMES_OFFERED 4

/* Text that grows. */
struct text {
	VEC(char) chars;
};

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *fmt, ...)
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

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *why_spell(const struct sym_module *m, const struct sym_function *f, char *out, size_t n)
{
	const char *symbol = sym_name(m, f);

	if (symbol)
		demangle(symbol, out, n);
	else
		snprintf(out, n, "%s+0x%llx", last_component(m->path), (unsigned long long)f->vaddr);
	return out;
}

static bool is_name(const struct sym_module *m, const struct sym_function *f, const char *name)
{
	const char *symbol = sym_name(m, f);
	char spelled[1024];

	if (f->cold)
		return false;
	if (symbol && (!strcmp(symbol, name) || !demangle_is_mangled(symbol)))
		return !strcmp(symbol, name);
	if (!strcmp(why_spell(m, f, spelled, sizeof(spelled)), name))
		return true;
	return symbol && (demangle_whole(symbol, spelled, sizeof(spelled)), !strcmp(spelled, name));
}

bool why_has_function(const struct sym_module *m, const char *name)
{
	for (size_t i = 0; i < m->functions.n; i++)
		if (is_name(m, &m->functions.at[i], name))
			return true;
	return false;
}

/* DWARF has names without their scopes: "node::Start" -> "Start". */
static const char *unscoped(const char *name)
{
	const char *last = name;

	for (const char *p = strstr(name, "::"); p; p = strstr(p + 2, "::"))
		last = p + 2;
	return strpbrk(last, "<>()") ? name : last;
}

/* "3 copies, in a() at x.c:12, ..., and 1 body of its own" */
static void add_copies(struct text *t, const struct sym_inlined *in)
{
	add(t, "%zu cop%s, in", in->copies.n, in->copies.n == 1 ? "y" : "ies");
	for (size_t i = 0; i < in->copies.n && i < COPIES_SHOWN; i++) {
		const struct sym_inline_copy *c = &in->copies.at[i];

		add(t, "%s %s()", i ? "," : "", c->caller ? c->caller : "?");
		if (c->file)
			add(t, " at %s:%u", last_component(c->file), c->line);
	}
	if (in->copies.n > COPIES_SHOWN)
		add(t, ", ...");
	if (in->bodies)
		add(t, ", and %u bod%s of its own", in->bodies, in->bodies == 1 ? "y" : "ies");
	else
		add(t, ", and no body of its own");
}

static bool offered_before(const struct sym_inlined *in, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (in->copies.at[j].caller &&
		    !strcmp(in->copies.at[j].caller, in->copies.at[i].caller))
			return true;
	return false;
}

/* The callers that can be traced themselves. */
static void add_callers(struct text *t, const struct sym_module *m, const struct sym_inlined *in)
{
	int offered = 0;

	for (size_t i = 0; i < in->copies.n && offered < CALLERS_OFFERED; i++) {
		const char *caller = in->copies.at[i].caller;

		if (!caller || offered_before(in, i) || !why_has_function(m, caller))
			continue;
		add(t, "%s -l %s", offered ? "" : "; trace the callers:", caller);
		offered++;
	}
}

static void add_nearest(struct text *t, const struct sym_module *m, const char *name)
{
	const char *near[NAMES_OFFERED];
	size_t n = sym_nearest(m, name, near, NAMES_OFFERED);

	for (size_t i = 0; i < n; i++)
		add(t, "%s %s", i ? "," : "; nearest names:", near[i]);
}

static void add_no_debug(struct text *t, const char *package)
{
	add(t, ", and brace cannot know whether it was inlined: no debug information (install ");
	if (package)
		add(t, "%s-dbgsym", package);
	else
		add(t, "its -dbgsym package");
	add(t, ", or build with -g)");
}

static void explain(struct text *t, const struct sym_module *m, const char *name,
		    const char *package, const struct sym_inlined *in)
{
	const char *file = last_component(m->path);

	if (in->copies.n) {
		add(t, "`%s` is inlined: ", name);
		add_copies(t, in);
		add_callers(t, m, in);
	} else if (in->known) {
		add(t, "`%s` has no code in %s: it is declared, but never called or all optimised "
		       "away", name, file);
	} else {
		add(t, "there is no function `%s` in %s", name, file);
		if (!in->has_dwarf && !in->left_out)
			add_no_debug(t, package);
		add_nearest(t, m, name);
	}
	if (in->left_out)
		add(t, "; %s", in->left_out);
}

int why_find(const struct sym_module *m, const char *name, const char *package, struct why *out,
	     struct err *err)
{
	struct sym_inlined in = { 0 };
	struct text t = { 0 };
	int e = sym_inlined_find(m, unscoped(name), &in, err);

	*out = (struct why){ .there = why_has_function(m, name) };
	if (e)
		return e;
	if (!out->there || in.copies.n)
		explain(&t, m, name, package, &in);
	out->sentence = t.chars.at;
	sym_inlined_free(&in);
	return 0;
}

void why_free(struct why *w)
{
	free(w->sentence);
}

/* --- what is there, and cannot be hooked ---------------------------------------------- */

void why_count(const struct hook_module *m, bool (*select)(const char *name, void *arg), void *arg, struct why_hooks *out)
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

char *why_refused(const struct why_hooks *w, const char *name)
{
	const char *word = hook_reason_words[w->reason], *text = hook_reason_texts[w->reason];

	if (w->hooked || !w->refused)
		return NULL;
	if (w->refused == 1)
		return mem_printf("`%s` cannot be hooked: %s (%s)", name, word, text);
	return mem_printf("none of the %u functions that `%s` means can be hooked: the first is %s (%s)", w->refused, name, word, text);
}
