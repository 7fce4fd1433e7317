/* SPDX-License-Identifier: MIT */
/* --help, generated from the tables the parser reads. */
#pragma once
#include "base/out.h"
#include "ui/invocation.h"

/* Print a command's usage and options, and the list of commands. */
void help_command(struct out *out, const struct command *c);
void help_all(struct out *out);
