/* SPDX-License-Identifier: MIT */
/* Cuts names as the screens of brace top and tui do (view/grid.c): the end tells more than the
 * middle. The printers of tables call it. A character is a column here: one that is wider makes the
 * line wrap, and nothing worse. Any thread; nothing fails. */
#include "report/row_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static const char gap[] = "..";
#define GAP (sizeof(gap) - 1)
#define NAME_LEAST 12u

/* Bytes of the character there, at least 1, so that a name with bytes that are not UTF-8 is gone
 * through as well. */
static size_t length_at(const char *s)
{
	uint32_t code;
	size_t n = utf8_character(s, strlen(s), &code);

	return n ? n : 1;
}

static size_t characters_of(const char *s)
{
	size_t n = 0;

	for (; *s; s += length_at(s))
		n++;
	return n;
}

/* The name in at most `room` characters; free() it. room is at least NAME_LEAST, and so more than
 * the gap. */
static char *cut_name(const char *name, size_t room)
{
	const size_t n = characters_of(name), head = (room - GAP) / 2;
	const char *left = name, *right = name;

	if (n <= room)
		return mem_strdup(name);
	for (size_t i = 0; i < head; i++)
		left += length_at(left);
	for (size_t i = 0; i < n - (room - GAP - head); i++)
		right += length_at(right);
	return mem_printf("%.*s%s%s", (int)(left - name), name, gap, right);
}

/* A file's name gives way before the function's does. out->width 0: not a terminal, where nothing
 * is cut, since a program may read it. foreign: the name is escaped here; names of functions and
 * files were escaped when the trace file was read (store/info_read.c). */
void row_name_print(struct out *out, unsigned used, const char *name, const char *file,
		    bool foreign)
{
	size_t file_columns = file ? strlen(file) + 3 : 0, room = SIZE_MAX;
	char *cut;

	if (out->width)
		room = out->width > used + NAME_LEAST ? out->width - used : NAME_LEAST;
	if (room < file_columns + NAME_LEAST)
		file = NULL;
	else
		room -= file_columns;
	cut = cut_name(name, room);
	foreign ? out_name(out, cut, strlen(cut)) : out_str(out, cut);
	free(cut);
	if (file) {
		out_str(out, " [");
		out_str(out, file);
		out_char(out, ']');
	}
	out_char(out, '\n');
}
