/* SPDX-License-Identifier: MIT */
/* The notes of include/brace/event.h in a file of any bytes. The seed is a library with events of
 * every kind. */
#include <stdlib.h>
#include <string.h>

#include "sym/static_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Every string and every number is looked at. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct static_events e;
	size_t sum = 0;

	static_events_read(bytes, n, &e);
	for (size_t i = 0; i < e.sites.n; i++)
		sum += strlen(e.sites.at[i].system) + strlen(e.sites.at[i].name);
	for (size_t i = 0; i < e.states.n; i++)
		sum += strlen(e.states.at[i].system) + strlen(e.states.at[i].name);
	for (size_t i = 0; i < e.events.n; i++) {
		const struct static_event *event = &e.events.at[i];

		sum += strlen(event->system) + strlen(event->name) + strlen(event->print) + strlen(event->at);
		for (size_t k = 0; k < event->fields.n; k++)
			if (!event->fields.at[k].element || strlen(event->fields.at[k].name) + strlen(event->fields.at[k].type) > n)
				abort();
	}
	static_events_free(&e);
	return sum == SIZE_MAX;
}
