/* SPDX-License-Identifier: MIT */
/* Prints stack records (instance/synthesized.c makes them). Addresses are the traced program's own,
 * looked up in the modules that were mapped at the record's time; an address in none is printed as
 * a number. The printers call it, on the thread that prints; nothing fails. */
#include "report/stack_text.h"

#include <stdio.h>

#include "model/option.h"

/* A frame is the beginning of a function, if no more is known of it, or a return address, which may
 * lie behind its function's end. */
const struct trace_function *stack_text_function(const struct trace_info *info,
						 const struct event *e, uint64_t address,
						 const struct trace_module **module)
{
	uint32_t image = info->threads.at[e->thread].image;
	const struct trace_function *f =
		trace_info_function_at(info, image, address, e->tsc, module);

	return f && (*module)->base + f->vaddr == address
		       ? f
		       : trace_info_function_at(info, image, address - 1, e->tsc, module);
}

/* Names are files' to choose: one of several lines would look like more frames, or records. */
static void put_name(struct trace_seq *to, const char *name)
{
	for (; *name; name++)
		trace_seq_putc(to, *name == '\n' || *name == '\r' ? ' ' : (unsigned char)*name);
}

/* Prints a place in a file without functions: a library that was not opened. */
static void print_place(const struct trace_info *info, const struct event *e, uint64_t address,
			struct trace_seq *to)
{
	const struct trace_module *m =
		trace_info_module_at(info, info->threads.at[e->thread].image, address, e->tsc);

	if (m) {
		put_name(to, m->name);
		trace_seq_printf(to, "+0x%llx", (unsigned long long)(address - m->base));
	} else {
		trace_seq_printf(to, "0x%llx", (unsigned long long)address);
	}
}

/* Prints the function's name, with the offset in it if `offset`; without a function, the place. */
static void print_symbol(const struct trace_info *info, const struct event *e, uint64_t address,
			 bool offset, struct trace_seq *to)
{
	const struct trace_module *module;
	const struct trace_function *f = stack_text_function(info, e, address, &module);
	char name[512];

	if (!f) {
		print_place(info, e, address, to);
		return;
	}
	trace_function_name(module, f, name, sizeof(name));
	put_name(to, name);
	if (offset)
		trace_seq_printf(to, "+0x%llx/0x%x",
				 (unsigned long long)(address - module->base - f->vaddr), f->size);
}

void stack_text_symbol(const struct trace_info *info, const struct event *e, uint64_t address,
		       struct trace_seq *to)
{
	print_symbol(info, e, address, true, to);
}

/* Prints the file and the offset from where its code is mapped. False: the address is in no
 * file. */
static bool print_object(const struct trace_info *info, const struct event *e, uint64_t address,
			 struct trace_seq *to)
{
	const struct trace_module *m =
		trace_info_module_at(info, info->threads.at[e->thread].image, address, e->tsc);

	if (m) {
		put_name(to, m->path);
		trace_seq_printf(to, "[+0x%llx]", (unsigned long long)(address - m->start));
	}
	return m;
}

void stack_text(const struct trace_info *info, const struct event *e, bool user, uint64_t options,
		struct trace_seq *to)
{
	bool addresses = option_is_set(options, OPTION_SYM_ADDR);

	trace_seq_puts(to, user ? "<user stack trace>" : "<stack trace>");
	/* A zero ends the stack: user_stack has a fixed number of words. */
	for (size_t i = 1; i < e->count / 8 && e->payload[i]; i++) {
		uint64_t at = e->payload[i];
		bool told = !user;

		trace_seq_puts(to, "\n => ");
		if (!user)
			print_symbol(info, e, at, option_is_set(options, OPTION_SYM_OFFSET), to);
		else if (option_is_set(options, OPTION_SYM_USEROBJ))
			told = print_object(info, e, at, to);
		if (addresses || !told)
			trace_seq_printf(to, " <%016llx>", (unsigned long long)at);
	}
	trace_seq_terminate(to);
}
