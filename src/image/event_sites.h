/* SPDX-License-Identifier: MIT */
/* From the events that are wanted to the bytes that are changed for them: which of a process's modules bring events along,
 * what of these is armed by the set, what goes into the modules' regions and what into the programs. */
#pragma once
#include "image/modules.h"

/* Reads the module's events, once. false: it has none. */
bool event_sites_load(struct module *mod);
/* The same, and they come into the catalogue. */
void event_sites_catalogue(struct module *mod, struct event_catalogue *c);
/* The same of a file that no process has yet. */
void event_sites_know(int fd, const char *path, struct event_catalogue *c);
/* Those of them that are armed get their sites. Where the module is must be known. */
void event_sites_choose(struct module *mod, const struct event_set *set);
/* Whether every name that was wished for, but for patterns, is one of an event's. 0, or -EINVAL and *err. */
int event_sites_check(const struct event_set *set, struct err *err);
/* May any event be wanted, now or of modules that come? */
bool event_sites_wanted(const struct event_set *set);

uint64_t event_sites_room(const struct module *mod);    /* bytes in its region */
uint64_t event_sites_patches(const struct module *mod); /* at most */
/* Writes the module's share at `code`, which is `at` in the process, and adds the patches. Bytes written. agent: address
 * of its agent_event. */
uint64_t event_sites_write(const struct module *mod, uint64_t at, uint64_t agent, uint16_t region, uint8_t *code,
			   struct patch_list *list);
/* What readers of the records must know. */
void event_sites_describe(const struct modules *m, const struct event_set *set, struct image_news *news);
