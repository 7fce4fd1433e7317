/* SPDX-License-Identifier: MIT */
/* Whether a program that is about to be executed can be traced, and if not, why. */
#pragma once
#include <stdint.h>

#include "shared/notes.h"

#define UNTRACED_CWD (-100) /* AT_FDCWD */

/* At the program's start. `agent_path`: the file to come along; it must stay. */
void untraced_begin(const char *agent_path);
/* NOTE_NONE if it can, or is not there. As execveat takes them: directory, path, flags. `name` gets
 * the program's last path component (NOTE_NAME bytes, zero-filled). */
enum note_kind untraced_kind(int directory, const char *path, uint32_t flags, char *name);
/* The number of one of /proc/self/ns's namespaces; 0: not known. */
uint64_t namespace_number(const char *path);
