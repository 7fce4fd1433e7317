/* SPDX-License-Identifier: MIT */
/* An expression up to the first newline, and behind it an ELF file whose debug information tells of
 * variables, lines and functions; or, if it is none, operations of a location expression, 16 bytes
 * each. What is answered is within its bounds. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sym/dwarf_location.h"
#include "sym/source.h"

#define OPS 80u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_chain(const struct sym_chain *c)
{
	if (c->base > SYM_CHAIN_RESULT || c->loads > SYM_CHAIN_LOADS)
		abort();
}

static void check_operations(const uint8_t *bytes, size_t n)
{
	const struct sym_chain cfa = { .base = SYM_CHAIN_REGISTER, .reg = 7, .offsets = { 8 } };
	const struct dwarf_frame known = { &cfa, &cfa }, none = { NULL, NULL };
	Dwarf_Op ops[OPS] = { 0 };
	struct sym_chain chain;
	size_t count = n / 16 < OPS ? n / 16 : OPS;
	bool memory;

	for (size_t i = 0; i < count; i++) {
		ops[i].atom = bytes[16 * i];
		memcpy(&ops[i].number, bytes + 16 * i + 1, 8);
		memcpy(&ops[i].number2, bytes + 16 * i + 9, 7);
	}
	if (!dwarf_location(ops, count, &known, &chain, &memory))
		check_chain(&chain);
	if (!dwarf_location(ops, count, &none, &chain, &memory))
		check_chain(&chain);
}

static void check_scope(struct sym_source_info *s, uint64_t vaddr, const char *text, size_t n)
{
	struct sym_scope *sc;
	struct sym_fetched f;
	sym_variables v;
	struct err err;
	uint64_t behind;

	if (sym_scope_at(s, vaddr, &sc, &err) < 0)
		return;
	sym_scope_variables(sc, &v);
	for (size_t i = 0; i < v.n; i++)
		if (!sym_scope_fetch(sc, v.at[i].name, strlen(v.at[i].name), false, i & 1, &f, &err))
			check_chain(&f.chain);
	sym_variables_free(&v);
	for (unsigned i = 0; i < 4; i++)
		if (!sym_scope_fetch(sc, text, n, i & 1, i & 2, &f, &err))
			check_chain(&f.chain);
		else if (err.column > n)
			abort();
	sym_scope_function(sc, &behind);
	sym_scope_free(sc);
}

/* Lines of instructions all over the file. */
static void check_positions(struct sym_source_info *s, uint64_t vaddr)
{
	struct sym_source_position at[16] = { 0 };
	struct err err;

	for (size_t i = 0; i < 16; i++)
		at[i].vaddr = vaddr + (i & 1 ? i << 7 : i);
	sym_source_positions_find(s, at, 16, &err);
	for (size_t i = 0; i < 16; i++) {
		if (!at[i].line != !at[i].path)
			abort();
		free(at[i].path);
	}
}

/* The text as a member of the first structure with one of a few names. */
static void check_structure(struct sym_source_info *s, const char *text, size_t n)
{
	static const char *const names[] = { "node", "item", "S" };
	struct sym_structure *st;
	struct sym_fetched f;
	struct err err;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (sym_structure_find(s, names[i], &st, &err) < 0)
			continue;
		sym_structure_has(st, text, n);
		if (!sym_structure_fetch(st, text, 0, n, &f, &err))
			check_chain(&f.chain);
		sym_structure_free(st);
	}
}

static void check_source(const struct sym_module *m, const char *text, size_t n)
{
	struct sym_source_function f;
	struct sym_source_info *s;
	sym_source_places places;
	sym_source_numbers numbers;
	struct err err;
	char *path;

	if (sym_source_open(m, &s, &err) < 0)
		return;
	check_positions(s, m->functions.n ? m->functions.at[0].vaddr : 0x1000);
	for (size_t i = 0; i < m->functions.n && i < 4; i++)
		check_scope(s, m->functions.at[i].vaddr + (i & 1 ? 5 : 0), text, n);
	if (!sym_source_function(s, "main", NULL, &f, &err)) {
		if (!sym_source_lines(s, f.path, "main", &numbers, &path, &err)) {
			free(path);
			vec_free(&numbers);
		}
		if (!sym_source_line(s, f.path, f.line + 1, NULL, &places, &err)) {
			check_scope(s, places.at[0].vaddr, text, n);
			vec_free(&places);
		}
		free(f.path);
	}
	check_structure(s, text, n);
	sym_source_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *end = memchr(bytes, '\n', n);
	size_t text = end ? (size_t)(end - bytes) : n, rest = end ? n - text - 1 : 0;
	struct sym_module *m;
	struct err err;

	if (!rest || text > 256)
		return 0;
	if (sym_open_bytes(end + 1, rest, "input", &m, &err)) {
		check_operations(end + 1, rest);
		return 0;
	}
	check_source(m, (const char *)bytes, text);
	sym_close(m);
	return 0;
}
