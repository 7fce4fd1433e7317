/* SPDX-License-Identifier: MIT */
/* From wanted events to changed bytes: which of a process' modules bring events along, which of
 * these the set arms, and what goes into the modules' regions and the programs. */
#pragma once
#include "image/modules.h"

/* Reads the module's events, once. False: it has none. */
bool event_sites_load(struct module *mod);
/* Works like event_sites_load, and adds the events to the catalogue. */
void event_sites_catalogue(struct module *mod, struct event_catalogue *c);
/* Adds the events of a file that is in no process yet. */
void event_sites_know(int fd, const char *path, struct event_catalogue *c);
/* Chooses the sites and states of armed events. The module's address has to be known. */
void event_sites_choose(struct module *mod, const struct event_set *set);
/* Checks that every pending name, except patterns, is an event's. 0, or -EINVAL and *err. */
int event_sites_check(const struct event_set *set, struct err *err);
/* Whether any event may be wanted, now or of modules to come. */
bool event_sites_wanted(const struct event_set *set);

uint64_t event_sites_room(const struct module *mod);    /* bytes in its region */
uint64_t event_sites_patches(const struct module *mod); /* upper limit */
/* Writes the module's share at `code`, which lies at `at` in the process, and adds the patches.
 * Returns the bytes written. agent: address of agent_event. */
uint64_t event_sites_write(const struct module *mod, uint64_t at, uint64_t agent, uint16_t region,
			   uint8_t *code, struct patch_list *list);
/* Adds the events whose records may come, for readers. */
void event_sites_describe(const struct modules *m, const struct event_set *set,
			  struct image_update *update);
