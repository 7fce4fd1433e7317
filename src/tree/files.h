/* SPDX-License-Identifier: MIT */
/* The files of an instance's directory: one table. */
#pragma once
#include "tree/tree.h"

struct instance;

/* Puts them below dir; `top`: those that only the top directory has, too. */
void files_fill(struct instance *in, struct tree_node *dir, bool top);
