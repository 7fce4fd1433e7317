/* SPDX-License-Identifier: MIT */
/* USDT markers as events: their arguments, "-4@%edi 8@-16(%rbp) 4@$5", are addresses and registers
 * in the assembler's words. */
#pragma once
#include "arch/operand.h"
#include "event/fetch.h"

/* The fields of the event: for each argument the largest size at any of a marker's sites; 0: not
 * known. usdt_fields_meet() adds the arguments of one site. */
#define USDT_ARGUMENTS_MAX 32u
struct usdt_fields {
	unsigned n;
	uint8_t size[USDT_ARGUMENTS_MAX];
	bool is_signed[USDT_ARGUMENTS_MAX];
};
void usdt_fields_meet(struct usdt_fields *f, const char *arguments);

/* Begins b with fields arg1, arg2, ... of f, and the program that fetches them at the site with
 * these arguments. An argument that cannot be fetched (a vector register, a name that the file does
 * not have) is 0. Returns 0, or -errno and *err. */
int usdt_build(struct fetch_build *b, const struct usdt_fields *f, const char *arguments,
	       const struct operand_names *names, struct err *err);
