/* SPDX-License-Identifier: MIT */
/* The tables of a fleet's database, which is ClickHouse's: their columns, the statements that make
 * them, and blocks of rows in its format Native (columns one after the other, little-endian). The
 * statements use what ClickHouse 18.16 and today's versions share. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"
#include "base/vec.h"

enum fleet_type {
	FLEET_DATE,      /* days since 1970, UTC */
	FLEET_TIME,      /* seconds since 1970 */
	FLEET_U16,
	FLEET_U32,
	FLEET_U64,
	FLEET_TEXT,      /* any bytes */
	FLEET_SMALLS,    /* an array of bytes */
	FLEET_COUNTS,    /* an array of numbers of 64 bits */
	FLEET_TYPES,
};

#define FLEET_COLUMNS_MAX 16

struct fleet_table {
	const char *name;
	struct fleet_column {
		const char *name;
		enum fleet_type type;
		bool same;            /* a block's rows have one value, of a number */
	} columns[FLEET_COLUMNS_MAX]; /* ends with a name that is NULL, if there is room */
	const char *engine;           /* what the statement that makes the table ends with */
};

enum fleet_table_number {
	FLEET_FUNCTIONS, /* a row a function, whichever host it ran on */
	FLEET_MINUTES,   /* sums of a function's calls in a minute of a run */
	FLEET_CALLS,     /* a row a call */
	FLEET_TRACES,    /* a row a part of a trace's file (fleet/trace_file.h) */
	FLEET_RUNS,      /* a row a trace, written last: it stands for a whole push */
	FLEET_TABLES,
};
extern const struct fleet_table fleet_tables[FLEET_TABLES];

/* The number of the table's columns. */
unsigned fleet_table_columns(const struct fleet_table *t);
/* Writes the statement that makes the table in a database, if it is not there. */
void fleet_table_create(const struct fleet_table *t, const char *database, struct out *o);

/* Tables as people ask for them: runs that were pushed whole, with names. Ends with a name that is
 * NULL. */
extern const struct fleet_view { const char *name, *select; } fleet_views[];
/* Writes the statement that makes the view in a database, if it is not there. */
void fleet_view_create(const struct fleet_view *v, const char *database, struct out *o);

/* Rows of one table. Zeroed but for `table`, it is empty. */
struct fleet_block {
	const struct fleet_table *table;
	size_t rows;
	uint32_t batch;  /* its number, when it is sent (fleet/sender.h) */
	unsigned next;   /* the column whose value comes next */
	struct {
		VEC(char) data;
		VEC(uint64_t) ends; /* of arrays: elements of all rows up to each */
		uint64_t same;      /* of a column that has one value: the last that was put */
	} columns[FLEET_COLUMNS_MAX];
};

/* Each puts the next column's value, of any type of numbers; its low bytes count. A row is whole
 * when its last column has one. */
void fleet_put_number(struct fleet_block *b, uint64_t value);
/* Puts the next n columns' values, as fleet_put_number() does one. */
void fleet_put_numbers(struct fleet_block *b, const uint64_t *values, unsigned n);
void fleet_put_text(struct fleet_block *b, const char *text);
/* A text of any bytes. */
void fleet_put_bytes(struct fleet_block *b, const char *bytes, size_t n);
void fleet_put_smalls(struct fleet_block *b, const uint8_t *values, size_t n);
void fleet_put_counts(struct fleet_block *b, const uint64_t *values, size_t n);
/* Writes the block's bytes; it keeps its rows. */
void fleet_block_write(const struct fleet_block *b, struct out *o);
/* Empties it; its table stays. */
void fleet_block_clear(struct fleet_block *b);
void fleet_block_free(struct fleet_block *b);
