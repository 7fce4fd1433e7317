/* SPDX-License-Identifier: MIT */
/* Boot configurations: a tree of keys, each with values, subkeys or both, in the grammar, with the
 * limits and sentences of the kernel's bootconfig (Documentation/admin-guide/bootconfig.rst).
 * Written after the document, and the answers of the kernel's tool to the cases of tests/config. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/out.h"
#include "base/vec.h"

/* The kernel's limits. */
enum {
	BOOTCONFIG_BYTES_MAX = 32767,
	BOOTCONFIG_NODES_MAX = 8192, /* keys and values */
	BOOTCONFIG_KEY_MAX = 256,    /* bytes of a key's words, and one for each word */
	BOOTCONFIG_WORDS_MAX = 16    /* words of a key, and open braces */
};

#define BOOTCONFIG_NONE UINT32_MAX

struct bootconfig_value {
	char *text;
	size_t at;               /* its place in the file, in bytes */
	bool is_later;           /* on a later line than its `=`, which new kernels refuse */
};

struct bootconfig_key {
	char *word;
	size_t at;               /* place of the word that made it */
	VEC(struct bootconfig_value) values;
	/* indices of keys, or BOOTCONFIG_NONE; siblings stand in the order of the file */
	uint32_t parent, child, last_child, next;
};

struct bootconfig {
	char *name;              /* as positions name it */
	char *text;              /* the file */
	VEC(struct bootconfig_key) keys; /* number 0 is the root, which has no word */
	unsigned nodes;
};

/* Parses n bytes, which may hold anything, in the kernel's grammar or as bootconfig_json() writes;
 * `name` names them in messages. 0, or -errno and *err, which has line and column, and the line
 * itself. bootconfig_free() it in any case. */
int bootconfig_parse(struct bootconfig *c, const char *name, const char *bytes, size_t n,
		     struct err *err);
/* Reads a file and parses it; the name - is standard input. The file may be an executable: then the
 * configuration that is attached to it is read (attached.h). As bootconfig_parse(); also -errno of
 * the file. */
int bootconfig_read(struct bootconfig *c, const char *path, struct err *err);
void bootconfig_free(struct bootconfig *c);

/* The key `path` (words joined by dots) below `key`; BOOTCONFIG_NONE: there is none. */
uint32_t bootconfig_find(const struct bootconfig *c, uint32_t key, const char *path);
/* A key's words joined by dots, for free(). */
char *bootconfig_path(const struct bootconfig *c, uint32_t key);
/* Line and column of a place, from 1. */
struct bootconfig_position { size_t line, column; };
struct bootconfig_position bootconfig_position(const struct bootconfig *c, size_t at);

/* A line for each key that has values or nothing below it, as the kernel's tool lists them:
 * KEY = "VALUE", "VALUE". */
void bootconfig_list(const struct bootconfig *c, struct out *out);
/* One JSON object: keys are objects; a value is a string, several are an array, none is true. The
 * values of a key that also has subkeys are its member "". */
void bootconfig_json(const struct bootconfig *c, struct out *out);
/* Writes values in quotes that hold them: `"`, or `'` around a text that has `"`. */
void bootconfig_quote(struct out *out, const char *text);
