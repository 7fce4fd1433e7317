/* SPDX-License-Identifier: MIT */
/* `brace tui` without a terminal: a trace, the parts of it that screens need, read when they are
 * first asked for, and the screens themselves, each a row of a table: key, title, part, drawing,
 * keys. Numbers are those of `brace report --json`, of the same code.
 *
 * One thread draws and takes keys. browse_load() may run on another one while that thread draws
 * nothing but the progress. */
#pragma once
#include "excerpt/excerpt.h"
#include "report/path_sums.h"
#include "store/store.h"
#include "view/progress.h"
#include "view/prompt.h"
#include "view/survey.h"
#include "view/table.h"

enum browse_part {
	BROWSE_FUNCTIONS, /* rows of functions */
	BROWSE_THREADS,   /* rows of threads */
	BROWSE_PATHS,     /* calls by the calls they lie in */
	BROWSE_SURVEY,    /* calls by time, durations, slowest calls */
	BROWSE_PARTS_N,
	BROWSE_NOTHING = BROWSE_PARTS_N
};

enum browse_answer {
	BROWSE_ON,
	BROWSE_QUIT,
	BROWSE_EDIT,      /* shows b->source in an editor */
};

/* A function, by what identifies it in all parts. */
struct browse_function { const char *name, *module; };

/* Callers or callees of the chosen function. */
struct browse_edge { uint32_t row; uint64_t calls, total, self; };
struct browse_edges { const struct browse *b; VEC(struct browse_edge) at; };

struct browse {
	const char *name;         /* of the file */
	struct store_reader *reader;
	const struct trace_info *info;
	struct summary_input in;
	struct excerpt *part;     /* that is shown; NULL: all of the trace */
	const char *flat;         /* why the trace has no calls in calls; NULL: it has */
	uint64_t first, last;     /* ns, of what is shown */

	bool has[BROWSE_PARTS_N];
	struct err failed[BROWSE_PARTS_N]; /* code 0: it did not */
	struct progress progress;
	struct summary functions, threads;
	struct path_sums paths;
	struct survey survey;
	uint64_t from, to;        /* the survey that is wanted: all, or a closer look */
	bool wants_closer;

	unsigned screen;
	bool help;
	/* of the trace before browse_renew(): its chosen function, and the order of its rows */
	struct {
		char *name, *module;
		unsigned column;
		bool reverse, ordered;
	} kept;
	struct prompt prompt;
	char search[PROMPT_BYTES];
	char said[256];           /* in the last line, until the next key */
	struct browse_function chosen; /* NULL names: none yet */
	VEC(struct browse_function) before; /* where `back` leads */
	struct { char *path; uint32_t line; } source;

	/* each screen's own */
	struct table_view function_table, thread_table, caller_table, callee_table;
	struct browse_edges callers, callees;
	bool in_callees;          /* which of the two has the keys */
	struct {
		uint8_t *open;    /* by node */
		VEC(uint32_t) shown;
		size_t chosen, first;
		unsigned height;
	} tree;
	struct { uint32_t base, chosen; } flame;
	struct {
		uint64_t from, to; /* that is shown */
		uint64_t at;       /* the cursor */
		uint32_t thread;   /* the chosen lane: index in order */
		VEC(uint32_t) order; /* threads that have calls */
		unsigned columns;
	} line;
};

struct browse_screen {
	unsigned key;
	const char *title;
	enum browse_part part;
	bool nested;              /* needs calls in calls */
	/* The part has come, or the screen is entered. May be NULL. */
	void (*enter)(struct browse *b);
	void (*draw)(struct browse *b, struct grid *g, unsigned top, unsigned height);
	/* False: not a key of the screen's. */
	bool (*press)(struct browse *b, const struct view_event *e);
	/* Goes to the next match; false: there is none. NULL: the screen has nothing to search. */
	bool (*search)(struct browse *b, const char *text);
	const char *const *help;
};
extern const struct browse_screen browse_functions, browse_tree, browse_edges, browse_flame,
	browse_timeline, browse_threads, browse_histogram;
enum browse_screen_number {
	BROWSE_SCREEN_FUNCTIONS, BROWSE_SCREEN_TREE, BROWSE_SCREEN_EDGES, BROWSE_SCREEN_FLAME,
	BROWSE_SCREEN_TIMELINE, BROWSE_SCREEN_THREADS, BROWSE_SCREEN_HISTOGRAM, BROWSE_SCREENS_N
};

/* The reader and the name outlive *b. browse_free() frees it. */
void browse_init(struct browse *b, struct store_reader *r, const char *name);
void browse_free(struct browse *b);
/* Shows this part of the reader's trace alone, with the numbers that `brace report` has for it. It
 * outlives *b. Called behind browse_init(), before anything is loaded. */
void browse_take_part(struct browse *b, struct excerpt *part);
/* Shows another trace, or the same one with what has come, on the same screen: the chosen function
 * stays chosen. The reader before it may be closed afterwards. */
void browse_renew(struct browse *b, struct store_reader *r);
/* Whether the screen has nothing that a new reading would move away under the user's eyes. */
bool browse_is_table(const struct browse *b);
/* The part that the present screen waits for; BROWSE_NOTHING: it can be drawn. */
enum browse_part browse_wants(const struct browse *b);
/* Reads it. What goes wrong is in b->failed, and shown. */
void browse_load(struct browse *b, enum browse_part part);
/* Prepares the screens for a part that has been read. */
void browse_loaded(struct browse *b, enum browse_part part);
/* Draws the present screen, whose part has been read. */
void browse_draw(struct browse *b, struct grid *g);
/* The screen while a part is read. */
void browse_draw_progress(struct browse *b, enum browse_part part, struct grid *g);
/* Obeys a key or a click. Returns what the caller has to do for it. */
enum browse_answer browse_key(struct browse *b, const struct view_event *e);

/* --- what the screens share ------------------------------------------------------------------- */

/* Shows another screen, at the function that is chosen. */
void browse_go(struct browse *b, enum browse_screen_number screen);
/* Chooses the function for all screens, by texts that live as long as *b. */
void browse_choose(struct browse *b, const char *name, const char *module);
/* browse_choose(), and the one before can be gone back to. */
void browse_follow(struct browse *b, const char *name, const char *module);
/* Tells something in the last line. */
void browse_say(struct browse *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Rows of the parts that are the chosen function; UINT32_MAX: there is none. */
uint32_t browse_summary_row(const struct browse *b);
uint32_t browse_path_row(const struct browse *b);
/* The nodes of paths that `node` calls, the longest first; the caller frees them. */
typedef VEC(uint32_t) browse_nodes;
browse_nodes browse_children(const struct browse *b, uint32_t node);
/* Hundredths of a percent. */
unsigned browse_share(uint64_t part, uint64_t whole);
/* Nanoseconds of the paths' ticks. */
uint64_t browse_ns(const struct browse *b, uint64_t ticks);
/* A look of a box that is always the same for a name. */
enum grid_look browse_look(const char *name);
/* "name [module]", for free(). */
char *browse_label(const char *name, const char *module);
/* The timeline shows the slowest call of the chosen function. */
void browse_show_slowest(struct browse *b);
/* Makes the edges of the chosen function anew. */
void browse_edges_update(struct browse *b);
