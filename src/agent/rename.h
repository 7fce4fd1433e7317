/* SPDX-License-Identifier: MIT */
/* Names that threads give themselves. The tracer shows each record with the name that its thread
 * had then. */
#pragma once
#include "shared/tasks.h"

/* Notes the name that the calling thread has, or is about to give itself: TASK_COMM bytes with a
 * NUL. Nothing is noted for a thread without a slot in the session memory: its name is read when it
 * gets one. */
void rename_note(const char *comm);
/* Asks the kernel for the calling thread's name, and notes that. */
void rename_done(void);
