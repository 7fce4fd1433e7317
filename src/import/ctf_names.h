/* SPDX-License-Identifier: MIT */
/* Names of the functions that a CTF trace has addresses of. Private to src/import. */
#pragma once
#include "import/formats.h"
#include "sym/module.h"

/* A mapping of a process, as LTTng's statedump tells. */
struct ctf_mapping {
	uint32_t pid;
	uint64_t begin, bytes;
	bool moved;            /* position-independent: its addresses count from `begin` */
	char *path;
	uint8_t build_id[20], build_id_len; /* 0: not told */
};

/* A row of the file .functions: "ADDRESS SIZE NAME" in hexadecimal. */
struct ctf_symbol { uint64_t begin, bytes; struct import_text name; };

struct ctf_names {
	VEC(struct ctf_mapping) mappings; /* in the order in which they were told */
	VEC(struct ctf_symbol) symbols;   /* by address */
	VEC(struct ctf_file { char *path; struct sym_module *module; }) files; /* NULL: not read */
	uint64_t strange; /* files here that are others than those of the trace */
};

/* Reads .functions, if the trace has it. */
void ctf_names_read(struct ctf_names *n, const struct import_files *files);
/* Takes a mapping that a line tells of; path is copied. */
void ctf_names_map(struct ctf_names *n, const struct ctf_mapping *m, struct import_text path);
/* The last mapping of the process that begins there; NULL: there is none. */
struct ctf_mapping *ctf_names_at(struct ctf_names *n, uint32_t pid, uint64_t begin);
/* The file and the name of the function at an address: the name is its number where nobody knows
 * it. free() both. */
void ctf_names_find(struct ctf_names *n, uint32_t pid, uint64_t address, char **file, char **name);
void ctf_names_free(struct ctf_names *n);
