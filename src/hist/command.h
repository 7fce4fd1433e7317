/* SPDX-License-Identifier: MIT */
/* A line "hist:keys=...:vals=...[ if FILTER]", parsed. The grammar is the kernel's. A command does
 * not change once it is parsed, so any thread may read it. It refers to tables of other histograms
 * (variables) and keeps them. */
#pragma once
#include <stdio.h>

#include "event/trigger.h"
#include "hist/modifier.h"

#define HIST_KEYS_MAX 8u
#define HIST_VALUES_MAX 8u  /* besides the hit count */
#define HIST_SORT_MAX 2u
#define HIST_FRAMES 16u     /* the kernel's depth of a stack that is a key */
#define HIST_STRING_MAX 256u
#define HIST_VARIABLES_MAX 16u
#define HIST_ACTIONS_MAX 8u
#define HIST_PARAMS_MAX 64u

/* Where the number or string comes from. */
enum hist_source {
	HIST_NUMBER,     /* a field of 1, 2, 4 or 8 bytes */
	HIST_STRING,     /* a string in the record, or the thread's name */
	HIST_CPU,
	HIST_TIMESTAMP,
	HIST_STACK,      /* the record's, or what a field of a synthetic event holds */
	HIST_HITCOUNT,   /* the entry's own; in expressions and variables 1 */
	HIST_CONSTANT,
	HIST_EXPRESSION,
	HIST_REFERENCE,  /* another histogram's variable: hist_command.references */
	HIST_VARIABLE,   /* the entry's own */
};

/* A value is a number, or bytes. */
enum hist_shape { HIST_IS_NUMBER, HIST_IS_STRING, HIST_IS_STACK };

struct hist_field {
	enum hist_source source;
	enum hist_modifier modifier;
	uint64_t buckets;                /* HIST_BUCKETS: the width of one; not 0 */
	/* HIST_NUMBER, HIST_STRING: the event's, valid as long as the event */
	const struct event_field *field;
	enum event_field_kind kind;      /* of field */
	const char *name;                /* as it is shown */
	enum hist_shape shape;
	bool usecs;                      /* a time in microseconds, or made of one */
	uint64_t constant;               /* HIST_CONSTANT */
	/* HIST_EXPRESSION: `+`, `-`, `*`, `/`, `n` for a minus before it, or `(` for parentheses
	 * around it; the operands are the command's */
	char operator;
	const struct hist_field *operands[2];
	size_t reference;                /* HIST_REFERENCE, HIST_VARIABLE: its number */
	/* what a synthetic event's field is compared with; the strings live as long as events */
	const char *type;
	uint32_t size;
	bool is_signed;
	size_t sketch;                   /* of HIST_MIN to HIST_P99: its number in an entry */
	bool is_first;                   /* of the values that have this sketch */
};

struct hist_shared;

/* A variable that is read: of the entry with the same key in another histogram's table. */
struct hist_reference {
	struct hist_shared *shared;      /* kept */
	size_t variable;                 /* its number there */
	size_t n_keys;                   /* of that histogram; not 0 */
	bool hidden;                     /* no variable of its: a field that is asked for */
	struct hist_field field;         /* hidden: of that event */
	const struct event_format *event;
	bool qualified;                  /* the line names its event */
	bool once;                       /* reading it takes it away */
	bool nested;                     /* that histogram's variables are a stack */
};

struct hist_variable {
	char *name;
	struct hist_field field;
};

enum hist_handler { HIST_ONMATCH, HIST_ONMAX, HIST_ONCHANGE };
enum hist_act { HIST_TRACE, HIST_SAVE, HIST_SNAPSHOT };

/* HANDLER(...).ACT(...) */
struct hist_action {
	enum hist_handler handler;
	enum hist_act act;
	char *system, *event;            /* of onmatch */
	char *tracked;                   /* of the others: `$NAME` */
	size_t variable;                 /* number of that variable */
	size_t track;                    /* slot that has its latest value */
	bool keyword;                    /* trace(NAME,...), not NAME(...) */
	char *name;                      /* of the synthetic event */
	VEC(char *) params;              /* as they are written, without blanks */
	const struct event_entry *synthetic;
	VEC(struct hist_field) fields;   /* the values of the params */
	size_t saved;                    /* of HIST_SAVE: slot of the first value */
};

/* A level of the order of rows. */
struct hist_sort {
	/* 0: the hit count; 1 and up: values, then keys */
	size_t field;
	bool descending;
};

/* The effect of a write besides adding a trigger. */
enum hist_order { HIST_ADD, HIST_PAUSE, HIST_CONTINUE, HIST_CLEAR };

struct hist_command {
	struct hist_field keys[HIST_KEYS_MAX], values[HIST_VALUES_MAX];
	size_t n_keys, n_values;
	struct hist_sort sort[HIST_SORT_MAX];
	size_t n_sort;
	uint32_t size;                   /* number of entries at most: a power of two */
	bool nohitcount;
	bool nested;                     /* brace's own: variables of a key are a stack */
	bool timestamps;                 /* a key or value is a time */
	bool stacks;                     /* a key is a stack */
	char *name;                      /* NULL: none */
	char *clock;
	enum hist_order order;
	struct hist_variable variables[HIST_VARIABLES_MAX];
	size_t n_variables;
	VEC(struct hist_reference) references;
	struct hist_action actions[HIST_ACTIONS_MAX];
	size_t n_actions;
	size_t n_sketches;               /* values of which an entry keeps more than a sum */
	size_t n_slots;                  /* values that an entry keeps, variables first */
	VEC(struct hist_field *) nodes;  /* operands */
	VEC(char *) strings;             /* names of expressions */
};

/* A line of n characters, the first four of which are `hist`; a filter begins behind `bare` of
 * them. */
struct hist_line {
	const char *at;
	size_t n, bare;
	bool remove;                           /* it removes: other histograms do not matter */
	const struct trigger_context *context;
};

/* Parses all but the filter. Returns 0 and *out, which hist_command_free() frees; or -errno and
 * *fault, which has a sentence and points into the line. */
int hist_command_parse(const struct event_format *e, const struct hist_line *line,
		       struct hist_command **out, struct filter_fault *fault);
/* Notes in *fault that the line cannot be: the kernel's error code, a sentence, and the column of
 * the first occurrence of `at`, n characters; n 0: the line's begin. Returns -code. */
int hist_refuse(const struct hist_line *line, struct filter_fault *fault, int code,
		const char *sentence, const char *at, size_t n);
/* Frees a parsed command and lets go of the tables that it refers to. Not NULL. */
void hist_command_free(struct hist_command *c);
/* Writes ":HANDLER(...).ACTION(...)". */
void hist_action_show(const struct hist_action *a, FILE *to);

/* Writes the command as the kernel shows it, without filter and state. */
void hist_command_show(const struct hist_command *c, FILE *to);
/* Whether keys, values, order of rows and name are equal: the kernel's hist_trigger_match(). */
bool hist_command_same(const struct hist_command *a, const struct hist_command *b);
/* Whether both can have one table: as above without the name. */
bool hist_command_shares(const struct hist_command *a, const struct hist_command *b);
/* Whether the value is of all that an entry has counted, not a sum: HIST_MIN to HIST_P99. */
bool hist_field_is_sketched(const struct hist_field *f);
/* a OPERATOR b, of `+`, `-`, `*`, `/`. A quotient of nothing is as large as can be, as in the
 * kernel. */
uint64_t hist_operate(char operator, uint64_t a, uint64_t b);
/* Whether the value of the field is a number. */
bool hist_field_is_number(const struct hist_field *f);
/* Whether the field is a stack that a synthetic event's record holds, not the record's own. */
static inline bool hist_field_is_kept_stack(const struct hist_field *f)
{
	return f->source == HIST_STACK && f->field && f->kind != EVENT_STACK;
}
/* Writes the field's name with its modifier. */
void hist_field_show(const struct hist_field *f, FILE *to);
