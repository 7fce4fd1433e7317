/* SPDX-License-Identifier: MIT */
/* The tables in which a compiler says where it left room for a tracer. Private to src/sym. */
#pragma once
#include "sym/elf_view.h"

/* Fills m->patchable, mcount_loc, xray and xray_sleds. */
void patch_maps_read(struct sym_module *m, const struct elf_view *v);
