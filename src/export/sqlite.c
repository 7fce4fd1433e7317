/* SPDX-License-Identifier: MIT */
/* The row of a format that is made of the tables of src/query, which stands above this folder:
 * `brace export` writes it by query_save(). Constants only, for any thread. */
#include "export/formats.h"

const struct exporter export_sqlite = {
	.name = "sqlite", .summary = "a database with brace query's tables, for sqlite3",
	.binary = true, .database = true,
	.holds = HOLDS_EVENTS | HOLDS_LOSSES | HOLDS_ARGUMENTS | HOLDS_VALUES | HOLDS_ENDS |
		 HOLDS_KERNEL,
};
