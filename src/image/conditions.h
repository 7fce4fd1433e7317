/* SPDX-License-Identifier: MIT */
/* Conditions on calls (model/function_condition.h), compiled for one function: a program that
 * fetches the arguments that the condition names, and the filter that compares them. */
#pragma once
#include "arch/condition_code.h"
#include "model/settings.h"
#include "shared/arguments.h"
#include "shared/filter.h"

struct sym_arguments;

struct condition {
	struct fetch_program *fetch;
	struct filter_program *filter; /* NULL: there is no condition */
	uint32_t fetch_bytes;
	bool begins;                   /* of the beginning of graphs alone */
};

/* Compiles the pattern's condition. known: the function's arguments; NULL: they are not known, and
 * arg1 to arg6 are the registers in which the convention passes numbers. Returns 0, and
 * condition_free() frees *out; or -EINVAL and *err, with the caret in the pattern's text. */
int condition_compile(const struct function_pattern *p, const char *function,
		      const struct sym_arguments *known, bool begins, struct condition *out,
		      struct err *err);
/* Compiles the pattern's condition on what calls return for the type that a prototype tells;
 * prototype: NULL: it is not known, and rax is compared. The program's records are those of
 * condition_holds(). Returns 0, and the caller frees *out; or -EINVAL and *err. */
int condition_compile_returned(const struct function_pattern *p, const char *function,
			       const char *prototype, struct filter_program **out,
			       struct err *err);
/* Whether what a call returned satisfies the program that was compiled for its prototype. text: the
 * string that was returned, and its bytes, where it could be read. */
struct condition_value {
	uint64_t number;
	bool is_float;         /* the number is the lower half of xmm0 */
	const char *text;      /* NULL: none is known */
	uint32_t bytes;
};
bool condition_holds(const struct filter_program *program, const char *prototype,
		     const struct condition_value *v);
/* Compiles the pattern's condition on arguments for records of them, by the function's prototype;
 * NULL: it is not known. Strings are those of records, PROTOTYPE_STRING bytes and one more. Returns
 * 0, and the caller frees *out; or -EINVAL and *err. */
int condition_compile_recorded(const struct function_pattern *p, const char *function,
			       const char *prototype, struct filter_program **out,
			       struct err *err);
/* Whether a call's recorded arguments satisfy the program that was compiled for its prototype. */
struct condition_call {
	const void *payload;   /* of the record, behind the function's word */
	uint64_t bytes;
	const char *comm;      /* the thread's name */
	int32_t tid, cpu;
};
bool condition_holds_recorded(const struct filter_program *program,
			      const struct condition_call *call);
/* Tells an error at a place of the condition. Returns -EINVAL. */
int condition_error(const struct function_pattern *p, size_t at, struct err *err,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Bytes of its struct call_condition, a multiple of 8; writes it. */
uint64_t condition_bytes(const struct condition *c);
void condition_write(const struct condition *c, void *to);
/* Bytes from there to its filter. */
uint64_t condition_filter_at(const struct condition *c);
/* Tells what of it a trampoline can compare by itself; filter_at: its address in the process. The
 * code's filter is the condition's. */
struct condition_code condition_code_of(const struct condition *c, uint64_t filter_at);
void condition_free(struct condition *c);
