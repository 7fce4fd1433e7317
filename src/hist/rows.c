/* SPDX-License-Identifier: MIT */
/* On the thread of a reader, which holds the lock of whoever looks at records, as print.c.
 * ui/answer_rows.c calls it. Nothing fails. */
#include "hist/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/syscalls.h"
#include "hist/internal.h"

#define NAME_BYTES 512u

/* One pass over the rows. */
struct rows_pass {
	const struct hist_command *c;
	const struct hist_symbols *symbols;
	char *texts[HIST_KEYS_MAX]; /* of this row's keys */
};

/* For free(). With `ahead` the offset is shown, too: a return address lies within its function. */
static char *function_name(const struct rows_pass *p, uint64_t address, unsigned ahead)
{
	char name[NAME_BYTES];

	hist_name_address(p->symbols, address, ahead, ahead > 0, name, sizeof(name));
	return mem_strdup(name);
}

/* One text, because SQL has no lists. For free(). */
static char *stack_text(const struct rows_pass *p, const uint64_t *at)
{
	char *text, *frame;
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);

	for (uint64_t i = 0; i < *at; i++) {
		frame = function_name(p, at[1 + i], i > 0);
		fprintf(to, "%s%s", i ? " < " : "", frame);
		free(frame);
	}
	mem_stream_close(to, &text);
	return text;
}

/* NULL leaves the key a number: no call has it. Else for free(). */
static char *syscall_text(uint64_t number)
{
	const struct syscall_info *s = number <= UINT32_MAX ? syscall_by_number((uint32_t)number)
							    : NULL;

	return s ? mem_printf("sys_%s", s->name) : NULL;
}

/* NULL: the key is a number. */
static char *key_text(const struct rows_pass *p, const struct hist_entry *e, size_t i)
{
	const struct hist_field *f = &p->c->keys[i];
	const struct hist_modifier_row *row = hist_modifier_row(f->modifier);
	const uint64_t *at = hist_entry_key(e, p->c, i);

	if (f->shape == HIST_IS_STRING)
		return mem_strndup((const char *)(at + 1), (size_t)*at);
	if (f->shape == HIST_IS_STACK)
		return stack_text(p, at);
	switch (f->modifier) {
	case HIST_SYM:
		return function_name(p, *at, 0);
	case HIST_SYM_OFFSET:
		return function_name(p, *at, 1);
	case HIST_EXECNAME:
		return mem_printf("%s-%" PRIu64, e->comm, *at);
	case HIST_SYSCALL:
		return syscall_text(*at);
	default:
		return row->text ? row->text(*at) : NULL;
	}
}

/* A power of two is the last number of its range, the key of any other one the first. */
static uint64_t key_number(const struct rows_pass *p, const struct hist_entry *e, size_t i)
{
	const struct hist_modifier_row *row = hist_modifier_row(p->c->keys[i].modifier);
	uint64_t number = *hist_entry_key(e, p->c, i), first;

	if (row->shows_last)
		row->range(&p->c->keys[i], number, &first, &number);
	return number;
}

/* Texts are valid for the callback of this row; give_rows() frees them behind it. */
static void fill(struct rows_pass *p, const struct hist_entry *e, struct hist_row *r)
{
	const struct hist_command *c = p->c;

	*r = (struct hist_row){ .n_keys = c->n_keys, .n_values = c->n_values, .hits = e->hits };
	for (size_t i = 0; i < c->n_keys; i++) {
		p->texts[i] = key_text(p, e, i);
		r->keys[i] = (struct hist_cell){ p->texts[i],
						 p->texts[i] ? 0 : key_number(p, e, i),
						 c->keys[i].is_signed };
	}
	for (size_t i = 0; i < c->n_values; i++)
		r->values[i] = (struct hist_cell){
			NULL, c->values[i].source == HIST_HITCOUNT ? e->hits : e->sums[i],
			c->values[i].is_signed
		};
}

/* Sorting settles the values of percentiles, too. */
static void give_rows(const struct hist *h, const struct hist_symbols *symbols,
		      void (*row)(void *arg, const struct hist_row *r), void *arg)
{
	const struct hist_table *t = &h->shared->table;
	struct hist_entry **sorted = hist_table_sorted(t, h->command);
	struct rows_pass p = { .c = h->command, .symbols = symbols };
	struct hist_row r;

	for (size_t i = 0; i < t->entries.n; i++) {
		fill(&p, sorted[i], &r);
		row(arg, &r);
		for (size_t k = 0; k < r.n_keys; k++)
			free(p.texts[k]);
	}
	free(sorted);
}

void hist_rows(const struct trigger_list *l, const struct hist_symbols *symbols,
	       void (*row)(void *arg, const struct hist_row *r), void *arg,
	       struct hist_rows_totals *totals)
{
	*totals = (struct hist_rows_totals){ 0 };
	for (size_t i = l->at.n; i-- > 0;) {
		const struct hist *h = l->at.at[i]->own;

		if (!hist_is(l->at.at[i]))
			continue;
		give_rows(h, symbols, row, arg);
		*totals = (struct hist_rows_totals){ h->shared->table.hits,
						     h->shared->table.crowded,
						     h->shared->table.unsent };
		return;
	}
}
