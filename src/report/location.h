/* SPDX-License-Identifier: MIT */
/* An address of a trace as ftrace prints one: function, with offset or address. Used by the
 * printers, each on its own thread. */
#pragma once
#include "base/out.h"
#include "report/names.h"

struct location {
	uint64_t address;
	const struct trace_module *module; /* NULL: in no module */
	const struct trace_function *function;
	uint32_t id;
};

/* Finds what is at the address at that time; the function is the one that `within` lies in. */
struct location location_at(const struct trace_info *info, uint32_t image, uint64_t address,
		      uint64_t within, uint64_t tsc);
/* Behind the call of this site; all zeros if it is not known. */
struct location location_of_site(const struct trace_info *info, uint32_t image, uint32_t site,
			   uint64_t tsc);
/* Prints NAME, with `offset` NAME+0xOFFSET/0xSIZE; MODULE+0xOFFSET or 0xADDRESS where there is no
 * function; with `address`, " <ADDRESS>" behind it. */
void location_print(struct out *out, struct names *names, uint32_t image, const struct location *p,
		    bool offset, bool address);
/* In hexadecimal, of so many digits at least (16 at most). */
void location_print_hex(struct out *out, uint64_t v, unsigned width);
