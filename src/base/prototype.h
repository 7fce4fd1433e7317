/* SPDX-License-Identifier: MIT */
/* A traced function's parameters and result as one line of text: "d4(item=p,name=s,cents=d4)".
 * brace writes it when it plans the function (sym/arguments.h, image/arguments.h), the trace file
 * keeps it, and readers find the values in a record by it. The text may come from a file that
 * anybody wrote.
 *
 *   prototype  = TYPE [ "(" [ parameter { "," parameter } ] ")" ]
 *   parameter  = [ NAME "=" ] TYPE | "..."
 *   TYPE       = "d" BYTES | "u" BYTES          a signed, an unsigned number
 *              | "c" | "b" | "f" BYTES          char, bool, a floating-point number
 *              | "p" | "s"                      a pointer, a string through a pointer
 *              | "e" BYTES "{" { NAME ":" NUMBER ";" } "}"
 *              | "v" | "?" | "-"                nothing, not known, not asked for
 *
 * Values lie in the record in the order of the parameters, each at a multiple of its size; a
 * string has 4 bytes, length << 16 | place, and its bytes behind all values. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOTYPE_PARAMETERS 24u
#define PROTOTYPE_FIRST 16u /* of the first value, from the record's header on */
#define PROTOTYPE_STRING 64u /* bytes that are shown of a string; one more tells that it goes on */

enum prototype_type {
	PROTOTYPE_VOID, PROTOTYPE_UNKNOWN, PROTOTYPE_UNASKED, PROTOTYPE_SIGNED, PROTOTYPE_UNSIGNED,
	PROTOTYPE_CHAR, PROTOTYPE_BOOL, PROTOTYPE_FLOAT, PROTOTYPE_POINTER, PROTOTYPE_STRING_AT,
	PROTOTYPE_ENUM,
};

/* The pointers lead into the text. */
struct prototype_value {
	uint8_t type, size;       /* enum prototype_type; bytes of the value, 0: it has none */
	uint16_t at;              /* in the record; of what is returned: 0 */
	const char *name;
	const char *names;        /* ENUM: "NAME:NUMBER;..." */
	uint32_t name_bytes, names_bytes;
};

struct prototype {
	struct prototype_value returns;
	struct prototype_value parameters[PROTOTYPE_PARAMETERS];
	uint32_t n;
	bool takes;               /* it tells its parameters, perhaps that there are none */
	bool more;                /* there are others behind these */
	uint32_t fixed;           /* bytes of a record up to the last value's end */
};

/* Takes the text apart. False: it is malformed, or has more parameters than there may be; *out is
 * not to be used. */
bool prototype_parse(const char *text, struct prototype *out);

/* One name of an enumeration: takes it from *at, which ends at `end`. False: there is none left. */
struct prototype_name { const char *text; uint32_t bytes; int64_t number; };
bool prototype_next_name(const char **at, const char *end, struct prototype_name *out);
