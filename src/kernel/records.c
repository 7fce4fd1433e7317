/* SPDX-License-Identifier: MIT */
/* Decodes records, called by rings.c for each in the order of time. The kernel's formats change
 * between versions, so that places of fields are taken from the `format` files. */
#include "kernel/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/catalogue.h"
#include "kernel/names.h"

/* The kernel's limit of process ids (PID_MAX_LIMIT). */
#define TID_MAX (1u << 22)
#define ID_MAX UINT16_MAX

void kernel_records_init(struct kernel_records *r, struct trace_info *info, uint32_t module,
			 struct kernel_used *used)
{
	memset(r, 0, sizeof(*r));
	r->info = info;
	r->module = module;
	r->used = used;
	r->image = used ? 0 : info->modules.at[module].image;
}

/* The modules of info may move when one is added. */
static const struct trace_module *functions_of(const struct kernel_records *r)
{
	return r->used ? r->used->all : &r->info->modules.at[r->module];
}

void kernel_records_free(struct kernel_records *r)
{
	vec_free(&r->events);
	vec_free(&r->threads);
}

/* --- formats ---------------------------------------------------------------------------- */

/* 0: the format has no such field, or it is too narrow. */
uint16_t kernel_records_offset(const struct event_format *e, const char *name, uint16_t size)
{
	enum event_field_kind kind;
	const struct event_field *f = event_find_field(e, name, strlen(name), &kind);

	return f && f->size == size ? f->offset : 0;
}

/* Fields that are missing have the place 0. A call is no call without its function, and without
 * either its depth or its caller. */
static int call_format(struct kernel_call_format *to, const struct event_format *e,
		       struct err *err)
{
	*to = (struct kernel_call_format){
		.id = e->id,
		.bytes = (uint16_t)event_record_bytes(e),
		.func = kernel_records_offset(e, "func", 8),
		.depth = kernel_records_offset(e, "depth", 4),
		.calltime = kernel_records_offset(e, "calltime", 8),
		.rettime = kernel_records_offset(e, "rettime", 8),
	};
	if (!strcmp(e->name, "function")) {
		to->func = kernel_records_offset(e, "ip", 8);
		to->caller = kernel_records_offset(e, "parent_ip", 8);
	}
	if (to->func && (to->depth || to->caller))
		return 0;
	return err_set(err, EINVAL,
		       "this kernel's format of ftrace:%s is not known to this version of brace",
		       e->name);
}

int kernel_records_format(struct kernel_records *r, const char *system, const char *text,
			  struct err *err)
{
	struct event_format *e = event_format_parse(text, strlen(text), system, err);
	bool ftrace = !strcmp(system, "ftrace");
	int error = 0;

	if (!e)
		return err_prefix(err, "the kernel's format of an event of %s", system);
	if (ftrace && !strcmp(e->name, "funcgraph_entry")) {
		error = call_format(&r->entry, e, err);
	} else if (ftrace && !strcmp(e->name, "funcgraph_exit")) {
		error = call_format(&r->exit, e, err);
	} else if (ftrace && !strcmp(e->name, "function")) {
		error = call_format(&r->call, e, err);
	} else if (e->id <= ID_MAX) {
		uint32_t index = r->first_event + (uint32_t)r->info->events.n;

		while (r->events.n <= e->id)
			*vec_add(&r->events) = 0;
		r->events.at[e->id] = index + 1;
		trace_info_add_event(r->info, &(struct event_entry){ .index = index, .format = e,
								     .text = text });
	}
	event_format_free(e);
	return error;
}

/* --- records ---------------------------------------------------------------------------- */

static void name_thread(const struct kernel_records *r, uint32_t tid, char comm[TRACE_COMM])
{
	if (!r->name_of || !r->name_of(r->named, tid, comm))
		kernel_names_find(r->names, tid, comm);
}

/* The list is by number: a damaged page must not make it as long as it likes. */
uint32_t kernel_records_thread(struct kernel_records *r, uint32_t tid, uint64_t tsc)
{
	uint32_t *known;

	tid = tid < TID_MAX ? tid : TID_MAX;
	while (r->threads.n <= tid)
		*vec_add(&r->threads) = 0;
	known = &r->threads.at[tid];
	if (*known)
		return *known - 1;
	*vec_add(&r->info->threads) = (struct trace_thread){
		.pid = tid, .tid = tid, .image = r->image, .tsc = tsc,
		.comm = KERNEL_NAMELESS,
	};
	name_thread(r, tid, r->info->threads.at[r->info->threads.n - 1].comm);
	*known = (uint32_t)r->info->threads.n;
	return *known - 1;
}

static uint64_t u64_at(const uint8_t *data, uint16_t offset)
{
	uint64_t v;

	memcpy(&v, data + offset, sizeof(v));
	return v;
}

/* kernel_symbols_at() searches 50,000 functions, which was half of a record's time. The place is by
 * the upper bits of a product (Fibonacci hashing), since functions are aligned. Address 0, which
 * empty places have, is in no function, and theirs is 0, too. */
static uint32_t function_at(struct kernel_records *r, uint64_t address)
{
	const uint64_t product = address * UINT64_C(0x9e3779b97f4a7c15);
	struct kernel_known *k = &r->known[product >> (64 - KERNEL_RECORDS_KNOWN_BITS)];

	if (k->address != address)
		*k = (struct kernel_known){ address, kernel_symbols_at(functions_of(r), address) };
	return k->fn;
}

/* The address that a call returns to, or a return's own time. */
static uint64_t value_of(struct kernel_records *r, const struct kernel_call_format *f,
			 const struct kernel_page_record *record)
{
	uint64_t caller = f->caller ? u64_at(record->data, f->caller) : 0;

	if (caller && r->used)
		kernel_used_note(r->used, function_at(r, caller));
	if (f->rettime && f->calltime)
		return u64_at(record->data, f->rettime) - u64_at(record->data, f->calltime);
	return caller;
}

/* Fills in the function, its depth and its value. */
static bool call_event(struct kernel_records *r, const struct kernel_call_format *f,
		       const struct kernel_page_record *record, struct event *out)
{
	int32_t depth = 0;

	if (record->n < f->bytes)
		return false;
	if (f->depth)
		memcpy(&depth, record->data + f->depth, sizeof(depth));
	out->flags = EVENT_KERNEL;
	out->fn = function_at(r, u64_at(record->data, f->func));
	if (r->used)
		kernel_used_note(r->used, out->fn);
	out->count = depth < 0 ? 0 : (uint64_t)depth;
	out->value = value_of(r, f, record);
	return out->fn != 0;
}

/* Addresses in events are shown as functions, too: those of stacks, and of %pS. */
static void note_addresses(struct kernel_records *r, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (r->payload[i] >= r->used->all->start)
			kernel_used_note(r->used, function_at(r, r->payload[i]));
}

/* The payload begins behind the common fields. */
static bool trace_event(struct kernel_records *r, uint32_t id,
			const struct kernel_page_record *record, struct event *out)
{
	size_t n = record->n - 8;

	if (id >= r->events.n || !r->events.at[id] || n > sizeof(r->payload))
		return false;
	memset(r->payload, 0, (n + 7) / 8 * 8);
	memcpy(r->payload, record->data + 8, n);
	out->kind = EVENT_TRACE;
	out->fn = r->events.at[id] - 1;
	out->payload = r->payload;
	out->count = (n + 7) / 8 * 8;
	if (r->used)
		note_addresses(r, (n + 7) / 8);
	return true;
}

bool kernel_records_event(struct kernel_records *r, uint16_t cpu,
			  const struct kernel_page_record *record, struct event *out)
{
	uint16_t id;
	int32_t tid;
	bool is;

	*out = (struct event){ .tsc = record->tsc, .cpu = cpu };
	if (record->n < 8) {
		r->unknown++;
		return false;
	}
	memcpy(&id, record->data, sizeof(id));
	memcpy(&tid, record->data + 4, sizeof(tid));
	if (r->entry.id && id == r->entry.id) {
		out->kind = EVENT_ENTRY;
		is = call_event(r, &r->entry, record, out);
	} else if (r->exit.id && id == r->exit.id) {
		out->kind = EVENT_EXIT;
		is = call_event(r, &r->exit, record, out);
	} else if (r->call.id && id == r->call.id) {
		out->kind = EVENT_CALL;
		is = call_event(r, &r->call, record, out);
	} else {
		is = trace_event(r, id, record, out);
	}
	r->unknown += !is;
	if (is)
		out->thread = kernel_records_thread(r, (uint32_t)tid, record->tsc);
	return is;
}

uint32_t kernel_records_track(struct kernel_records *r, uint32_t tid, const char *name,
			      uint64_t tsc)
{
	struct trace_thread t = { .pid = tid, .tid = tid, .image = r->image, .tsc = tsc };

	strncpy(t.comm, name, sizeof(t.comm) - 1);
	*vec_add(&r->info->threads) = t;
	return (uint32_t)r->info->threads.n - 1;
}
