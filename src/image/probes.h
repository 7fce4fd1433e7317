/* SPDX-License-Identifier: MIT */
/* Places inside functions at which a process is probed: markers and system calls whose events are
 * enabled. Each gets a struct probe_site and code in its module's region, and a patch
 * (docs/probes.md). */
#pragma once
#include "event/event_set.h"
#include "hook/returns.h"
#include "shared/fetch.h"

struct probe_point {
	struct hook_probe plan;       /* reason: also a conflict found later */
	int64_t behind;               /* bytes from the place that was asked for to the plan's */
	uint64_t semaphore;           /* file address; 0 = none */
	uint32_t event;
	uint8_t kind;                 /* enum probe_kind: which program this is */
	void *program;
	uint32_t program_bytes;
	struct filter_program *filter; /* NULL: every record */
	bool stacked;                 /* event_set_stacked */
	uint8_t scopes;               /* event_set_scopes */
	bool kept;                    /* as in struct probe_site, with `generation` */
	uint32_t generation;
};
typedef VEC(struct probe_point) probe_points;

/* USDT's markers, as sdt_PROVIDER:NAME. */
extern const struct event_provider usdt_provider;

/* Files are given open; path is for sentences. Any thread: probes.c has a lock.
 *
 * Finds the file's places for events of which the set wants records, in order of address. The
 * caller frees with probes_free. */
void probes_find(int fd, const char *path, const struct event_set *set, probe_points *out);
/* Adds a place for a signal's handler at vaddr, `address` in the process: kind PROBE_SIGNAL. */
void probes_add_handler(int fd, const char *path, const struct event_set *set, uint64_t vaddr,
			uint64_t address, probe_points *out);
/* Why no probe can stand at the file's offset; REASON_NONE: it can. */
enum hook_reason probes_reason(int fd, const char *path, uint64_t offset);
/* Whether both offsets of the file are in one function. Any thread. */
bool probes_together(int fd, const char *path, uint64_t a, uint64_t b);
/* Why the returns of the function at the file's offset cannot all be seen; RETURN_BAR_NONE: they
 * can. */
struct probe_returns {
	enum return_bar bar;
	uint64_t where;               /* offset in the file of what bars; 0: none */
	enum hook_reason reason;      /* RETURN_BAR_WINDOW */
};
struct probe_returns probes_returns(int fd, const char *path, uint64_t offset);
/* Why words of the function's calls cannot be kept from its entry, at the file's offset, to its
 * returns; REASON_NONE: they can. */
enum hook_reason probes_entry_reason(int fd, const char *path, uint64_t offset);
/* Why calls of rt_sigaction in the file cannot be seen before they are made; REASON_NONE: they can,
 * or there are none. */
enum hook_reason probes_hidden_handlers(int fd);
void probes_sort(probe_points *p);
void probes_free(probe_points *p);

/* A file's marker, for listings. */
struct probe_marker {
	const char *system, *name;
	unsigned sites, refused;      /* places; of these, those that cannot be hooked */
	enum hook_reason reason;      /* why: of the first one */
};
/* Calls f for each marker of the file, with the lock held: f must not call anything here. */
void probes_list(int fd, const char *path, void (*f)(void *context, const struct probe_marker *m),
		 void *context);
