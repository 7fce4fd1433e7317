/* SPDX-License-Identifier: MIT */
/* The files that a program links, or that a process has mapped, by their paths. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "sym/module.h"

/* start: where the process has it mapped; 0: there is no process. */
struct mapped_library { char *path; uint64_t start; };
struct libraries { VEC(struct mapped_library) at; };

/* Add to *out, which libraries_free() frees. What cannot be read adds nothing. Mapped ones include
 * the program itself, linked ones do not, nor those that the program will dlopen. */
void libraries_mapped(pid_t pid, struct libraries *out);
void libraries_linked(const struct sym_module *program, struct libraries *out);
void libraries_free(struct libraries *l);
