/* SPDX-License-Identifier: MIT */
/* Messages to the user, left in the session memory (shared/messages.h). For all of the agent;
 * any thread, a vfork's child too. */
#pragma once
#include <stdint.h>

#include "shared/messages.h"

/* Writes a message, or raises the count of an equal one. Returns a handle for
 * message_withdraw(), never 0. `name` has MESSAGE_NAME bytes. */
uint32_t message_write(enum message_kind kind, uint32_t number, const char *name);
/* Writes one about this process, under the calling thread's name. */
void message_process(enum message_kind kind);
/* A message of the kind MESSAGE_STOPPED, with its number; returns a handle. */
uint32_t message_stopped(uint32_t number);
/* Takes back a message about something that did not happen. */
void message_withdraw(uint32_t message);
