/* SPDX-License-Identifier: MIT */
/* Reads the kernel's symbols once for each run, on brace's thread. Symbols of modules follow those
 * of the kernel in the text, so that they are sorted here. source.c and others ask. Without
 * addresses (kptr_restrict) it fails with a sentence; an address in no symbol has no name. */
#include "kernel/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/record.h"

/* A line "ADDRESS TYPE NAME[\t[MODULE]]"; order: the line's number. */
struct symbol { uint64_t address; const char *name; size_t n, order; };
typedef VEC(struct symbol) symbol_list;

/* qsort(3) is not stable: aliases keep the order of the file by their numbers. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Symbols of the padding before functions (CONFIG_CALL_PADDING), where no call leads. */
#define PADDING "__pfx_"

/* Returns the first character that is no digit. The C library's functions may look at all of the
 * text, which has 5 MB, for each of its lines (AddressSanitizer's do). */
static const char *read_hex(const char *at, const char *end, uint64_t *out)
{
	for (*out = 0; at < end && isxdigit((unsigned char)*at); at++)
		*out = *out << 4 | (uint64_t)(*at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10);
	return at;
}

/* False: the line is no symbol of a function, or the kernel hides its address. nm's letters: t and
 * T for text, w and W for weak symbols, which functions with several definitions have. Data has
 * others. */
static bool read_line(const char *line, size_t n, struct symbol *out)
{
	const char *end = read_hex(line, line + n, &out->address);

	if (!out->address || end + 3 >= line + n || *end != ' ' || end[2] != ' ' ||
	    !strchr("tTwW", end[1]))
		return false;
	out->name = end + 3;
	out->n = n - (size_t)(out->name - line);
	return strncmp(out->name, PADDING, strlen(PADDING)) != 0;
}

/* Names stay where they are in the text, which lives as long as the list. */
static void read_symbols(const char *text, symbol_list *out)
{
	const char *end = text + strlen(text), *newline;

	for (; text < end; text = newline + 1) {
		struct symbol s = { .order = out->n };

		newline = memchr(text, '\n', (size_t)(end - text));
		if (!newline)
			newline = end;
		if (read_line(text, (size_t)(newline - text), &s))
			*vec_add(out) = s;
	}
	qsort(out->at, out->n, sizeof(*out->at), compare_symbols);
}

/* /proc/kallsyms has a tab before the name of a module, which would break columns. */
static void add_string(struct trace_module *m, const char *s, size_t n)
{
	vec_reserve(&m->strings, m->strings.n + n + 1);
	for (size_t i = 0; i < n; i++)
		m->strings.at[m->strings.n + i] = s[i] == '\t' ? ' ' : s[i];
	m->strings.at[m->strings.n + n] = '\0';
	m->strings.n += n + 1;
}

/* A symbol at a section's beginning or end, "__irqentry_text_start", has a function's address. */
static bool is_marker(const struct symbol *s)
{
	return s->n > 10 && !strncmp(s->name, "__", 2) &&
	       (!strncmp(s->name + s->n - 11, "_text_start", 11) ||
		!strncmp(s->name + s->n - 9, "_text_end", 9));
}

/* Puts markers before the functions at their address, so that an address finds the function. */
static void sort_markers(symbol_list *l)
{
	for (size_t i = 1; i < l->n; i++)
		for (size_t k = i; k && is_marker(&l->at[k]) && !is_marker(&l->at[k - 1]) &&
				   l->at[k].address == l->at[k - 1].address; k--) {
			struct symbol s = l->at[k];

			l->at[k] = l->at[k - 1];
			l->at[k - 1] = s;
		}
}

/* Each function goes on to the next one's beginning. */
static void add_functions(struct trace_module *m, const symbol_list *symbols)
{
	*vec_add(&m->strings) = '\0';
	for (size_t i = 0; i < symbols->n; i++) {
		const struct symbol *s = &symbols->at[i];
		size_t last = m->functions.n;

		if (last && m->functions.at[last - 1].vaddr == s->address &&
		    !is_marker(&symbols->at[i - 1]))
			continue;
		if (last) {
			uint64_t size = s->address - m->functions.at[last - 1].vaddr;

			m->functions.at[last - 1].size = size < UINT32_MAX ? (uint32_t)size
									   : UINT32_MAX;
		}
		*vec_add(&m->functions) = (struct trace_function){
			.vaddr = s->address, .name = (uint32_t)m->strings.n, .size = 1,
		};
		add_string(m, s->name, s->n);
	}
}

/* The kernel writes zeros then. */
bool kernel_symbols_hidden(const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strtoull(text, NULL, 16))
			return false;
	return true;
}

int kernel_symbols_read(struct trace_module *out, const char *text, struct err *err)
{
	symbol_list symbols = { 0 };

	read_symbols(text, &symbols);
	if (!symbols.n)
		return err_set(err, ENOENT,
			       "/proc/kallsyms tells no addresses: sysctl kernel.kptr_restrict=1");
	sort_markers(&symbols);
	*out = (struct trace_module){ .first_id = 1, .start = symbols.at[0].address,
				      .end = UINT64_MAX };
	add_functions(out, &symbols);
	vec_free(&symbols);
	return 0;
}

void kernel_symbols_free(struct trace_module *m)
{
	vec_free(&m->functions);
	vec_free(&m->strings);
}

/* All of the kernel's modules (of a trace) have one path: it tells readers that no file is behind
 * them. */
static struct trace_module *add_module(struct trace_info *info, uint32_t image,
				       const struct trace_module *m)
{
	struct trace_module *to = vec_add(&info->modules);

	*to = *m;
	to->image = image;
	to->path = mem_strdup(TRACE_KERNEL_EXE);
	to->name = mem_strdup("kernel");
	return to;
}

int kernel_symbols_add(struct trace_info *info, const char *text, struct err *err)
{
	struct trace_module m;
	int e = kernel_symbols_read(&m, text, err);

	if (e)
		return e;
	add_module(info, trace_info_add_kernel(info), &m);
	return (int)info->modules.n - 1;
}

uint32_t kernel_symbols_at(const struct trace_module *m, uint64_t address)
{
	size_t n = vec_bisect(&m->functions, f, f->vaddr <= address);

	if (!n || address - m->functions.at[n - 1].vaddr >= m->functions.at[n - 1].size)
		return 0;
	return m->first_id + (uint32_t)n - 1;
}

/* --- those that records name -------------------------------------------------------------- */

#define NOT_NAMED 0u
#define NAMED UINT32_MAX /* it gets its id when the module is made */

void kernel_used_init(struct kernel_used *u, const struct trace_module *all)
{
	*u = (struct kernel_used){ .all = all, .next_id = 1 };
	vec_reserve(&u->ids, all->functions.n + 1);
	while (u->ids.n <= all->functions.n)
		*vec_add(&u->ids) = NOT_NAMED;
	/* By these readers know which functions interrupts enter. */
	for (size_t i = 0; i < all->functions.n; i++) {
		const char *name = all->strings.at + all->functions.at[i].name;

		if (!strcmp(name, "__irqentry_text_start") || !strcmp(name, "__irqentry_text_end"))
			kernel_used_note(u, (uint32_t)i + 1);
	}
}

void kernel_used_free(struct kernel_used *u)
{
	vec_free(&u->ids);
	vec_free(&u->fresh);
}

/* Called for each record: the common case is one comparison, of a function that is named
 * already. */
void kernel_used_note(struct kernel_used *u, uint32_t id)
{
	if (!id || id >= u->ids.n || u->ids.at[id] != NOT_NAMED)
		return;
	u->ids.at[id] = NAMED;
	*vec_add(&u->fresh) = id;
}

/* Ids were given in the order of addresses (kernel_symbols_read()): to sort by them is to sort
 * by addresses. */
static int compare_ids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Ids follow the addresses, as in every module. */
bool kernel_used_add(struct kernel_used *u, struct trace_info *info, uint32_t image)
{
	struct trace_module m = { .first_id = u->next_id };

	if (!u->fresh.n)
		return false;
	qsort(u->fresh.at, u->fresh.n, sizeof(*u->fresh.at), compare_ids);
	*vec_add(&m.strings) = '\0';
	for (size_t i = 0; i < u->fresh.n; i++) {
		struct trace_function f = u->all->functions.at[u->fresh.at[i] - 1];
		const char *name = u->all->strings.at + f.name;

		f.name = (uint32_t)m.strings.n;
		*vec_add(&m.functions) = f;
		add_string(&m, name, strlen(name));
		u->ids.at[u->fresh.at[i]] = u->next_id++;
		m.end = f.vaddr + f.size;
	}
	m.start = m.functions.at[0].vaddr;
	u->fresh.n = 0;
	add_module(info, image, &m);
	return true;
}

/* In place: records have ids of the whole list, and the trace gets those of the functions that it
 * names. */
void kernel_used_renumber(const struct kernel_used *u, uint64_t *words, size_t n)
{
	for (size_t at = 0; at < n; at += 1 + record_payload(words[at])) {
		const uint64_t w = words[at];
		const enum record_event type = record_type(w);

		if (record_kind(w) == RECORD_EVENT && type >= RECORD_EVENT_KERNEL_ENTRY &&
		    type <= RECORD_EVENT_KERNEL_CALL)
			words[at + 1] = (words[at + 1] & ~(uint64_t)RECORD_ID_MAX) |
					u->ids.at[words[at + 1] & RECORD_ID_MAX];
	}
}
