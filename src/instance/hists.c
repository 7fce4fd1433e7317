/* SPDX-License-Identifier: MIT */
/* Between the records of an instance and src/hist: the kernel's form of a record, times, stacks,
 * and addresses that are the same in all processes. The pump's thread, and readers of `hist` files,
 * call it under pump_lock. Nothing fails: a key that cannot be told is 0. */
#include "instance/hists.h"

#include <string.h>

#include "hist/hist.h"
#include "instance/buffer.h"
#include "instance/synthesized.h"
#include "shared/record.h"

#define COMMON_BYTES 8 /* common fields, which records in the session memory do not have */

/* --- a record --------------------------------------------------------------------------- */

/* The image of the thread that made the record: an address means something only in it. */
static uint32_t image_of(const struct hist_source_state *s)
{
	return s->info->threads.at[s->item->event->thread].image;
}

/* hist_record.time: by one of trace_clock's clocks, whose names the command has checked. The
 * instance's own clock may be another one: the copy of it is set, nothing else. */
static uint64_t time_of(void *context, const char *name)
{
	static const char *const names[TRACE_CLOCKS_N] = {
#define X(id, text) [TRACE_CLOCK_##id] = (text),
		TRACE_CLOCKS(X)
#undef X
	};
	const struct hist_source_state *s = context;
	struct trace_clock clock = s->info->clock;
	unsigned i = 0;

	while (i < TRACE_CLOCKS_N - 1 && strcmp(names[i], name))
		i++;
	buffer_set_clock(&clock, (enum clock_choice)i);
	return trace_clock_shown(&clock, s->tsc);
}

/* hist_record.stack: the addresses that a synthesized stack has here (synthesized.h). */
static size_t stack_of(void *context, uint64_t *to, size_t max)
{
	const struct hist_source_state *s = context;

	return synthesized_addresses(s->calls, s->frames, s->item, to, max);
}

/* hist_record.resolve: at the record's time, since libraries come and go. */
static uint64_t resolve_address(void *context, uint64_t address)
{
	const struct hist_source_state *s = context;

	return addresses_resolve(s->addresses, s->info, image_of(s), address, s->item->event->tsc);
}

/* hist_record.make: the stream that the record came from takes the new one. */
static bool make_record(void *context, const struct event_entry *e, const uint64_t *payload,
			size_t words)
{
	const struct hist_source_state *s = context;

	return s->make(s->arg, e, payload, words);
}

static void take_snapshot(void *context)
{
	const struct hist_source_state *s = context;

	s->snapshot(s->arg);
}

/* The record is copied behind common fields, since hist's fields have the kernel's offsets. */
void hists_count(struct event_trigger *t, const struct hist_source_state *s)
{
	const struct event *e = s->item->event;
	const struct trace_thread *thread = &s->info->threads.at[e->thread];
	uint64_t bytes[1 + RECORD_PAYLOAD_MAX];
	char comm[TRACE_COMM + 1] = "";
	struct hist_record r = { .bytes = (const uint8_t *)bytes,
				 .size = COMMON_BYTES + (uint32_t)e->count,
				 .cpu = e->cpu,
				 .comm = comm,
				 .time = time_of,
				 .stack = stack_of,
				 .make = make_record,
				 .snapshot = take_snapshot,
				 .resolve = resolve_address,
				 .context = (void *)s };

	if (e->count > 8 * RECORD_PAYLOAD_MAX) {
		hist_lose(t, 1); /* the program overwrote the record */
		return;
	}
	/* The common fields as ftrace has them: the event's id, no flags, the thread's id. */
	bytes[0] = s->id | (uint64_t)thread->tid << 32;
	memcpy(bytes + 1, e->payload, e->count);
	strncpy(comm, trace_thread_name_at(thread, e->tsc), TRACE_COMM);
	hist_count(t, &r);
}

/* --- all of the rules --------------------------------------------------------------------- */

void hists_begin(const struct rules *r)
{
	for (size_t i = 0; i < r->at.n; i++)
		for (size_t k = 0; k < r->at.at[i].triggers.n; k++)
			if (hist_is(r->at.at[i].triggers.at[k].trigger))
				hist_begin(r->at.at[i].triggers.at[k].trigger);
}

void hists_lose(const struct rules *r, uint64_t n)
{
	for (size_t i = 0; i < r->at.n; i++)
		for (size_t k = 0; k < r->at.at[i].triggers.n; k++)
			if (hist_is(r->at.at[i].triggers.at[k].trigger))
				hist_lose(r->at.at[i].triggers.at[k].trigger, n);
}

void hists_pause(const struct rule *r, bool paused)
{
	for (size_t k = 0; r && k < r->triggers.n; k++)
		if (hist_is(r->triggers.at[k].trigger))
			hist_pause(r->triggers.at[k].trigger, paused);
}

/* True also of an event without histograms: nothing of it counts. */
bool hists_are_paused(const struct rule *r)
{
	bool paused = true;

	for (size_t k = 0; r && k < r->triggers.n; k++)
		if (hist_is(r->triggers.at[k].trigger))
			paused &= hist_trigger_is_paused(r->triggers.at[k].trigger);
	return paused;
}

/* --- the file --------------------------------------------------------------------------- */

struct symbol_names {
	struct addresses *addresses;
	struct trace_info *info;
};

/* hist_symbols.find */
static bool find_symbol(void *arg, uint64_t address, struct hist_symbol *out)
{
	struct symbol_names *names = arg;
	const struct trace_module *m;
	const struct trace_function *f;
	uint64_t begin, end;

	if (!addresses_symbol(names->addresses, names->info, address, &begin, &end, &m, &f))
		return false;
	if (!f) {
		*out = (struct hist_symbol){ 0 };
		snprintf(out->name, sizeof(out->name), "%s+0x%llx", m->name,
			 (unsigned long long)(address - begin));
		return true;
	}
	trace_function_name(m, f, out->name, sizeof(out->name));
	out->offset = address - begin;
	out->size = end - begin;
	out->module = m->image < names->info->images.n &&
				      !strcmp(names->info->images.at[m->image].exe, m->path)
			      ? NULL
			      : m->name;
	return true;
}

void hists_print(const struct trigger_list *l, struct trace_info *info, struct addresses *a,
		 const struct hist_printer *printer, struct out *out)
{
	struct symbol_names names = { a, info };
	const struct hist_symbols symbols = { find_symbol, &names };

	printer->print(printer->arg, l, &symbols, out);
}
