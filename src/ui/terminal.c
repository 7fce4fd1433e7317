/* SPDX-License-Identifier: MIT */
/* Called by cmd/tui.c on the only thread, and by cmd/top.c on the monitor's. ncurses keeps the
 * terminal's state, which terminal_close() restores, also when memory runs out. ncurses has
 * handlers of SIGINT and SIGTERM only where there are none: the commands have theirs. A terminal
 * that cannot do it is -errno and a sentence. */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include "ui/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

#define ESCAPE_MS 25     /* a key's bytes follow its ESC within that time */

struct terminal {
	SCREEN *screen;
	FILE *in, *out;
	bool ascii;
	attr_t looks[GRID_LOOKS_N];
	short pairs[GRID_LOOKS_N];
	struct mem_last_act last_act;
};

/* --- opening ---------------------------------------------------------------------------------- */

/* --color decides; without it the absence of NO_COLOR. */
static bool wants_colour(const struct invocation *inv)
{
	const char *no = getenv("NO_COLOR");

	if (inv->colour != COLOUR_AUTO)
		return inv->colour == COLOUR_ALWAYS;
	return !(no && *no);
}

/* Looks without colours; boxes beside each other differ. */
static const attr_t plain_looks[GRID_LOOKS_N] = {
	[GRID_BOLD] = A_BOLD, [GRID_DIM] = A_DIM, [GRID_BAR] = A_REVERSE,
	[GRID_CHOSEN] = A_REVERSE | A_BOLD, [GRID_WARNING] = A_BOLD,
	[GRID_BOX] = A_REVERSE, [GRID_BOX + 1] = A_UNDERLINE, [GRID_BOX + 2] = A_REVERSE | A_DIM,
	[GRID_BOX + 3] = A_BOLD | A_UNDERLINE, [GRID_BOX + 4] = A_REVERSE | A_UNDERLINE,
	[GRID_BOX + 5] = A_UNDERLINE | A_DIM,
};

/* Colours only where the terminal has them: looks without them stay apart as well. */
static void choose_looks(struct terminal *t, bool colour)
{
	static const short boxes[GRID_BOXES] = { COLOR_YELLOW, COLOR_RED, COLOR_GREEN, COLOR_CYAN,
						 COLOR_MAGENTA, COLOR_BLUE };

	memcpy(t->looks, plain_looks, sizeof(t->looks));
	if (!colour || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (short i = 0; i < GRID_BOXES; i++) {
		init_pair((short)(i + 1), COLOR_BLACK, boxes[i]);
		t->pairs[GRID_BOX + i] = (short)(i + 1);
		t->looks[GRID_BOX + i] = A_NORMAL;
	}
	init_pair(GRID_BOXES + 1, COLOR_RED, -1);
	t->pairs[GRID_WARNING] = GRID_BOXES + 1;
}

/* Out of memory: the terminal is left first. */
static bool leave_screen(struct mem_last_act *self)
{
	endwin();
	return false;
}

/* A stream of its own on the descriptor: ncurses closes neither. NULL: no descriptor is left. */
static FILE *stream_of(int fd, const char *mode)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return own < 0 ? NULL : fdopen(own, mode);
}

/* Keys come one by one, and none is a signal: the screens have their own meaning for Ctrl-C. */
static void set_modes(void)
{
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	meta(stdscr, TRUE);
	curs_set(0);
	set_escdelay(ESCAPE_MS);
	mousemask(BUTTON1_CLICKED | BUTTON1_PRESSED, NULL);
	mouseinterval(0);
}

/* *out only if 0 is returned. The locale is the user's from here on: it decides what can be
 * drawn. */
int terminal_open(const struct invocation *inv, int input, int output, struct terminal **out,
		  struct err *err)
{
	struct terminal *t = mem_zalloc(sizeof(*t));

	setlocale(LC_CTYPE, "");
	t->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	t->in = stream_of(input, "r");
	t->out = stream_of(output, "w");
	t->screen = t->in && t->out ? newterm(NULL, t->out, t->in) : NULL;
	if (!t->screen) {
		if (t->in)
			fclose(t->in);
		if (t->out)
			fclose(t->out);
		free(t);
		return err_set(err, ENOTTY, "the terminal cannot be drawn on");
	}
	set_modes();
	choose_looks(t, wants_colour(inv));
	t->last_act.act = leave_screen;
	mem_last_act_add(&t->last_act);
	*out = t;
	return 0;
}

/* The last picture goes with ncurses's own screen, where the terminal has two. */
void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	mem_last_act_remove(&t->last_act);
	/* Where there is no other screen to go back to, the next line stands here. */
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	delscreen(t->screen);
	fclose(t->in);
	fclose(t->out);
	free(t);
}

/* For poll() and ioctl(); it stays ncurses's. */
int terminal_fd(const struct terminal *t)
{
	return fileno(t->out);
}

/* The terminal is another program's (an editor's) until terminal_resume(). */
void terminal_pause(struct terminal *t)
{
	def_prog_mode();
	endwin();
}

/* Everything is drawn anew: nobody knows what the other program left. */
void terminal_resume(struct terminal *t)
{
	reset_prog_mode();
	clearok(stdscr, TRUE);
	refresh();
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Asks the terminal each time: a SIGWINCH may have come to another thread. */
void terminal_begin(struct terminal *t, struct grid *g)
{
	struct winsize size = { 0 };

	if (!ioctl(terminal_fd(t), TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
	    (size.ws_row != LINES || size.ws_col != COLS))
		resizeterm(size.ws_row, size.ws_col);
	g->ascii = t->ascii;
	grid_resize(g, (unsigned)LINES, (unsigned)COLS);
}

/* Characters from `from` on that look the same; the grid's last column ends them. */
static unsigned run_of(const struct grid_cell *row, unsigned from, unsigned n)
{
	unsigned to = from + 1;

	while (to < n && row[to].look == row[from].look)
		to++;
	return to;
}

/* A row is sent in runs of one look; a wide character's second cell has no code. */
static void show_row(const struct terminal *t, const struct grid *g, unsigned y)
{
	const struct grid_cell *row = g->at + (size_t)y * g->columns;
	wchar_t *text = mem_realloc(NULL, g->columns + 1, sizeof(*text));

	for (unsigned x = 0, to; x < g->columns; x = to) {
		unsigned look = row[x].look < GRID_LOOKS_N ? row[x].look : GRID_PLAIN;
		int n = 0;

		to = run_of(row, x, g->columns);
		for (unsigned i = x; i < to; i++)
			if (row[i].code)
				text[n++] = (wchar_t)row[i].code;
		attr_set(t->looks[look], t->pairs[look], NULL);
		mvaddnwstr((int)y, (int)x, text, n);
	}
	free(text);
}

/* ncurses sends what differs from the last time. */
void terminal_show(struct terminal *t, const struct grid *g)
{
	for (unsigned y = 0; y < g->rows; y++)
		show_row(t, g, y);
	attr_set(A_NORMAL, 0, NULL);
	refresh();
}

/* --- keys ------------------------------------------------------------------------------------- */

static const struct { int code; unsigned key; } keys[] = {
	{ KEY_UP, VIEW_UP }, { KEY_DOWN, VIEW_DOWN }, { KEY_LEFT, VIEW_LEFT },
	{ KEY_RIGHT, VIEW_RIGHT }, { KEY_PPAGE, VIEW_PAGE_UP }, { KEY_NPAGE, VIEW_PAGE_DOWN },
	{ KEY_HOME, VIEW_HOME }, { KEY_END, VIEW_END }, { KEY_BACKSPACE, VIEW_BACKSPACE },
	{ KEY_BTAB, VIEW_BACK_TAB }, { KEY_F(1), VIEW_HELP }, { KEY_ENTER, VIEW_ENTER },
	{ KEY_RESIZE, VIEW_RESIZED },
};

/* Keys that no screen has stay VIEW_NONE. */
static void take_special(int code, struct view_event *e)
{
	MEVENT mouse;

	if (code == KEY_MOUSE && getmouse(&mouse) == OK)
		*e = (struct view_event){ VIEW_CLICK, (unsigned)mouse.y, (unsigned)mouse.x };
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].code == code)
			e->key = keys[i].key;
}

/* Both bytes that terminals send for backspace mean it. */
static void take_character(wint_t c, struct view_event *e)
{
	e->key = c == '\r' ? VIEW_ENTER : c == 127 || c == 8 ? VIEW_BACKSPACE
				      : (unsigned)c < VIEW_UP ? (unsigned)c : VIEW_NONE;
}

/* ncurses does not tell an end of input from its absence. */
static bool is_hung_up(const struct terminal *t)
{
	struct pollfd p = { .fd = fileno(t->in), .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* wait_ms 0: only what has come. VIEW_NONE: nothing has. */
void terminal_key(struct terminal *t, unsigned wait_ms, struct view_event *e)
{
	wint_t c;
	int got;

	*e = (struct view_event){ .key = VIEW_NONE };
	if (is_hung_up(t)) {
		e->key = VIEW_HUNG_UP;
		return;
	}
	wtimeout(stdscr, (int)wait_ms);
	got = get_wch(&c);
	if (got == KEY_CODE_YES)
		take_special((int)c, e);
	else if (got == OK)
		take_character(c, e);
}
