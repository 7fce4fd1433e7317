/* SPDX-License-Identifier: MIT */
/* The screen of `brace top`: figures of the tracing above a table of what the program called. Draws
 * into a grid, or prints the same for pipes. Whoever calls has the lock that guards the rates. */
#pragma once
#include "base/out.h"
#include "view/prompt.h"
#include "view/rates.h"
#include "view/table.h"

/* Figures that only the command knows. Times are of the last turn. */
struct top_facts {
	const char *program;        /* what is traced */
	char clock[16];             /* the time of day */
	uint64_t elapsed_ns;        /* of the whole run */
	uint64_t records, lost;     /* that came in the turn; lost since the beginning */
	uint64_t tracer_ns, wall_ns; /* brace's own time on processors in wall_ns */
	/* what recording the turn's calls cost the program, by the cost of one that was measured at
	 * the start (trace_info.cost); meaningless unless cost_known */
	uint64_t cost_ns;
	bool cost_known;
	bool over;                  /* the program has ended: these are the last figures */
};

/* Zeroed but for rates and tables: top_init(). */
struct top {
	const struct rates *rates;
	enum rates_by by;
	bool all;                   /* since the beginning, not the last turn */
	bool paused, help;
	struct table_view tables[RATES_BY_N];
	struct top_table { const struct top *top; enum rates_by by; } of[RATES_BY_N];
	struct prompt prompt;
};

enum top_column { TOP_CALLS, TOP_SELF, TOP_TOTAL, TOP_MEAN, TOP_P99, TOP_MAX, TOP_COLUMNS_N };
extern const char *const top_column_words[TOP_COLUMNS_N];
/* TOP_COLUMNS_N: there is no such column; the name's stands there, too. */
enum top_column top_column_find(const char *word);
extern const char *const top_by_words[RATES_BY_N];
/* RATES_BY_N: there are no such rows. */
enum rates_by top_by_find(const char *word);

/* The rates outlive *t, whose top_free() leaves them. */
void top_init(struct top *t, const struct rates *rates);
void top_free(struct top *t);
/* The turn is over: takes its rows. The caller does not call it while the table is paused. */
void top_update(struct top *t);
void top_draw(struct top *t, const struct top_facts *facts, struct grid *g);
/* Returns false for the keys that end it. */
bool top_key(struct top *t, const struct view_event *e);

/* For pipes: the figures, the heading, at most n rows (0: all), an empty line. */
void top_print(const struct top *t, const struct top_facts *facts, size_t n, struct out *out);
/* One object of the turn, a line: {"schema":"brace-top","version":1,...,"rows":[...]}. */
void top_print_json(const struct top *t, const struct top_facts *facts, size_t n, struct out *out);
