/* SPDX-License-Identifier: MIT */
/* Called by ui/cmd/tui.c and by tests. A part that cannot be read is told on the screens that need
 * it; the others work. */
#include "view/browse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/tracer.h"
#include "view/source_line.h"

static const struct browse_screen *const screens[BROWSE_SCREENS_N] = {
	[BROWSE_SCREEN_FUNCTIONS] = &browse_functions, [BROWSE_SCREEN_TREE] = &browse_tree,
	[BROWSE_SCREEN_EDGES] = &browse_edges, [BROWSE_SCREEN_FLAME] = &browse_flame,
	[BROWSE_SCREEN_TIMELINE] = &browse_timeline, [BROWSE_SCREEN_THREADS] = &browse_threads,
	[BROWSE_SCREEN_HISTOGRAM] = &browse_histogram,
};

/* The screen that is shown. */
static const struct browse_screen *screen_of(const struct browse *b)
{
	return screens[b->screen];
}

/* --- the trace -------------------------------------------------------------------------------- */

/* Why the trace has no calls in calls, as a sentence; NULL: it has them. A trace that names no
 * tracer is taken for one of function_graph. The sentences say what is missing, and which option
 * left it out. */
static const char *why_flat(const struct trace_info *info)
{
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : &tracer_function_graph;

	if (info->thresh_ns)
		return "short calls were not recorded (--threshold): there is no tree of calls";
	return t && t->exits ? NULL
			     : "the ends of calls were not recorded (-t function): there is no tree of calls";
}

/* A range of no length has one nanosecond, so that no screen divides by zero. */
static void set_range(struct browse *b, uint64_t first, uint64_t last)
{
	b->first = b->from = b->line.from = b->line.at = trace_clock_ns(&b->info->clock, first);
	b->last = trace_clock_ns(&b->info->clock, last);
	b->last = b->to = b->line.to = b->last > b->first ? b->last : b->first + 1;
}

/* `name`, the reader and its information stay the caller's, and outlive *b. Nothing is read yet but
 * the range: browse_wants() says what a screen needs. */
void browse_init(struct browse *b, struct store_reader *r, const char *name)
{
	uint64_t first = 0, last = 0;

	*b = (struct browse){ .name = name, .reader = r, .info = store_info(r) };
	b->in = summary_from_store(r);
	b->flat = why_flat(b->info);
	store_range(r, &first, &last);
	set_range(b, first, last);
	b->callers.b = b->callees.b = b;
}

/* Calls count with their part in the range, as a report's do: the screens' numbers are its. Called
 * before anything is read. */
void browse_take_part(struct browse *b, struct excerpt *part)
{
	uint64_t first = 0, last = 0, from, to;

	excerpt_clip(part);
	b->part = part;
	b->in = summary_from_excerpt(part, b->reader);
	store_range(b->reader, &first, &last);
	excerpt_range(part, &from, &to);
	set_range(b, from > first ? from : first, to < last ? to : last);
}

void browse_free(struct browse *b)
{
	struct table_view *tables[] = { &b->function_table, &b->thread_table, &b->caller_table,
					&b->callee_table };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		table_free(tables[i]);
	summary_free(&b->functions);
	summary_free(&b->threads);
	path_sums_free(&b->paths);
	survey_free(&b->survey);
	vec_free(&b->callers.at);
	vec_free(&b->callees.at);
	vec_free(&b->tree.shown);
	vec_free(&b->line.order);
	vec_free(&b->before);
	free(b->tree.open);
	free(b->source.path);
	free(b->kept.name);
	free(b->kept.module);
}

/* Rows have other numbers then: what the user has chosen is found again by its name. `chosen`
 * points into the old trace's rows, which are freed here, so that its texts are copied. The
 * pointers of the tables to *b are set anew because the struct is copied. */
void browse_renew(struct browse *b, struct store_reader *r)
{
	struct browse now;

	browse_init(&now, r, b->name);
	now.screen = b->screen;
	now.help = b->help;
	memcpy(now.search, b->search, sizeof(now.search));
	if (b->chosen.name) {
		now.kept.name = mem_strdup(b->chosen.name);
		now.kept.module = mem_strdup(b->chosen.module);
	}
	now.kept.ordered = b->function_table.rows;
	now.kept.column = b->function_table.column;
	now.kept.reverse = b->function_table.reverse;
	browse_free(b);
	*b = now;
	b->callers.b = b->callees.b = b;
}

/* The order of the rows, and the chosen one, are those of the trace before. */
static void restore(struct browse *b)
{
	for (size_t i = 0; b->kept.name && i < b->functions.rows.n; i++) {
		const struct summary_row *row = &b->functions.rows.at[i];

		if (!strcmp(row->name, b->kept.name) && !strcmp(row->module, b->kept.module))
			browse_choose(b, row->name, row->module);
	}
	browse_functions.enter(b);
	if (!b->kept.ordered)
		return;
	b->function_table.column = b->kept.column;
	b->function_table.reverse = b->kept.reverse;
	table_update(&b->function_table, b->functions.rows.n);
}

/* Whether the screen has the keys of tables, for sorting and filtering. */
bool browse_is_table(const struct browse *b)
{
	return b->screen == BROWSE_SCREEN_FUNCTIONS || b->screen == BROWSE_SCREEN_THREADS ||
	       b->screen == BROWSE_SCREEN_HISTOGRAM;
}

/* Rows by function, as `brace report` has them first. */
static int load_functions(struct browse *b, struct err *err)
{
	struct summary_input in = progress_input(&b->progress, &b->in);
	int e = summary_make(&in, 0, &b->functions, err);

	/* A part that has nothing is an error, which says why. */
	if (!e && b->part)
		e = excerpt_is_empty(b->part, err);
	if (!e)
		summary_sort(&b->functions, summary_default_column(&b->functions), false);
	return e;
}

/* Rows by thread. */
static int load_threads(struct browse *b, struct err *err)
{
	struct summary_input in = progress_input(&b->progress, &b->in);

	in.by_thread = true;
	return summary_make(&in, 0, &b->threads, err);
}

/* The tree of calls, for the three screens that show it. */
static int load_paths(struct browse *b, struct err *err)
{
	struct summary_input in = progress_input(&b->progress, &b->in);

	return path_sums_make(&in, &b->paths, err);
}

/* The whole comes first: it alone has the slowest calls. A closer look takes its lanes from a
 * second reading. Lanes alone are taken: the slowest calls of a closer look would be those of its
 * range. */
static int load_survey(struct browse *b, struct err *err)
{
	struct summary_input in = progress_input(&b->progress, &b->in);
	struct survey closer;
	int e;

	if (!b->has[BROWSE_SURVEY])
		return survey_make(&in, b->first, b->last, &b->survey, err);
	e = survey_make(&in, b->from, b->to, &closer, err);
	if (!e)
		survey_take_lanes(&b->survey, &closer);
	survey_free(&closer);
	return e;
}

/* Frees what a reading that failed has left half made. */
static void drop_part(struct browse *b, enum browse_part part)
{
	if (part == BROWSE_FUNCTIONS)
		summary_free(&b->functions);
	if (part == BROWSE_THREADS)
		summary_free(&b->threads);
	if (part == BROWSE_PATHS)
		path_sums_free(&b->paths);
	if (part == BROWSE_SURVEY)
		survey_free(&b->survey);
}

/* On a thread of its own (ui/cmd/tui.c), which is joined before the screen reads the part:
 * meanwhile the other one touches nothing of *b but the progress. */
void browse_load(struct browse *b, enum browse_part part)
{
	static int (*const load[BROWSE_PARTS_N])(struct browse *, struct err *) = {
		[BROWSE_FUNCTIONS] = load_functions, [BROWSE_THREADS] = load_threads,
		[BROWSE_PATHS] = load_paths, [BROWSE_SURVEY] = load_survey,
	};
	bool closer = b->has[part];
	int e;

	/* A part that is there stays if a closer look at it fails. */
	b->failed[part] = (struct err){ 0 };
	e = load[part](b, &b->failed[part]);
	b->wants_closer = false;
	if (e && !closer)
		drop_part(b, part);
	if (e && !b->failed[part].code)
		err_set(&b->failed[part], EIO, "it cannot be read");
	b->has[part] = !e || closer;
}

/* Screens of that part take it now, whichever of them is shown. */
void browse_loaded(struct browse *b, enum browse_part part)
{
	if (part == BROWSE_FUNCTIONS && b->has[part])
		restore(b);
	for (unsigned s = 0; s < BROWSE_SCREENS_N && b->has[part]; s++)
		if (screens[s]->part == part && screens[s]->enter)
			screens[s]->enter(b);
}

/* A part that failed is not asked for again by itself: its screen would read the trace over and
 * over. R forgets the failure (read_again()). */
enum browse_part browse_wants(const struct browse *b)
{
	const struct browse_screen *s = screen_of(b);

	/* All screens choose from the functions, whichever is shown first. */
	if (!b->has[BROWSE_FUNCTIONS] && !b->failed[BROWSE_FUNCTIONS].code)
		return BROWSE_FUNCTIONS;
	if (s->nested && b->flat)
		return BROWSE_NOTHING;
	if (s->part == BROWSE_SURVEY && b->has[BROWSE_SURVEY] && b->wants_closer)
		return BROWSE_SURVEY;
	return b->has[s->part] || b->failed[s->part].code ? BROWSE_NOTHING : s->part;
}

/* --- shared ----------------------------------------------------------------------------------- */

void browse_say(struct browse *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->said, sizeof(b->said), fmt, ap);
	va_end(ap);
}

/* A screen whose part is not read yet is entered when it is. */
void browse_go(struct browse *b, enum browse_screen_number screen)
{
	b->screen = screen;
	if (b->has[screens[screen]->part] && screens[screen]->enter)
		screens[screen]->enter(b);
}

/* The names are a part's, which stay as long as *b. */
void browse_choose(struct browse *b, const char *name, const char *module)
{
	b->chosen = (struct browse_function){ name, module };
}

/* Keeps what was chosen before, for the key that goes back. */
void browse_follow(struct browse *b, const char *name, const char *module)
{
	if (b->chosen.name)
		*vec_add(&b->before) = b->chosen;
	browse_choose(b, name, module);
}

/* A function is its name and its file: rows of different parts have different numbers. */
static bool is_chosen(const struct browse *b, const char *name, const char *module)
{
	return b->chosen.name && !strcmp(b->chosen.name, name) && !strcmp(b->chosen.module, module);
}

/* By name each time: sorting and reading anew change the numbers of rows. */
uint32_t browse_summary_row(const struct browse *b)
{
	for (size_t i = 0; i < b->functions.rows.n; i++)
		if (is_chosen(b, b->functions.rows.at[i].name, b->functions.rows.at[i].module))
			return (uint32_t)i;
	return UINT32_MAX;
}

uint32_t browse_path_row(const struct browse *b)
{
	for (size_t i = 0; i < b->paths.rows.n; i++)
		if (is_chosen(b, b->paths.rows.at[i].name, b->paths.rows.at[i].module))
			return (uint32_t)i;
	return UINT32_MAX;
}

/* qsort_r()'s; arg: the tree of calls. */
static int longest_first(const void *x, const void *y, void *arg)
{
	return path_sums_compare(arg, *(const uint32_t *)x, *(const uint32_t *)y);
}

/* The caller frees the list. Node 0 is the root, which is nobody's child: as `child` or `next` it
 * ends a list. */
browse_nodes browse_children(const struct browse *b, uint32_t node)
{
	const struct path_node *nodes = b->paths.nodes.at;
	browse_nodes all = { 0 };

	for (uint32_t i = nodes[node].child; i; i = nodes[i].next)
		*vec_add(&all) = i;
	if (all.n)
		qsort_r(all.at, all.n, sizeof(*all.at), longest_first, (void *)&b->paths);
	return all;
}

/* In 128 bits, since ticks times 10000 may exceed 64. */
unsigned browse_share(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned)((unsigned __int128)part * 10000 / whole) : 0;
}

uint64_t browse_ns(const struct browse *b, uint64_t ticks)
{
	return trace_clock_delta_ns(&b->info->clock, ticks);
}

/* djb2: equal names have equal colours on every screen and in every run. */
enum grid_look browse_look(const char *name)
{
	unsigned h = 5381;

	while (*name)
		h = h * 33 ^ (unsigned char)*name++;
	return GRID_BOX + h % GRID_BOXES;
}

char *browse_label(const char *name, const char *module)
{
	return *module ? mem_printf("%s [%s]", name, module) : mem_strdup(name);
}

/* No range: enter_timeline() looks the slowest call up, as soon as there is a survey. UINT64_MAX is
 * no time of a trace: it asks for this search. */
void browse_show_slowest(struct browse *b)
{
	b->line.columns = 0; /* it is drawn anew */
	b->line.from = UINT64_MAX;
	browse_go(b, BROWSE_SCREEN_TIMELINE);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* The first row: all screens with their keys; the one that is shown stands out. */
static void draw_tabs(const struct browse *b, struct grid *g)
{
	unsigned at = 0;
	char text[64];

	grid_paint(g, 0, 0, g->columns, GRID_BAR);
	for (unsigned s = 0; s < BROWSE_SCREENS_N; s++) {
		snprintf(text, sizeof(text), "%c %s", (char)screens[s]->key, screens[s]->title);
		at += grid_text(g, 0, at, g->columns,
				s == b->screen ? GRID_CHOSEN : GRID_BAR, text);
		at += grid_text(g, 0, at, g->columns, GRID_BAR, "  ");
	}
}

/* The keys that are all screens', then those of this one. */
static void draw_help(const struct browse *b, struct grid *g)
{
	static const char *const common[] = {
		"1-7, Tab, Shift-Tab   the screens above",
		"/ text Enter          search (* and ? are patterns); n the next one",
		"e                     the source of the chosen function, in $EDITOR",
		"b Backspace           the function that was chosen before",
		"q, Ctrl-C             end          R  read again: what was interrupted, what has come",
		"", NULL
	};
	const struct browse_screen *s = screen_of(b);
	unsigned row = 2;

	for (unsigned i = 0; common[i]; i++)
		grid_text(g, row++, 2, g->columns, GRID_PLAIN, common[i]);
	for (unsigned i = 0; s->help && s->help[i]; i++)
		grid_text(g, row++, 2, g->columns, GRID_PLAIN, s->help[i]);
}

/* The file, and the function that is chosen. */
static void draw_last(const struct browse *b, struct grid *g)
{
	char *label;
	unsigned at;

	if (b->prompt.label) {
		prompt_draw(&b->prompt, g);
		return;
	}
	if (*b->said) {
		grid_text(g, g->rows - 1, 0, g->columns, GRID_WARNING, b->said);
		return;
	}
	at = grid_text(g, g->rows - 1, 0, g->columns / 2, GRID_DIM, "? help  q end  ");
	at += grid_name(g, g->rows - 1, at, g->columns / 3, GRID_DIM, b->name);
	if (!b->chosen.name || at + 4 >= g->columns)
		return;
	label = browse_label(b->chosen.name, b->chosen.module);
	grid_name(g, g->rows - 1, at + 2, g->columns - at - 2, GRID_BOLD, label);
	free(label);
}

/* In order: the help, why there is nothing, the screen itself between first and last row. */
void browse_draw(struct browse *b, struct grid *g)
{
	const struct browse_screen *s = screen_of(b);

	draw_tabs(b, g);
	if (b->help)
		draw_help(b, g);
	else if (s->nested && b->flat)
		grid_text(g, 2, 2, g->columns, GRID_WARNING, b->flat);
	else if (!b->has[s->part])
		grid_text(g, 2, 2, g->columns, GRID_WARNING,
			  b->failed[s->part].code == EINTR ? "interrupted; R reads it again"
							   : b->failed[s->part].text);
	else if (g->rows > 2)
		s->draw(b, g, 1, g->rows - 2);
	if (g->rows > 1)
		draw_last(b, g);
}

/* Called while a part is read, on the thread that waits for it; progress is read as it comes. */
void browse_draw_progress(struct browse *b, enum browse_part part, struct grid *g)
{
	static const char *const what[] = { "functions", "threads", "calls in calls", "calls by time" };
	char text[128];
	unsigned share = progress_share(&b->progress);

	draw_tabs(b, g);
	snprintf(text, sizeof(text), "reading %s: %u %% (Escape: stop)", what[part], share / 100);
	grid_text(g, 2, 2, g->columns, GRID_BOLD, text);
	if (g->columns > 4)
		grid_paint(g, 3, 2, (g->columns - 4) * share / 10000, GRID_BAR);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The next match behind the chosen row, on whatever screen is shown; silent where one has no
 * search. */
static void search_next(struct browse *b)
{
	const struct browse_screen *s = screen_of(b);

	if (*b->search && s->search && b->has[s->part] && !s->search(b, b->search))
		browse_say(b, "nothing matches %s", b->search);
}

/* One step back of browse_follow(). The screen takes the function anew. */
static void go_back(struct browse *b)
{
	if (!b->before.n)
		return;
	b->chosen = b->before.at[--b->before.n];
	browse_go(b, b->screen);
}

/* Looks the chosen function's line up. BROWSE_EDIT: b->source has it, and an editor is wanted. */
static enum browse_answer find_source(struct browse *b)
{
	struct err err;

	if (!b->chosen.name) {
		browse_say(b, "choose a function first");
		return BROWSE_ON;
	}
	free(b->source.path);
	b->source.path = NULL;
	if (!source_line_of(b->info, b->chosen.name, b->chosen.module, &b->source.path,
			    &b->source.line, &err))
		return BROWSE_EDIT;
	browse_say(b, "%s", err.text);
	return BROWSE_ON;
}

/* Forgets failures, so that browse_wants() asks for these parts once more. */
static void read_again(struct browse *b)
{
	memset(b->failed, 0, sizeof(b->failed));
}

/* A screen's own key, Tab or Shift-Tab. False: the key is none of them. */
static bool change_screen(struct browse *b, unsigned key)
{
	for (unsigned s = 0; s < BROWSE_SCREENS_N; s++)
		if (screens[s]->key == key) {
			browse_go(b, s);
			return true;
		}
	if (key != VIEW_TAB && key != VIEW_BACK_TAB)
		return false;
	browse_go(b, (b->screen + (key == VIEW_TAB ? 1 : BROWSE_SCREENS_N - 1)) % BROWSE_SCREENS_N);
	return true;
}

/* Keys that mean the same everywhere. */
static enum browse_answer press_common(struct browse *b, const struct view_event *e)
{
	if (change_screen(b, e->key))
		return BROWSE_ON;
	switch (e->key) {
	case 'q':
		return BROWSE_QUIT;
	case '/':
		prompt_open(&b->prompt, "search: ");
		return BROWSE_ON;
	case 'n':
		search_next(b);
		return BROWSE_ON;
	case 'b': case VIEW_BACKSPACE:
		go_back(b);
		return BROWSE_ON;
	case 'e':
		return find_source(b);
	case 'R':
		read_again(b);
		return BROWSE_ON;
	case 's':
		browse_show_slowest(b);
		return BROWSE_ON;
	case 'H':
		browse_go(b, BROWSE_SCREEN_HISTOGRAM);
		return BROWSE_ON;
	default:
		return BROWSE_ON;
	}
}

/* While the prompt is open all keys are its. */
static void press_prompt(struct browse *b, const struct view_event *e)
{
	if (prompt_key(&b->prompt, e) != PROMPT_GIVEN)
		return;
	snprintf(b->search, sizeof(b->search), "%s", b->prompt.text);
	search_next(b);
}

/* Keys go to the prompt, then to the help, then to the screen; those that a screen does not take
 * mean the same everywhere. A hang-up and a resize come as keys, too, and must work while a prompt
 * is open. */
enum browse_answer browse_key(struct browse *b, const struct view_event *e)
{
	const struct browse_screen *s = screen_of(b);

	if (e->key == VIEW_HUNG_UP || e->key == VIEW_INTERRUPT)
		return BROWSE_QUIT;
	if (e->key == VIEW_RESIZED || e->key == VIEW_NONE)
		return BROWSE_ON;
	/* A sentence stays for one key. */
	*b->said = '\0';
	if (b->prompt.label) {
		press_prompt(b, e);
		return BROWSE_ON;
	}
	if (b->help || e->key == '?' || e->key == VIEW_HELP) {
		b->help = !b->help;
		return BROWSE_ON;
	}
	if (b->has[s->part] && !(s->nested && b->flat) && s->press(b, e))
		return BROWSE_ON;
	return press_common(b, e);
}
