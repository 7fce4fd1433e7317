/* SPDX-License-Identifier: MIT */
/* Reads the kernel's symbols once for each run, on brace's thread. Symbols of modules follow those
 * of the kernel in the text, so that they are sorted here. */
#include "kernel/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line "ADDRESS TYPE NAME[\t[MODULE]]"; order: the line's number. */
struct symbol { uint64_t address; const char *name; size_t n, order; };
typedef VEC(struct symbol) symbol_list;

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Symbols of the padding before functions (CONFIG_CALL_PADDING), where no call leads. */
#define PADDING "__pfx_"

/* False: the line is no symbol of a function, or the kernel hides its address. */
static bool read_line(const char *line, size_t n, struct symbol *out)
{
	char *end;

	out->address = strtoull(line, &end, 16);
	if (!out->address || end + 3 >= line + n || *end != ' ' || end[2] != ' ' ||
	    !strchr("tTwW", end[1]))
		return false;
	out->name = end + 3;
	out->n = n - (size_t)(out->name - line);
	return strncmp(out->name, PADDING, strlen(PADDING)) != 0;
}

static void read_symbols(const char *text, symbol_list *out)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		struct symbol s = { .order = out->n };

		if (read_line(text, n, &s))
			*vec_add(out) = s;
		text += n + (text[n] == '\n');
	}
	qsort(out->at, out->n, sizeof(*out->at), compare_symbols);
}

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

int kernel_symbols_add(struct trace_info *info, const char *text, struct err *err)
{
	symbol_list symbols = { 0 };
	struct trace_module *m;

	read_symbols(text, &symbols);
	if (!symbols.n)
		return err_set(err, ENOENT,
			       "/proc/kallsyms tells no addresses: sysctl kernel.kptr_restrict=1");
	*vec_add(&info->images) = (struct trace_image){ .exe = mem_strdup(TRACE_KERNEL_EXE),
							.cmdline = mem_strdup("") };
	sort_markers(&symbols);
	m = vec_add(&info->modules);
	*m = (struct trace_module){
		.image = (uint32_t)info->images.n - 1, .first_id = 1,
		.path = mem_strdup(TRACE_KERNEL_EXE), .name = mem_strdup("kernel"),
		.start = symbols.at[0].address, .end = UINT64_MAX,
	};
	add_functions(m, &symbols);
	vec_free(&symbols);
	return (int)info->modules.n - 1;
}

uint32_t kernel_symbols_at(const struct trace_module *m, uint64_t address)
{
	size_t n = vec_bisect(&m->functions, f, f->vaddr <= address);

	if (!n || address - m->functions.at[n - 1].vaddr >= m->functions.at[n - 1].size)
		return 0;
	return m->first_id + (uint32_t)n - 1;
}
