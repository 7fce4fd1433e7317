/* SPDX-License-Identifier: MIT */
/* The places inside functions that a process is probed at: markers and system calls whose events are enabled. For each a
 * struct probe_site and code in its module's region, and a patch (docs/probes.md). */
#pragma once
#include "event/event_set.h"
#include "hook/probe.h"
#include "shared/fetch.h"

struct probe_point {
	struct hook_probe plan;       /* reason: also what stood in its way later */
	uint64_t semaphore;           /* file address; 0 = none */
	uint32_t event;
	uint8_t kind;                 /* enum probe_kind: what the program is */
	void *program;
	uint32_t program_bytes;
	struct filter_program *filter; /* NULL: every record */
	bool stacked;                 /* event_set_stacked */
};
typedef VEC(struct probe_point) probe_points;

/* Files are given open; path is for sentences.
 * Brings system calls and the markers of a file into the catalogue, as sdt_PROVIDER:NAME. What cannot be read has none. */
void probes_catalogue(int fd, const char *path, struct event_catalogue *c);
/* The file's places for whose events the set wants records, in the order of their addresses. */
void probes_find(int fd, const char *path, const struct event_set *set, probe_points *out);
/* A place of the file's for a handler of a signal: kind PROBE_SIGNAL. */
void probes_add_handler(int fd, const char *path, const struct event_set *set, uint64_t vaddr, uint64_t address,
			probe_points *out);
/* Why the file's own rt_sigaction cannot be seen before it is made; REASON_NONE: it can, or there is none. */
enum hook_reason probes_hidden_handlers(int fd);
void probes_sort(probe_points *p);
void probes_free(probe_points *p);

/* A file's marker, for who lists them. */
struct probe_marker {
	const char *system, *name;
	unsigned sites, refused;      /* places; of those, that cannot be hooked */
	enum hook_reason reason;      /* why: of the first */
};
void probes_list(int fd, const char *path, void (*f)(void *context, const struct probe_marker *m), void *context);
