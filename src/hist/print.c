/* SPDX-License-Identifier: MIT */
/* The text of a `hist` file, as Linux 6.12 prints it. On the thread of a reader of the file, which
 * holds the lock of whoever looks at records. Strings are the program's: `out` escapes a newline in
 * them, so that none looks like a row. instance/hists.c calls hist_text_printer, for
 * tree/event_files.c and ui/answer.c. Nothing fails: `out` keeps a write error for its owner. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event_set.h"
#include "event/syscalls.h"
#include "hist/internal.h"

#define BAR 20u             /* width of `.graph` */
#define NAME_BYTES 512u

/* One printing of one histogram. Lives as long as the reader's call. */
struct hist_printing {
	const struct hist_command *c;
	const struct hist_symbols *symbols;
	struct out *out;
	/* of each value, over all entries; index 0: the hit count */
	uint64_t totals[1 + HIST_VALUES_MAX], most[1 + HIST_VALUES_MAX];
};

/* --- keys ------------------------------------------------------------------------------- */

/* `ahead` is 1 for a return address, which may be the next function's first byte: the call is
 * before it. */
void hist_name_address(const struct hist_symbols *symbols, uint64_t address, unsigned ahead,
		       bool with_offset, char *text, size_t n)
{
	struct hist_symbol s;
	char offset[64] = "";

	if (!symbols || !symbols->find(symbols->arg, address - ahead, &s)) {
		snprintf(text, n, "0x%" PRIx64, address);
		return;
	}
	/* The place in a module without functions is the name: of the address itself. */
	if (!s.size)
		symbols->find(symbols->arg, address, &s);
	if (with_offset && s.size)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64 "/0x%" PRIx64, s.offset + ahead,
			 s.size);
	snprintf(text, n, "%s%s%s%s%s", s.name, offset, s.module ? " [" : "",
		 s.module ? s.module : "", s.module ? "]" : "");
}

/* Widths are the kernel's: 45 columns for a name, 55 for one with an offset. */
static void print_address(const struct hist_printing *p, const struct hist_field *f, uint64_t value)
{
	char name[NAME_BYTES];
	bool offset = f->modifier == HIST_SYM_OFFSET;

	hist_name_address(p->symbols, value, 0, offset, name, sizeof(name));
	out_printf(p->out, "%s: [%" PRIx64 "] %-*s", f->name, value, offset ? 55 : 45, name);
}

/* Looks the number up in the machine's table, and calls a strange one as the kernel does. */
static void print_syscall(const struct hist_printing *p, const struct hist_field *f, uint64_t value)
{
	const struct syscall_info *s = value <= UINT32_MAX ? syscall_by_number((uint32_t)value)
							   : NULL;
	char name[64];

	snprintf(name, sizeof(name), s ? "sys_%s" : "unknown_syscall", s ? s->name : "");
	out_printf(p->out, "%s: %-30s[%3" PRIu64 "]", f->name, name, value);
}

/* Pads to the width by the bytes of the string itself: out_name(), which escapes, takes no
 * width. */
static void pad(struct out *out, size_t n, size_t width)
{
	for (; n < width; n++)
		out_char(out, ' ');
}

/* 50 columns are the kernel's %-50s. */
static void print_string(const struct hist_printing *p, const struct hist_field *f,
			 const uint64_t *at)
{
	out_printf(p->out, "%s: ", f->name);
	out_name(p->out, (const char *)(at + 1), (size_t)*at);
	pad(p->out, (size_t)*at, 50);
}

/* Prints the name that the thread had at the entry's first record, and its id. */
static void print_execname(const struct hist_printing *p, const struct hist_field *f, uint64_t tid,
			   const char *comm)
{
	out_printf(p->out, "%s: ", f->name);
	out_name(p->out, comm, strlen(comm));
	pad(p->out, strlen(comm), 16);
	out_printf(p->out, "[%10" PRIu64 "]", tid);
}

/* Every address but the innermost is a return address: the call is a byte before it. */
static void print_stack(const struct hist_printing *p, const struct hist_field *f,
			const uint64_t *at)
{
	char name[NAME_BYTES];

	/* The kernel's line does not end behind the name of a field. */
	out_printf(p->out, hist_field_is_kept_stack(f) ? "%s.stacktrace" : "%s:\n", f->name);
	for (uint64_t i = 0; i < *at; i++) {
		hist_name_address(p->symbols, at[1 + i], i > 0, true, name, sizeof(name));
		out_printf(p->out, "         %s\n", name);
	}
}

/* A number as the modifier's row wants it. */
static void print_word(const struct hist_printing *p, const struct hist_field *f, uint64_t value)
{
	const struct hist_modifier_row *row = hist_modifier_row(f->modifier);
	uint64_t first, last;

	out_printf(p->out, "%s: ", f->name);
	if (row->print) {
		row->print(p->out, value, 0);
	} else if (row->range) {
		row->range(f, value, &first, &last);
		out_printf(p->out, "~ %" PRIu64 "-%" PRIu64, first, last);
	} else {
		out_printf(p->out, "%10" PRIu64, value);
	}
}

/* Strings and stacks come first: they take several words. The others are one word, shown by its
 * modifier. */
static void print_key(const struct hist_printing *p, const struct hist_field *f,
		      const struct hist_entry *e, const uint64_t *at)
{
	if (f->shape == HIST_IS_STRING)
		print_string(p, f, at);
	else if (f->shape == HIST_IS_STACK)
		print_stack(p, f, at);
	else if (f->modifier == HIST_SYM || f->modifier == HIST_SYM_OFFSET)
		print_address(p, f, *at);
	else if (f->modifier == HIST_EXECNAME)
		print_execname(p, f, *at, e->comm);
	else if (f->modifier == HIST_SYSCALL)
		print_syscall(p, f, *at);
	else
		print_word(p, f, *at);
}

/* The brace stands alone in its line if the last key is a stack. */
static void print_keys(const struct hist_printing *p, const struct hist_entry *e)
{
	const struct hist_command *c = p->c;

	out_str(p->out, "{ ");
	for (size_t i = 0; i < c->n_keys; i++) {
		if (i)
			out_str(p->out, ", ");
		print_key(p, &c->keys[i], e, hist_entry_key(e, c, i));
	}
	out_str(p->out, c->keys[c->n_keys - 1].source == HIST_STACK ? "}" : " }");
}

/* --- values ----------------------------------------------------------------------------- */

/* Hundredths of a percent. */
static uint64_t part_of(uint64_t value, uint64_t total)
{
	return total ? (uint64_t)((unsigned __int128)value * 10000 / total) : 0;
}

/* A full bar is the largest value of the column, not the sum. */
static void print_bar(const struct hist_printing *p, uint64_t value, uint64_t most)
{
	uint64_t n = part_of(value, most) * BAR / 10000;

	for (uint64_t i = 0; i < BAR; i++)
		out_char(p->out, i < n ? '#' : ' ');
}

/* i: 0 for the hit count. */
static void print_value(const struct hist_printing *p, const struct hist_field *f, size_t i,
			uint64_t value)
{
	enum hist_modifier m = f ? f->modifier : HIST_PLAIN;
	const struct hist_modifier_row *row = hist_modifier_row(m);
	uint64_t part = part_of(value, p->totals[i]);

	out_printf(p->out, " %s", f ? f->name : "hitcount");
	if (m == HIST_PERCENT) {
		out_printf(p->out, " (%%): %3" PRIu64 ".%02" PRIu64, part / 100, part % 100);
		return;
	}
	if (row->sketched)
		out_printf(p->out, ".%s", row->name);
	out_str(p->out, ": ");
	if (m == HIST_GRAPH)
		print_bar(p, value, p->most[i]);
	else if (row->print)
		row->print(p->out, value, 10);
	else
		out_printf(p->out, row->sketched && f->is_signed ? "%10" PRId64 : "%10" PRIu64,
			   value);
}

/* Value i of struct hist_printing's numbering. */
static uint64_t value_of(const struct hist_command *c, const struct hist_entry *e, size_t i)
{
	return !i || c->values[i - 1].source == HIST_HITCOUNT ? e->hits : e->sums[i - 1];
}

/* --- actions ---------------------------------------------------------------------------- */

static const char *const handler_names[HIST_ONCHANGE + 1] = {
	[HIST_ONMAX] = "onmax",
	[HIST_ONCHANGE] = "onchange",
};

/* Slot i of the entry; it may not have come so far. */
static const struct hist_slot *slot_of(const struct hist_entry *e, size_t i)
{
	static const struct hist_slot unset;

	return i < e->slots.n ? &e->slots.at[i] : &unset;
}

/* Prints a slot by its param, whose modifier is left out as in the kernel. */
static void print_saved(const struct hist_printing *p, const struct hist_field *f, const char *name,
			const struct hist_slot *s)
{
	out_printf(p->out, "  %.*s: ", (int)strcspn(name, "."), name);
	if (hist_field_is_number(f)) {
		out_printf(p->out, "%10" PRIu64, s->number);
		return;
	}
	out_name(p->out, s->bytes ? (const char *)s->bytes : "", s->n);
	pad(p->out, s->n, 32);
}

/* The kernel shows what save() kept behind whatever tracks; snapshots have a paragraph of their
 * own. */
static void print_tracked(const struct hist_printing *p, const struct hist_action *tracks,
			  const struct hist_entry *e)
{
	out_printf(p->out, "\n\t%s: %10" PRIu64,
		   tracks->handler == HIST_ONMAX ? "max" : "changed",
		   slot_of(e, tracks->track)->number);
	for (size_t i = 0; i < p->c->n_actions; i++) {
		const struct hist_action *a = &p->c->actions[i];

		for (size_t k = 0; a->act == HIST_SAVE && k < a->fields.n; k++)
			print_saved(p, &a->fields.at[k], a->params.at[k], slot_of(e, a->saved + k));
	}
}

/* Prints the key and the value that led to the latest snapshot. An entry is made up for it, since
 * print_keys() takes one. */
static void print_snapshot(const struct hist_printing *p, const struct hist_table *t)
{
	struct hist_entry *e;
	const struct hist_action *a = p->c->actions;

	if (!t->snapshot_key)
		return;
	/* An action of this kind set the key, and all lines of a table have equal actions: one is
	 * found. */
	while (a->act != HIST_SNAPSHOT)
		a++;
	e = mem_zalloc(sizeof(*e) + t->snapshot_n * sizeof(e->key[0]));
	memcpy(e->key, t->snapshot_key, t->snapshot_n * sizeof(e->key[0]));
	memcpy(e->comm, t->snapshot_comm, sizeof(e->comm));
	out_printf(p->out,
		   "\nSnapshot taken (see tracing/snapshot).  Details:\n"
		   "\ttriggering value { %s(%s) }: %10" PRIu64 "\ttriggered by event with key: ",
		   handler_names[a->handler], a->tracked, t->snapshot_value);
	print_keys(p, e);
	out_char(p->out, '\n');
	free(e);
}

/* A histogram without the hit count has values instead (finish() in command.c). */
static void print_entry(const struct hist_printing *p, const struct hist_entry *e)
{
	print_keys(p, e);
	if (!p->c->nohitcount)
		print_value(p, NULL, 0, e->hits);
	for (size_t i = 1; i <= p->c->n_values; i++) {
		out_char(p->out, ' ');
		print_value(p, &p->c->values[i - 1], i, value_of(p->c, e, i));
	}
	for (size_t i = 0; i < p->c->n_actions; i++)
		if (p->c->actions[i].handler != HIST_ONMATCH &&
		    p->c->actions[i].act != HIST_SNAPSHOT)
			print_tracked(p, &p->c->actions[i], e);
	out_char(p->out, '\n');
}

/* --- the file --------------------------------------------------------------------------- */

/* Shares and bars need the sum and the maximum before the first row is printed. */
static void sum_up(struct hist_printing *p, const struct hist_table *t)
{
	for (size_t k = 0; k < t->entries.n; k++) {
		for (size_t i = 0; i <= p->c->n_values; i++) {
			uint64_t value = value_of(p->c, t->entries.at[k], i);

			p->totals[i] += value;
			if (value > p->most[i])
				p->most[i] = value;
		}
	}
}

/* hist_list's callback. */
static void print_histogram(const struct hist_listing *l, const struct event_trigger *trigger,
			    const struct hist_field *asked)
{
	struct out *out = l->out;
	const struct hist *h = trigger->own;
	const struct hist_table *t = &h->shared->table;
	struct hist_entry **sorted = hist_table_sorted(t, h->command);
	struct hist_printing p = { .c = h->command, .symbols = l->symbols, .out = out };
	char *line = trigger_line(trigger);

	sum_up(&p, t);
	out_str(out, "# event histogram\n#\n# trigger info: ");
	out_str(out, line);
	out_str(out, "#\n\n");
	for (size_t i = 0; i < t->entries.n; i++)
		print_entry(&p, sorted[i]);
	print_snapshot(&p, t);
	out_printf(out,
		   "\nTotals:\n    Hits: %" PRIu64 "\n    Entries: %zu\n    Dropped: %" PRIu64 "\n",
		   t->hits, t->entries.n, t->dropped);
	/* Lines that the kernel does not have, for what it does not count. */
	if (t->unmatched)
		out_printf(out, "    Unmatched: %" PRIu64 "\n", t->unmatched);
	if (t->unsent)
		out_printf(out, "    Unsent: %" PRIu64 "\n", t->unsent);
	free(line);
	free(sorted);
}

/* --- fields that others ask for --------------------------------------------------------- */

static void part(struct hist_listing *p)
{
	if (p->more)
		out_str(p->out, "\n\n");
	p->more = true;
}

/* The kernel keeps a field of another event in a histogram of its own, whose line this one has.
 * Here it is kept with the entries of the histogram that was asked, whose rows are shown. */
static void print_field(struct hist_listing *p, const struct event_trigger *asked,
			const struct hist_field *field)
{
	const struct hist *h = asked->own;
	struct hist_command c = *h->command;
	struct hist own = *h;
	struct event_trigger shown = *asked;

	c.n_values = c.n_actions = 0;
	c.n_sort = 1;
	c.sort[0] = (struct hist_sort){ 0 };
	c.nested = c.nohitcount = c.timestamps = false;
	for (size_t i = 0; i < c.n_keys; i++)
		c.timestamps |= c.keys[i].source == HIST_TIMESTAMP;
	c.n_variables = 1;
	c.variables[0] = (struct hist_variable){ mem_printf("synthetic_%s", field->name), *field };
	own.command = &c;
	shown.own = &own;
	part(p);
	p->print(p, &shown, field);
	free(c.variables[0].name);
}

/* Whether an earlier reference of the command is the same field. */
static bool is_repeated(const struct hist_command *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (c->references.at[k].hidden &&
		    c->references.at[k].shared == c->references.at[i].shared &&
		    c->references.at[k].field.field == c->references.at[i].field.field)
			return true;
	return false;
}

/* Prints the variables of `asked` that the histogram of `asks` refers to. */
static void print_asked(struct hist_listing *p, const struct event_trigger *asked,
			const struct event_trigger *asks)
{
	const struct hist_command *c = hist_is(asks) ? ((const struct hist *)asks->own)->command
						     : NULL;
	const struct hist *h = asked->own;

	for (size_t i = 0; c && i < c->references.n; i++)
		if (c->references.at[i].hidden && c->references.at[i].shared == h->shared &&
		    c->references.at[i].event == h->event && !is_repeated(c, i))
			print_field(p, asked, &c->references.at[i].field);
}

void hist_list(const struct trigger_list *l, struct hist_listing *p)
{
	const struct event_set *set = p->set;

	for (size_t i = l->at.n; i-- > 0;) {
		if (!hist_is(l->at.at[i]))
			continue;
		for (size_t e = 0; set && e < set->at.n; e++)
			for (size_t k = 0; k < set->at.at[e].triggers.at.n; k++)
				print_asked(p, l->at.at[i], set->at.at[e].triggers.at.at[k]);
		part(p);
		p->print(p, l->at.at[i], NULL);
	}
}

/* hist_printer.print */
static void print_text(void *arg, const struct trigger_list *l, const struct hist_symbols *symbols,
		       struct out *out)
{
	struct hist_listing p = { symbols, out, arg, print_histogram, false };

	hist_list(l, &p);
}

const struct hist_printer hist_text_printer = { print_text, NULL };
