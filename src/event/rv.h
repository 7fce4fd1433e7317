/* SPDX-License-Identifier: MIT */
/* The events of monitors (instance/monitors.h), system rv: event_NAME for each step of a model,
 * error_NAME for one that it does not allow, as the kernel's. */
#pragma once
#include <stdint.h>

#include "event/provider.h"

/* Every session has them; an instance makes the records. */
extern const struct event_provider rv_provider;

/* Records from offset 8 on. id: the object that the model is about. */
#define RV_NAME 24
struct rv_event {
	int32_t id;
	char state[RV_NAME], event[RV_NAME], next_state[RV_NAME];
	uint8_t final_state, pad[3];
};
struct rv_error {
	int32_t id;
	char state[RV_NAME], event[RV_NAME];
	uint8_t pad[4];
};
