/* SPDX-License-Identifier: MIT */
/* The screens of brace tui over any trace file that can be read (html.c has the same ways to make
 * one): the input's first bytes are its keys. No cell of a screen is a control character. */
#include "base/escape.h"
#include "view/browse.h"
#include "trace_file.h"

/* A few bytes can stand for a million records. */
#define RECORDS_MOST 20000
#define KEYS 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(struct browse *b, struct grid *g)
{
	enum browse_part part = browse_wants(b);

	if (part != BROWSE_NOTHING) {
		browse_load(b, part);
		browse_loaded(b, part);
	}
	grid_resize(g, 24, 80);
	if (browse_wants(b) == BROWSE_NOTHING)
		browse_draw(b, g);
	for (unsigned i = 0; i < g->rows * g->columns; i++)
		if (g->at[i].code && !escape_is_printable(g->at[i].code))
			abort();
}

static void press(struct browse *b, struct grid *g, const uint8_t *at, size_t n)
{
	static const unsigned special[] = { VIEW_UP, VIEW_DOWN, VIEW_LEFT, VIEW_RIGHT, VIEW_PAGE_DOWN,
					    VIEW_END, VIEW_HOME, VIEW_ENTER, VIEW_BACKSPACE };

	for (size_t i = 0; i < n; i++) {
		unsigned key = at[i] < 128 ? at[i] : special[at[i] % (sizeof(special) / sizeof(*special))];

		/* The source is another target's. */
		if (key == 'e' && !b->prompt.label)
			continue;
		browse_key(b, &(struct view_event){ .key = key });
		draw(b, g);
	}
}

/* The last one's: trace_file_run() hands on the file alone. */
static const uint8_t *keys;
static size_t n_keys;

static void look(const uint8_t *bytes, size_t n)
{
	struct store_description about;
	struct store_reader *r;
	struct grid g = {0};
	struct browse b;
	struct err err;

	if (store_open_bytes("fuzz", bytes, n, &r, &err))
		return;
	store_describe(r, &about);
	if (about.records <= RECORDS_MOST) {
		browse_init(&b, r, "fuzz");
		draw(&b, &g);
		for (char screen = '1'; screen <= '7'; screen++)
			press(&b, &g, (const uint8_t *)&screen, 1);
		press(&b, &g, keys, n_keys);
		browse_free(&b);
		grid_free(&g);
	}
	store_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	n_keys = data[0] % KEYS < size - 1 ? data[0] % KEYS : size - 1;
	keys = data + 1;
	return trace_file_run(data + 1 + n_keys, size - 1 - n_keys, look);
}
