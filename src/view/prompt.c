/* SPDX-License-Identifier: MIT */
/* Used by the screens; nothing fails. What does not fit is not taken. On the thread that draws. */
#include "view/prompt.h"

#include <string.h>

#include "base/utf8.h"

void prompt_open(struct prompt *p, const char *label)
{
	*p = (struct prompt){ .label = label };
}

/* A whole character. */
static void take_back(struct prompt *p)
{
	size_t n = strlen(p->text);

	while (n && ((unsigned char)p->text[n - 1] & 0xc0) == 0x80)
		n--;
	p->text[n ? n - 1 : 0] = '\0';
}

/* Enter and Escape close it. Keys from VIEW_UP on are no characters. */
enum prompt_answer prompt_key(struct prompt *p, const struct view_event *e)
{
	size_t n = strlen(p->text);

	if (e->key == VIEW_ENTER || e->key == VIEW_ESCAPE) {
		p->label = NULL;
		return e->key == VIEW_ENTER ? PROMPT_GIVEN : PROMPT_LEFT;
	}
	if (e->key == VIEW_BACKSPACE)
		take_back(p);
	else if (e->key >= ' ' && e->key < VIEW_UP && n + UTF8_LONGEST < sizeof(p->text))
		p->text[n + utf8_write(e->key, p->text + n)] = '\0';
	return PROMPT_OPEN;
}

/* On the last row; the block at the end is the cursor. */
void prompt_draw(const struct prompt *p, struct grid *g)
{
	unsigned at = grid_text(g, g->rows - 1, 0, g->columns, GRID_BOLD, p->label);

	at += grid_text(g, g->rows - 1, at, g->columns, GRID_PLAIN, p->text);
	grid_text(g, g->rows - 1, at, 1, GRID_CHOSEN, " ");
}
