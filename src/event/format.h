/* SPDX-License-Identifier: MIT */
/* The layout of an event's record: its `format` file, taken apart. Filters, triggers and decoders
 * look fields up here; tools read the text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

/* Every record begins with common_type, common_flags, common_preempt_count and common_pid. */
#define EVENT_COMMON_FIELDS 4u
#define EVENT_COMMON_BYTES 8u

/* The meaning of a field's type, as ftrace finds it from the type's words. */
enum event_field_kind {
	/* Everything that is none of the others; only sizes 1, 2, 4 and 8 can be compared. */
	EVENT_NUMBER,
	EVENT_STRING,        /* char[16]; char[] with size 0 reaches to the record's end */
	EVENT_DYNAMIC,       /* __data_loc char[]: 4 bytes, length << 16 | place in the record */
	EVENT_RELATIVE,      /* __rel_loc char[]: the place counts from after these 4 bytes */
	EVENT_POINTER,       /* char *: an address in the traced program */
	EVENT_CPUMASK,       /* __data_loc cpumask_t */
	EVENT_COMM,          /* no field of the record: the thread's name */
	EVENT_CPU,           /* the CPU */
	EVENT_STACK,         /* the stack, which histograms have as a key; nothing compares to it */
};

struct event_field {
	const char
		*type; /* with the dimension: "char[16]", "unsigned long[]", "__data_loc char[]" */
	const char *name;
	uint16_t offset, size;
	bool is_signed;
};

struct event_format {
	const char *system, *name;
	uint32_t id;
	const struct event_field *fields; /* without the common ones */
	size_t n;
	const char *print; /* the text after "print fmt: " */
	/* The event is one of ftrace's own: brace itself makes its records, which are always
	 * recorded, never enabled. */
	bool own;
};

extern const struct event_field event_common_fields[EVENT_COMMON_FIELDS];

/* The events of ftrace's own group that a traced program has; *n of them. */
const struct event_format *event_builtin(size_t *n);

/* Returns the kind of the field's type. */
enum event_field_kind event_field_kind(const struct event_field *f);

/* Returns the name of the event's own field that n characters are most like; NULL: they are like
 * none. It lives as long as the format. */
const char *event_nearest_field(const struct event_format *e, const char *name, size_t n);

/* Returns the field of that name, n characters: the event's own, then CPU, COMM and their like,
 * then the common ones; NULL: none. For CPU, COMM and their like *kind tells, and the field has no
 * size. */
const struct event_field *event_find_field(const struct event_format *e, const char *name, size_t n,
					   enum event_field_kind *kind);

/* Returns the bytes of the fixed fields, the common ones included. */
uint32_t event_record_bytes(const struct event_format *e);

/* The `format` file's text; free() it. */
char *event_format_read(const struct event_format *e);

/* Parses the text of a `format` file. Returns NULL and *err if it is malformed. `system` is not in
 * the text. event_format_free() frees the result, and nothing else may be given to it. */
struct event_format *event_format_parse(const char *text, size_t n, const char *system,
					struct err *err);
void event_format_free(struct event_format *e);
