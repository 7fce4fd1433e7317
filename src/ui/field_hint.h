/* SPDX-License-Identifier: MIT */
/* Adds to an error about a field that an event does not have the names that it could have been. */
#pragma once
#include "ui/event_writes.h"

/* Looks at a refused write to a file of an event ("events/SYSTEM/EVENT/trigger"); does nothing if
 * another fault was found. err->input is the text that was written. */
void field_hint_of_write(const struct invocation *inv, const struct event_files *f,
			 const char *path, struct err *err);
/* Looks at a refused statement about function events that inv's definitions make. */
void field_hint_of_statement(const struct invocation *inv, struct err *err);
