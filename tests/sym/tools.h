/* Ground truth for the tests of src/sym: programs built here and now, and what nm,
 * readelf and objdump say of them. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sym/inlined.h"

/* A directory of this test program's own, removed at its end; all commands run in it. */
int tools_setup(void **state);
int tools_teardown(void **state);

/* Runs a shell command in the directory; the test fails when the command does. */
void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Its output, line by line: while (next_line(&o)) ... o.line ... It must be
 * read to the end, where the test fails when the command did. */
struct output { void *pipe; char line[4096]; };
struct output output_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool next_line(struct output *o);

/* A file written into the directory; a file of fixtures/, copied there. */
void write_file(const char *name, const char *text);
void copy_fixture(const char *name);
/* Opens a program: `file` in the directory, or an absolute path. Fails the test if it cannot. */
struct sym_module *open_module(const char *file);
/* The same from memory only, so that no debug file helps. */
struct sym_module *open_alone(const char *file);
void close_alone(struct sym_module *m);
/* An absolute path for a name in the directory. */
const char *path_of(const char *file);
uint8_t *read_whole(const char *path, size_t *n);

/* Addresses, sorted and unique, for comparing sets. */
struct set { VEC(uint64_t) v; };
void set_add(struct set *s, uint64_t vaddr);
void set_sort(struct set *s);
bool set_has(const struct set *s, uint64_t vaddr);
/* How many of a are in b; prints the first few that are not, when `what` is given. */
size_t set_common(const struct set *a, const struct set *b, const char *what);
/* Functions that are neither PLT entries nor cold. */
struct set functions_of(const struct sym_module *m);
