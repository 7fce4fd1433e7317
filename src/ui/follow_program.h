/* SPDX-License-Identifier: MIT */
/* brace follow without -k: objects of a program. */
#pragma once
#include "ui/invocation.h"

/* The exit status: brace's own, or the program's. */
int follow_program_run(struct invocation *inv);
