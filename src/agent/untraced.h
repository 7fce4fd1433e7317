/* SPDX-License-Identifier: MIT */
/* Whether a program that is about to be executed can be traced, and if not, why. */
#pragma once
#include <stdint.h>

#include "shared/messages.h"

#define UNTRACED_CWD (-100) /* AT_FDCWD */

/* Call at the program's start. `agent_path`: the file that goes along; the string must stay. */
void untraced_begin(const char *agent_path);
/* Returns MESSAGE_NONE if the program can be traced, or is not there. Arguments are execveat's:
 * directory, path, flags. `name` gets the program's last path component (MESSAGE_NAME bytes,
 * zero-filled). */
enum message_kind untraced_kind(int directory, const char *path, uint32_t flags, char *name);
/* Returns the number of a namespace in /proc/self/ns; 0: not known. */
uint64_t untraced_namespace_number(const char *path);
