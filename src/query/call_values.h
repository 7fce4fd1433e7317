/* SPDX-License-Identifier: MIT */
/* Arguments and returned values of calls: a row for each, and for each member and element of one.
 * Private to src/query. */
#pragma once
#include "base/keyed_hash.h"
#include "base/number_map.h"
#include "query/load.h"
#include "report/arguments.h"

/* A value. text, bytes: of call_values.texts; of a number its digits. */
struct call_value_row {
	uint64_t number;     /* or the bits of a double (ARGUMENT_FLOAT) */
	uint64_t text;
	uint32_t bytes;
	uint32_t slice, key; /* key: of call_values.keys */
	uint8_t kind;        /* enum argument_kind, without OPEN, CLOSE, LIST, LIST_END */
	bool more;           /* it has more than the record: ARGUMENT_UNKNOWN: elements, members */
};

/* "list[1].x", and without its indexes "list.x". */
struct call_value_key { char *key, *flat; };

struct values_of_calls {
	struct array_file rows, texts;            /* rows: sorted by slice */
	VEC(struct call_value_key) keys;
	struct number_map key_rows;          /* hash -> the first key that has it */
	struct hash_key key;                 /* of these hashes */
	bool made;
};

/* Takes apart what the loaded calls have, the first time. 0, or -errno and *err. */
int call_values_make(struct values_of_calls *v, struct load *l, struct err *err);
/* Frees what call_values_make() made; nothing if it was not called or failed. */
void call_values_free(struct values_of_calls *v);

/* The number of values of all calls. */
static inline size_t call_values_n(const struct values_of_calls *v)
{
	return v->rows.bytes / sizeof(struct call_value_row);
}
/* The rows, valid until call_values_free(). */
static inline const struct call_value_row *call_values_rows(const struct values_of_calls *v)
{
	return v->rows.at;
}
/* The first row of that call or of a later one; call_values_n(): there is none. */
size_t call_values_first(const struct values_of_calls *v, size_t slice);
/* The text of a row, row->bytes long, without a NUL. */
static inline const char *call_values_text(const struct values_of_calls *v,
					   const struct call_value_row *row)
{
	return (const char *)v->texts.at + row->text;
}
