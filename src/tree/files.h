/* SPDX-License-Identifier: MIT */
/* The files of an instance's directory, from one table. */
#pragma once
#include "tree/tree.h"

struct instance;
struct out;

/* Makes the files below dir; `top`: also those that only the top directory has. */
void files_fill(struct instance *in, struct tree_node *dir, bool top);
/* Prints what README says of definitions, synthetic events and triggers. */
void readme_show_grammar(struct out *text);
