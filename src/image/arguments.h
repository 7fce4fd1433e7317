/* SPDX-License-Identifier: MIT */
/* The functions whose arguments and values are recorded, and how: prototypes for readers, and for
 * the agent the programs that fetch the values. Made from the debug information of the file, never
 * from memory of the program. */
#pragma once
#include "image/conditions.h"
#include "model/settings.h"
#include "shared/fetch.h"

struct module;
struct modules;

struct argument_plan {
	uint32_t function;             /* index among the module's */
	char *prototype;               /* base/prototype.h */
	struct fetch_program *program; /* NULL: its arguments are not recorded */
	uint32_t bytes;                /* of the program */
	struct condition condition;
	bool judged;                   /* instances leave calls of it out (settings.judged) */
	/* the condition on what its calls return (condition_compile_returned()); NULL: none */
	char *returned;
};
typedef struct { VEC(struct argument_plan) at; } argument_plans;

/* Functions that take a followed object (image/objects.h): takes is the sum of those behind
 * it. */
struct object_count {
	uint32_t takes, watched;
	uint32_t unhooked;        /* no place for a hook */
	uint32_t unchosen;        /* by -l, -n or -L */
	/* the compiler left the object out, or where it is is not known */
	uint32_t unlocated;
	/* beside these: functions with inlined copies; files without debug information */
	uint32_t inlined, modules;
};

#define ARGUMENT_MODULE 64u
/* The numbers of functions that fitted the specs: for users, who may have misspelt a name. */
struct argument_count {
	bool asked_args, asked_types; /* the settings ask for arguments, for types of values */
	uint32_t args, types;     /* traced functions that match */
	uint32_t unknown;         /* matching functions of files without debug information */
	uint32_t modules;         /* number of these files */
	char module[ARGUMENT_MODULE]; /* name of the first of them */
	struct object_count objects;
	uint32_t conditional;     /* functions with a condition that fits them */
	uint32_t unfit;           /* functions whose condition does not, which are not traced */
	struct err fault;         /* of the first of these */
};
void argument_count_add(struct argument_count *total, const struct argument_count *more);

/* Makes the plans of the selected functions, in their order. Functions whose condition does not fit
 * lose their selection: they are not traced, or, with -g, begin no graph. Reads debug information,
 * if the settings ask for any: that takes as long as sym_inlined_find(). What cannot be read has
 * no plan. m->asked_for counts. */
void arguments_plan(struct modules *m, const struct settings *set);
/* The function's plan, or NULL. */
const struct argument_plan *arguments_of(const struct module *mod, uint32_t function);
/* enum memory_returned of a function's exits; p may be NULL. */
uint32_t arguments_returned_kind(const struct argument_plan *p, const struct settings *set);
/* Bytes of the struct arguments_site that its plan needs; 0: none. */
uint64_t arguments_site_bytes(const struct argument_plan *p);
/* Where the condition's filter is in the site; of plans with a condition alone. */
uint64_t arguments_filter_at(const struct argument_plan *p);
/* Writes the site; of the plan's functions alone. begins: the function may begin a graph. */
void arguments_site_write(const struct argument_plan *p, uint32_t id, bool begins, void *to);
void arguments_free(argument_plans *plans);

/* The instructions that begin a field with what the function's parameter with this index is: at
 * most ARGUMENT_VALUE_INSNS. Returns how many; 0: its location is not known. */
#define ARGUMENT_VALUE_INSNS 2u
struct sym_arguments;
uint32_t arguments_fetch_value(const struct sym_arguments *known, uint32_t index,
			 struct fetch_insn out[ARGUMENT_VALUE_INSNS]);
/* Fills in a plan for the registers in which the convention passes numbers. returns: a TYPE. */
void arguments_plan_registers(struct argument_plan *plan, const char *returns);
/* Whether calls of the function are recorded. */
bool arguments_is_traced(const struct module *mod, uint32_t function);
/* Takes the function's arguments off the plan: they are not recorded, after all. */
void arguments_untrace(struct module *mod, uint32_t function);

/* Makes the program that fetches a prototype's parameters of a size, each to its `at`, up to
 * `fixed`. It may have no instruction. NULL: it would be too long. */
struct prototype;
struct sym_location;
struct fetch_program *arguments_fetch(const struct prototype *p,
				      const struct sym_location *locations,
				      size_t n, bool hidden, uint32_t *bytes);
/* Makes the program that fetches what the prototype says, with parameters at the locations; NULL:
 * it would be too long, or the prototype is malformed or has no values. */
struct fetch_program *arguments_program(const char *prototype, const struct sym_location *locations,
					size_t n, bool hidden, uint32_t *bytes);
