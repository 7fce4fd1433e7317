/* Where the loader puts addresses of other modules' functions. */
#pragma once
#include "sym/module.h"

struct sym_import_slots { VEC(uint64_t) at; };

/* Adds the addresses of the GOT slots that are filled with the imported symbol `name`. */
void sym_import_slots(const struct sym_module *m, const char *name, struct sym_import_slots *out);
