/* SPDX-License-Identifier: MIT */
/* Looks addresses up in the trace_info and prints them; keeps nothing. Called by the printers while
 * nobody changes the trace_info. Nothing fails: an address without a function, or without a module,
 * is printed as a number. */
#include "report/location.h"

struct location location_at(const struct trace_info *info, uint32_t image, uint64_t address,
		      uint64_t within, uint64_t tsc)
{
	struct location p = { .address = address };

	p.function = trace_info_function_at(info, image, within, tsc, &p.module);
	if (p.function)
		p.id = p.module->first_id + (uint32_t)(p.function - p.module->functions.at);
	else
		p.module = trace_info_module_at(info, image, address, tsc);
	return p;
}

/* A site is a return address, which may lie behind the calling function's end: it is looked up by
 * the byte before. */
struct location location_of_site(const struct trace_info *info, uint32_t image, uint32_t site,
			   uint64_t tsc)
{
	uint64_t address = trace_info_site(info, image, site);

	return address ? location_at(info, image, address, address - 1,
				     tsc) : (struct location){ 0 };
}

void location_print_hex(struct out *out, uint64_t v, unsigned width)
{
	char digits[16];
	unsigned n = 0;

	do {
		digits[15 - n++] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v || n < width);
	out_bytes(out, digits + 16 - n, n);
}

void location_print(struct out *out, struct names *names, uint32_t image, const struct location *p,
		    bool offset, bool address)
{
	if (p->function && p->module->first_id == TRACE_MADE_ID) { /* it has no id */
		char name[512];

		trace_function_name(p->module, p->function, name, sizeof(name));
		out_foreign(out, name, SIZE_MAX);
	} else if (p->function) {
		struct name name = names_of(names, image, p->id);

		out_bytes(out, name.text, name.n);
	/* Code without a known function. */
	} else if (p->module) {
		out_str(out, p->module->name);
		out_bytes(out, "+0x", 3);
		location_print_hex(out, p->address - p->module->base, 1);
	} else {
		out_bytes(out, "0x", 2);
		location_print_hex(out, p->address, 1);
	}
	if (p->function && offset) {
		out_bytes(out, "+0x", 3);
		location_print_hex(out, p->address - p->module->base - p->function->vaddr, 1);
		out_bytes(out, "/0x", 3);
		location_print_hex(out, p->function->size, 1);
	}
	if (address) {
		out_bytes(out, " <", 2);
		location_print_hex(out, p->address, 16);
		out_char(out, '>');
	}
}
