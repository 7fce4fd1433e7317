/* SPDX-License-Identifier: MIT */
/* Makes a trace of what another tool recorded: processes, threads, functions and their calls, told
 * in any order of threads and in the order of time within each. Private to src/import. */
#pragma once
#include "base/err.h"
#include "base/number_map.h"
#include "trace/trace_info.h"

/* A reader bounds what a foreign file can make it keep. */
#define IMPORT_FUNCTIONS_MOST (1u << 20) /* of a process */
#define IMPORT_SYMBOLS_MOST (1u << 24)   /* of all */
#define IMPORT_THREADS_MOST (1u << 20)

enum import_kind { IMPORT_ENTER, IMPORT_LEAVE, IMPORT_LOST };

/* One record; value: a function's number, or how many records were lost. */
struct import_record { uint64_t ns; uint32_t value; uint8_t kind; };

/* A function by its file and name, which is the same one in all processes. */
struct import_symbol { char *file, *name; };

/* A function's number in its process; file: the file's number there. */
struct import_function { uint32_t symbol, file; };

struct import_process {
	uint32_t pid;
	char *exe;
	VEC(char *) files;
	VEC(struct import_function) functions;
	struct number_map by_symbol; /* symbol + 1 -> number */
};

struct import_thread {
	uint32_t process, pid, tid, depth;
	char comm[TRACE_COMM];
	VEC(struct import_record) records;
};

struct import_build {
	char *command;
	const char *tool;         /* whose records these are */
	VEC(struct import_symbol) symbols;
	struct number_map by_name; /* hash of file and name, + 1 -> symbol */
	VEC(struct import_process) processes;
	VEC(struct import_thread) threads;
	uint64_t calls, lost, left_out; /* left_out: records that a trace has no place for */
	uint64_t strange; /* binaries here that are others than those that were traced */
};

void import_build_free(struct import_build *b); /* what it has, not *b; all zero is fine */
/* Adds a process, a new one for each program that it executes. Returns its number. */
uint32_t import_process(struct import_build *b, uint32_t pid, const char *exe);
/* Return the number of a new thread, and of a function of the process, which is added if it is new.
 * UINT32_MAX and *err: there are too many. Texts are copied. */
uint32_t import_thread(struct import_build *b, uint32_t process, uint32_t pid, uint32_t tid,
		       const char *comm, struct err *err);
uint32_t import_function(struct import_build *b, uint32_t process, const char *file,
			 const char *name, struct err *err);
/* A call begins, the innermost one ends (nothing if there is none), n records are missing. ns: that
 * time; one before the last record of the thread becomes its time. function: of its process. */
void import_enter(struct import_build *b, uint32_t thread, uint64_t ns, uint32_t function);
void import_leave(struct import_build *b, uint32_t thread, uint64_t ns);
void import_lose(struct import_build *b, uint32_t thread, uint64_t ns, uint64_t n);
/* Writes the trace file. 0, or -errno and *err: there is none then. */
int import_write(struct import_build *b, const char *path, struct err *err);
