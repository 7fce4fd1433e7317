/* SPDX-License-Identifier: MIT */
/* The part of a boot configuration below ftrace.event: events, their filters, triggers, histograms
 * and definitions. */
#pragma once
#include "config/reading.h"

/* Adds the writes of the node "event", whose number is `key`. */
void config_events(struct config_reading *r, uint32_t key);
/* The trigger of a node "hist", for free(); NULL, and a remark, if it has no keys. Numbered nodes
 * are triggers of their own. */
char *config_hist(struct config_reading *r, uint32_t key);
