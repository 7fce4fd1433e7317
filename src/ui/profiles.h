/* SPDX-License-Identifier: MIT */
/* Boot configurations by name: NAME.bconf and NAME.json in the folder brace of $XDG_CONFIG_HOME
 * (default: ~/.config). A name has no slash. */
#pragma once
#include "base/err.h"
#include "base/out.h"

/* The file that --config's word means, for free(): the file of this name, if there is one or the
 * word has a slash; otherwise the profile. NULL and *err (ENOENT): there is neither. */
char *profile_find(const char *word, struct err *err);
/* Prints a line for each profile, by name: the name and the file. Returns their number. */
size_t profiles_list(struct out *out);
