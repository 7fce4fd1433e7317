/* SPDX-License-Identifier: MIT */
/* Called by answer.c on the main thread. Rows are taken under the lock of whoever counts, and asked
 * when that is given back: a SELECT may take long. A SELECT that fails is the command's error. */
#include "ui/answer_rows.h"

#include <inttypes.h>

#include "hist/rows.h"
#include "query/answer.h"
#include "ui/say.h"

struct answer_rows {
	const struct answer_select *select;
	struct query *query;
	struct hist_rows_totals totals;
};

/* s must outlive it. NULL with *err: the statement does not fit the keys and values. */
struct answer_rows *answer_rows_new(const struct answer_select *s, struct err *err)
{
	struct answer_rows *r = mem_zalloc(sizeof(*r));

	r->select = s;
	if (!query_answer_open(s->keys, s->values, &r->query, err))
		return r;
	free(r);
	return NULL;
}

void answer_rows_free(struct answer_rows *r)
{
	query_close(r->query);
	free(r);
}

static struct query_cell cell_of(const struct hist_cell *c)
{
	return (struct query_cell){ .text = c->text, .number = c->number,
				    .is_signed = c->is_signed };
}

/* A group of all has a key that no column shows. */
static void take_row(void *arg, const struct hist_row *row)
{
	struct query_cell cells[HIST_KEYS_MAX + 1 + HIST_VALUES_MAX];
	struct answer_rows *r = arg;
	unsigned n = 0;

	for (unsigned i = 0; i < r->select->keys && i < row->n_keys; i++)
		cells[n++] = cell_of(&row->keys[i]);
	cells[n++] = (struct query_cell){ .number = row->hits };
	for (unsigned i = 0; i < r->select->values && i < row->n_values; i++)
		cells[n++] = cell_of(&row->values[i]);
	query_answer_add(r->query, cells, n);
}

void answer_rows_take(void *arg, const struct trigger_list *l, const struct hist_symbols *symbols,
		      struct out *out)
{
	struct answer_rows *r = arg;

	hist_rows(l, symbols, take_row, r, &r->totals);
}

/* Records that were lost on their way are told when the programs have ended (answer_run()). Records
 * without a match are no loss: the first events of pairs are counted there, too. */
static void say_losses(const struct hist_rows_totals *t)
{
	if (t->crowded)
		say_warning("%" PRIu64 " of %" PRIu64 " records are in no group: there are more groups than are kept",
			    t->crowded, t->crowded + t->hits);
	if (t->unsent)
		say_warning("%" PRIu64 " joined records were not made: too many hang together",
			    t->unsent);
}

/* Losses are said after the rows: on a terminal they stay in view. */
int answer_rows_print(struct answer_rows *r, enum rows_form form, struct screen *to,
		      struct err *err)
{
	struct rows rows;
	int e;

	rows_init(&rows, form, &to->text);
	e = query_run(r->query, r->select->sql, &rows_sink, &rows, err);
	rows_end(&rows);
	out_flush(&to->text);
	if (!e)
		say_losses(&r->totals);
	return e;
}
