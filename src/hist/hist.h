/* SPDX-License-Identifier: MIT */
/* A histogram: a trigger of the kind `hist`, its table, and the text of the `hist` file.
 *
 * Triggers are values of the settings (event/trigger.h), which are copied, changed and, if a write
 * is refused, dropped; the counts follow the records, which are looked at later. Therefore a table
 * is shared by all triggers that stand for the same histogram, and a write that pauses, continues
 * or clears makes a new trigger, whose request takes effect when the records of its time are looked
 * at (hist_begin).
 *
 * Functions marked (records) need the lock of whoever looks at records: the instance's pump_lock.
 * Functions without the mark may be called from any thread. */
#pragma once
#include "base/out.h"
#include "event/trigger.h"
#include "hist/command.h"

/* The kinds hist, enable_hist and disable_hist. */
extern const struct trigger_kinds hist_kinds;

/* A record, and what may be asked about it. */
struct hist_record {
	const uint8_t *bytes;  /* from common_type on */
	uint32_t size;
	int cpu;
	const char *comm;      /* the thread's name, NUL-terminated */
	/* Returns the time of the record by the histogram's clock. */
	uint64_t (*time)(void *context, const char *clock);
	/* Writes the stack, innermost call first, at most max addresses; returns their number. */
	size_t (*stack)(void *context, uint64_t *to, size_t max);
	/* Translates an address of the process to the one that kallsyms shows. */
	uint64_t (*resolve)(void *context, uint64_t address);
	void *context;
	/* Makes a record of a synthetic event, `words` long without common fields, at the time and
	 * of the thread of this one. False: it was not made, since too many are in a chain. */
	bool (*make)(void *context, const struct event_entry *e, const uint64_t *payload,
		     size_t words);
	/* Takes a snapshot of the buffer, with this record in it. */
	void (*snapshot)(void *context);
};

/* The function around an address. */
struct hist_symbol {
	char name[256];
	/* how far in it the address lies, of how many bytes; size 0: the name has the offset */
	uint64_t offset, size;
	const char *module;    /* the library's name; NULL: the program itself */
};

/* Functions by the addresses that hist_record.resolve() gave. */
struct hist_symbols {
	bool (*find)(void *arg, uint64_t address, struct hist_symbol *out); /* false: not known */
	void *arg;
};

/* Whether the trigger is a histogram. */
bool hist_is(const struct event_trigger *t);
/* (records) The trigger is in force from here on: what the write of it asked for is done. */
void hist_begin(struct event_trigger *t);
/* (records) Counts a record that passed the trigger's filter. */
void hist_count(struct event_trigger *t, const struct hist_record *r);
/* (records) Counts records that were lost before anybody could look at them, n in number. */
void hist_lose(struct event_trigger *t, uint64_t n);
/* (records) Pauses or continues: disable_hist, enable_hist. */
void hist_pause(struct event_trigger *t, bool paused);
/* (records) Whether the histogram is paused. */
bool hist_trigger_is_paused(const struct event_trigger *t);

/* Prints the histograms of a list: as text, or as a caller makes them. */
struct hist_printer {
	void (*print)(void *arg, const struct trigger_list *l, const struct hist_symbols *symbols,
		      struct out *out);
	void *arg;
};
/* (records) The printers of the `hist` file of an event with these triggers; of JSON, an object a
 * line: of each histogram its trigger, its rows and its totals; and of the `hist_debug` file. arg
 * NULL stands for the settings (struct event_set) that the list is of, which whoever calls print()
 * passes. */
extern const struct hist_printer hist_text_printer, hist_json_printer, hist_debug_printer;
