/* SPDX-License-Identifier: MIT */
/* A traced function's parameters and result as one line of text: "d4(item=p,name=s,cents=d4)".
 * brace writes it when it plans the function (sym/arguments.h, image/arguments.h), the trace file
 * keeps it, and readers find the values in a record by it. The text may come from a file that
 * anybody wrote.
 *
 *   prototype  = returned [ "(" [ parameter { "," parameter } ] ")" ]
 *   returned   = TYPE | "R" CLASS [ CLASS ] WHOLE | "M" WHOLE
 *                                               a value that has its words in registers, or lies in
 *                                               memory, where rax tells
 *   CLASS      = "i" | "f" | "x" | "v"          the next of rax and rdx, of xmm0 and xmm1; st0; all
 *                                               16 bytes of xmm0
 *   WHOLE      = "o" BYTES "{" [ member { "," member } ] "}" | "p" | WIDE | ARRAY
 *   WIDE       = "q" | "Q" | "l" | "g" | "G" | "z" BYTES
 *                                               a signed, an unsigned number of 16 bytes; long
 *                                               double; __float128; _Decimal128; a complex
 *                                               number, BYTES each part
 *   ARRAY      = "[" COUNT [ "+" ] TYPE         the first elements of an array or a vector of
 *                                               values, behind which there are more (+)
 *   parameter  = [ NAME "=" ] ( TYPE | "X" BYTES ( ARRAY | WIDE ) ) | "..."
 *                                               X: a value of 8 or 16 bytes that is no structure
 *   TYPE       = "d" BYTES | "u" BYTES          a signed, an unsigned number
 *              | "c" | "b" | "f" BYTES          char, bool, a floating-point number
 *              | "D" BYTES                      a decimal one, of 4 or 8 bytes
 *              | "p" | "s"                      a pointer, a string through a pointer
 *              | ( "e" | "E" ) BYTES "{" { NAME ":" NUMBER ";" } "}"
 *                                               E: one of the names below 4, and bits, as of open
 *              | "S" | "V" | "U"              std::string by its address, std::string_view, the
 *                                               pointer that lies at an address
 *              | ( "o" | "O" ) BYTES "{" [ member { "," member } ] "}"
 *                                               a structure by value, by its address
 *              | "v" | "?" | "-"                nothing, not known, not asked for
 *   member     = NAME "@" OFFSET "=" ( TYPE | WIDE | "a" BYTES | ARRAY ) | "..."
 *                                               a: characters in place
 *
 * Values lie in the record in the order of the parameters, each at a multiple of its size; a
 * string has 4 bytes, length << 16 | place, and its bytes behind all values. A structure, or an X,
 * is a copy of its BYTES at a multiple of 8, behind it the 4 bytes of each of its strings. One by
 * its address has the address first, and behind the copy a byte that is 0 if it could not be
 * read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOTYPE_PARAMETERS 24u
#define PROTOTYPE_VALUES 64u /* parameters and members of structures */
#define PROTOTYPE_BLOCK 128u /* bytes of a structure */
#define PROTOTYPE_FIRST 16u /* of the first value, from the record's header on */
#define PROTOTYPE_ELEMENTS 8u /* of an array */
#define PROTOTYPE_STRING 64u /* bytes that are shown of a string; one more tells that it goes on */
#define PROTOTYPE_WHOLE_BYTES 64u /* of a returned value that is more than rax or xmm0 */

enum prototype_type {
	PROTOTYPE_VOID, PROTOTYPE_UNKNOWN, PROTOTYPE_UNASKED, PROTOTYPE_SIGNED, PROTOTYPE_UNSIGNED,
	PROTOTYPE_CHAR, PROTOTYPE_BOOL, PROTOTYPE_FLOAT, PROTOTYPE_POINTER, PROTOTYPE_STRING_AT,
	PROTOTYPE_ENUM, PROTOTYPE_STRUCT, PROTOTYPE_CHARS, PROTOTYPE_ARRAY,
	/* of members, and of what prototype_whole() tells: up to 16 bytes */
	PROTOTYPE_WIDE_SIGNED, PROTOTYPE_WIDE_UNSIGNED, PROTOTYPE_LONG_DOUBLE, PROTOTYPE_QUAD,
	PROTOTYPE_COMPLEX,
	PROTOTYPE_WHOLE, /* what is returned, if prototype_whole() tells it */
};
#define PROTOTYPE_TYPES_N (PROTOTYPE_WHOLE + 1)

/* The way to a string or a pointer. PLAIN: the argument is its address. */
enum prototype_form {
	PROTOTYPE_PLAIN, PROTOTYPE_OBJECT, PROTOTYPE_VIEW, PROTOTYPE_INDIRECT,
};

/* The pointers lead into the text. */
struct prototype_value {
	uint8_t type, size;       /* enum prototype_type; bytes of the value, 0: it has none */
	uint16_t at;              /* in the record; of what is returned: 0 */
	uint8_t form;             /* enum prototype_form */
	/* STRUCT: how many of the values behind this one are its members; there are others; it was
	 * passed by its address, which is the value then */
	uint8_t members;
	uint8_t elements, element; /* ARRAY: their number, more: there are others; their type */
	bool more, by_address;
	bool moded;               /* ENUM: the names below 4 are those of its lowest two bits */
	bool decimal;             /* FLOAT, QUAD: IEEE's decimal format, of a binary significand */
	uint16_t block, bytes;    /* STRUCT, X: its copy, else 0; CHARS: bytes */
	uint16_t pointer;         /* a member that is a string: its address in the copy */
	const char *name;
	const char *names;        /* ENUM: "NAME:NUMBER;..." */
	uint32_t name_bytes, names_bytes;
};

/* Where a WHOLE lies. */
struct prototype_whole {
	bool memory;
	char classes[2];          /* of its words; 0: there is none */
	const char *text;         /* in the prototype's */
};

struct prototype {
	struct prototype_value returns;
	struct prototype_whole whole;
	/* each parameter, and behind a structure its members */
	struct prototype_value parameters[PROTOTYPE_VALUES];
	uint32_t n, taken;        /* values; parameters */
	bool takes;               /* it tells its parameters, perhaps that there are none */
	bool more;                /* there are others behind these */
	uint32_t fixed;           /* bytes of a record up to the last value's end */
};

/* Takes the text apart. False: it is malformed, or has more parameters than there may be; *out is
 * not to be used. */
bool prototype_parse(const char *text, struct prototype *out);

/* Registers behind a return, as a record of the call has them. */
struct prototype_registers {
	uint64_t numbers[2];      /* in the order of the convention */
	uint64_t vectors[2][2];   /* the first 16 bytes of each */
	uint64_t extended[2];     /* the top of the stack of long doubles */
};
#define PROTOTYPE_RECORD (PROTOTYPE_FIRST + PROTOTYPE_BLOCK)
/* Puts a returned PROTOTYPE_WHOLE together. at: `bytes` of what was recorded: struct
 * prototype_registers, or memory. *out gets a prototype with it as the only parameter, without a
 * name, and `record` a record of that, of which *recorded bytes are known. False: there are too few
 * bytes. */
bool prototype_whole(const struct prototype *p, const void *at, uint32_t bytes,
		     struct prototype *out, uint8_t record[PROTOTYPE_RECORD], uint32_t *recorded);

/* An array's element, i below v->elements, as a value without a name. */
struct prototype_value prototype_element(const struct prototype_value *v, uint32_t i);

/* The floating-point number in the lower bytes of a word: of two, four or eight bytes, by the
 * value. Of a decimal one: the nearest that there is. */
double prototype_real(const struct prototype_value *v, uint64_t number);
/* Writes a decimal number, of v->size bytes, with all its digits ("1.20", "3E+9", "NaN"), as the
 * standard's to-scientific-string, into a text of PROTOTYPE_DECIMAL bytes. */
#define PROTOTYPE_DECIMAL 64u
void prototype_decimal(const struct prototype_value *v, const void *at,
		       char text[PROTOTYPE_DECIMAL]);

/* One name of an enumeration: takes it from *at, which ends at `end`. False: there is none left. */
struct prototype_name { const char *text; uint32_t bytes; int64_t number; };
bool prototype_next_name(const char **at, const char *end, struct prototype_name *out);
