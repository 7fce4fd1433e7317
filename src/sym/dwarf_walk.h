/* SPDX-License-Identifier: MIT */
/* One walk over all of a module's debug information, in the file's order, with a bound on the work:
 * the file is not trusted. Private to src/sym. */
#pragma once
#include "sym/dwarf_file.h"

struct dwarf_walk;

/* A DIE of the walk. Each points to what belongs to the walk and is valid while it is seen. */
struct dwarf_seen {
	Dwarf_Die *die, *parent;
	int tag;
	Dwarf_Die *body;         /* the function that has code and holds this one; NULL: none */
};

struct dwarf_visitor {
	void *context;
	/* Called for each DIE below a unit, but for those below a DIE that has no functions
	 * there. NULL: the units alone are of interest. */
	void (*see)(struct dwarf_walk *w, const struct dwarf_seen *s, void *context);
	/* NULL: not of interest. lines_of: the unit with the line table; a split unit's is in the
	 * skeleton. */
	void (*unit_begins)(struct dwarf_walk *w, Dwarf_Die *unit, Dwarf_Die *lines_of,
			    void *context);
	void (*unit_ends)(struct dwarf_walk *w, void *context);
};

/* Opens the module's debug information, walks its units and those of dwz's alternate file (DIEs
 * that several files share), and closes it. *has_dwarf: there is debug information that may be
 * read. Returns 0, or -errno and *err as dwarf_file_open(). *left_out: NULL; or a sentence without
 * its end, for free(), that tells why
 *  - the walk did not begin: the information is left out;
 *  - it ended early: the work is used up;
 *  - it passed over a unit: the unit is unreasonable. */
int dwarf_walk(const struct sym_module *m, const struct dwarf_visitor *visitor, bool *has_dwarf,
	       char **left_out, struct err *err);

/* dwarf_walk() of a file that is open, has debug information, and stays open. Its results are
 * dwarf_walk()'s. */
int dwarf_walk_file(const struct sym_module *m, const struct dwarf_file *file,
		    const struct dwarf_visitor *visitor, char **left_out, struct err *err);

/* Takes work off what is left, in attributes read or passed over; false: it is used up, and the
 * answer is not whole. */
bool dwarf_walk_spend(struct dwarf_walk *w, uint64_t work);
/* Number of a DIE's attributes: the work of reading one. */
size_t dwarf_walk_attributes(struct dwarf_walk *w, Dwarf_Die *die);
/* True if the DIE is a function or a copy with addresses of its own. */
bool dwarf_walk_has_code(Dwarf_Die *die);
/* Whether the line table of a unit may be read as a whole: it makes sense, and the work is left. */
bool dwarf_walk_reads_lines(struct dwarf_walk *w, Dwarf_Die *lines_of);
/* Address of its first instruction: compilers that put a function's rare parts elsewhere give
 * ranges, of which the first begins with it. False: it has no code. */
bool dwarf_walk_entry(Dwarf_Die *die, Dwarf_Addr *entry);
