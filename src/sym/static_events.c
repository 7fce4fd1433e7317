/* SPDX-License-Identifier: MIT */
/* Reads the events of include/brace/event.h from a file's notes. image/event_sites.c and
 * ui/list_events.c call it, on any thread; a file without notes costs its section table only.
 * Malformed notes are skipped: an address is taken only if it is a nop, code or data.
 *
 * Three kinds of notes of the owner "brace". Type 1, in .note.brace, is a call site: addresses of
 * the nop, of the jump's target, of the event's state; strings system, name. Type 3 is an event
 * without sites of its own: address of its state, system, name. Type 2, in .note.brace.event, is an
 * event: u32 number of fields, strings system, name, at, print; then for each field u8 kind, u8
 * sign, u16 offset, u16 size, u16 size of an element, strings type and name. */
#include "sym/static_events.h"

#include <string.h>
#include <sys/mman.h>

#include "arch/code.h"
#include "sym/elf_view.h"

#define NOTE_SITE 1
#define NOTE_EVENT 2
#define NOTE_STATE 3
#define FIELDS_MAX 64
#define RECORD_MAX 512
#define EVENTS_MOST 4096 /* of a file: each note is compared with them */

const uint8_t static_nop[STATIC_NOP_BYTES] = CODE_EVENT_NOP;

/* One reading of a file: what it is read from, and where the answer goes. */
struct note_reading { const struct elf_view *v; struct static_events *out; };

/* The patch replaces exactly these bytes: nothing else may stand there. */
static bool is_nop(const struct elf_view *v, uint64_t vaddr)
{
	const uint8_t *at = elf_at(v, vaddr, STATIC_NOP_BYTES);

	return at && elf_is_code(v, vaddr) && memcmp(at, static_nop, STATIC_NOP_BYTES) == 0;
}

/* The state need not be in the file, only in memory that is writable. */
static bool is_data(const struct elf_view *v, uint64_t vaddr)
{
	for (size_t i = 0; i < v->phdrs.n; i++) {
		const Elf64_Phdr *p = &v->phdrs.at[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_W && vaddr >= p->p_vaddr &&
		    p->p_memsz >= 16 && vaddr - p->p_vaddr <= p->p_memsz - 16)
			return vaddr % 8 == 0;
	}
	return false;
}

/* Adds a call site and its event's state. The patch is a jump of 32 bits, so the target must lie
 * within its reach. */
static void read_site(const struct note_reading *r, struct cursor *c)
{
	struct static_site s = { .nop = cursor_u64(c) };
	struct static_state state;
	int64_t distance;

	s.slow = cursor_u64(c);
	state.at = cursor_u64(c);
	state.system = s.system = cursor_str(c);
	state.name = s.name = cursor_str(c);
	distance = (int64_t)(s.slow - (s.nop + STATIC_NOP_BYTES));
	if (c->bad || !is_nop(r->v, s.nop) || !elf_is_code(r->v, s.slow) ||
	    distance != (int32_t)distance || !is_data(r->v, state.at))
		return;
	*vec_add(&r->out->sites) = s;
	*vec_add(&r->out->states) = state;
}

static void read_state(const struct note_reading *r, struct cursor *c)
{
	struct static_state s = { .at = cursor_u64(c) };

	s.system = cursor_str(c);
	s.name = cursor_str(c);
	if (!c->bad && is_data(r->v, s.at))
		*vec_add(&r->out->states) = s;
}

/* Reads a field. It must lie within the record, behind the 8 common bytes; a dynamic one has its
 * length and place there. */
static bool read_field(struct cursor *c, struct static_field *f)
{
	f->kind = cursor_u8(c);
	f->is_signed = cursor_u8(c);
	f->offset = cursor_u16(c);
	f->size = cursor_u16(c);
	f->element = cursor_u16(c);
	f->type = cursor_str(c);
	f->name = cursor_str(c);
	return !c->bad && f->kind < STATIC_KINDS && f->element && f->offset >= 8 &&
	       f->offset + f->size <= RECORD_MAX && (f->kind != STATIC_DYNAMIC || f->size == 4);
}

/* Each source file that includes the event has a note of it. */
static bool has_static_event(const struct static_events *e, const struct static_event *new)
{
	for (size_t i = 0; i < e->events.n; i++)
		if (!strcmp(e->events.at[i].name, new->name) &&
		    !strcmp(e->events.at[i].system, new->system))
			return true;
	return false;
}

static void read_event(const struct note_reading *r, struct cursor *c)
{
	struct static_event e = { 0 };
	uint32_t n = cursor_u32(c);
	bool whole;

	e.system = cursor_str(c);
	e.name = cursor_str(c);
	e.at = cursor_str(c);
	e.print = cursor_str(c);
	whole = !c->bad && n <= FIELDS_MAX && r->out->events.n < EVENTS_MOST &&
		!has_static_event(r->out, &e);
	for (uint32_t i = 0; i < n && whole; i++)
		whole = read_field(c, vec_add(&e.fields));
	if (whole)
		*vec_add(&r->out->events) = e;
	else
		vec_free(&e.fields);
}

/* Notes are padded to 4 bytes. */
static size_t padded_size(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static void read_notes(const struct note_reading *r, const struct elf_section *s)
{
	struct cursor c = cursor_of(s->bytes, s->size);

	while (cursor_left(&c) >= 12 && !c.bad) {
		uint32_t owner_size = cursor_u32(&c), size = cursor_u32(&c), type = cursor_u32(&c);
		const char *owner = cursor_bytes(&c, padded_size(owner_size));
		const uint8_t *bytes = cursor_bytes(&c, size);
		struct cursor note;

		/* The last note of a section may lack its padding. */
		if (cursor_left(&c))
			cursor_bytes(&c, padded_size(size) - size);
		if (!owner || !bytes || owner_size != 6 || memcmp(owner, "brace", 6) != 0)
			continue;
		note = cursor_of(bytes, size);
		if (type == NOTE_SITE)
			read_site(r, &note);
		else if (type == NOTE_EVENT)
			read_event(r, &note);
		else if (type == NOTE_STATE)
			read_state(r, &note);
	}
}

static bool is_event_section(const struct elf_section *s)
{
	return s->type == SHT_NOTE && s->bytes &&
	       (!strcmp(s->name, ".note.brace") || !strcmp(s->name, ".note.brace.event"));
}

/* Most files have none; their relocations are not worth reading. */
/* True if a section has notes of ours. */
static bool has_notes(const void *bytes, size_t n)
{
	struct elf_view v;
	struct err ignored;
	bool has = false;

	if (elf_view_tables(&v, bytes, n, "", &ignored) == 0)
		for (size_t i = 0; i < v.sections.n; i++)
			has |= is_event_section(&v.sections.at[i]);
	elf_view_free(&v);
	return has;
}

/* Offsets of the program's mappings count from its lowest page. */
static uint64_t lowest_vaddr(const struct elf_view *v)
{
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < v->phdrs.n; i++)
		if (v->phdrs.at[i].p_type == PT_LOAD && v->phdrs.at[i].p_vaddr < low)
			low = v->phdrs.at[i].p_vaddr;
	return low & ~UINT64_C(4095);
}

void static_events_read(const void *bytes, size_t n, struct static_events *out)
{
	struct elf_view v;
	struct note_reading r = { &v, out };
	struct err ignored;

	*out = (struct static_events){ 0 };
	if (!has_notes(bytes, n))
		return;
	if (elf_view_image(&v, bytes, n, "", &ignored) == 0) {
		out->lowest = lowest_vaddr(&v);
		for (size_t i = 0; i < v.sections.n; i++)
			if (is_event_section(&v.sections.at[i]))
				read_notes(&r, &v.sections.at[i]);
	}
	elf_view_free(&v);
}

int static_events_load(int fd, const char *path, struct static_events *out, struct err *err)
{
	struct elf_file file;
	int r = elf_file_read(fd, path, ELF_NOTES, &file, err);

	*out = (struct static_events){ 0 };
	if (r < 0)
		return r;
	if (has_notes(file.bytes, file.n)) {
		elf_file_free(&file);
		r = elf_file_read(fd, path, ELF_CONTENTS, &file, err);
	}
	if (r < 0)
		return r;
	static_events_read(file.bytes, file.n, out);
	out->file = file;
	return 0;
}

void static_events_free(struct static_events *e)
{
	for (size_t i = 0; i < e->events.n; i++)
		vec_free(&e->events.at[i].fields);
	vec_free(&e->events);
	vec_free(&e->sites);
	vec_free(&e->states);
	elf_file_free(&e->file);
	*e = (struct static_events){ 0 };
}
