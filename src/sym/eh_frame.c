/* SPDX-License-Identifier: MIT */
/* Reads .eh_frame in file order (its binary search table does not help a reader of all of it):
 * ranges of functions, the unwinder's state at an instruction, landing pads. module.c calls it when
 * a file is opened, unwind.c on each new address. The bytes are a file's: a malformed entry ends
 * the reading, work is bounded by the file's size. Any thread. */
#include "sym/cfi.h"
#include "sym/eh_frame.h"
#include "sym/eh_pointer.h"

#define MAX_CIE 512 /* bytes; real ones have 20 to 60, and every FDE reads its own again */

/* The table's address, and its bytes. */
struct table { uint64_t vaddr; struct cursor bytes; bool to_terminator; };

/* Finds the table without section headers: .eh_frame_hdr (its version is 1) begins with a pointer
 * to it. Its end is not known, so a terminator of length 0 ends it. */
static struct table find_by_header(const struct elf_view *v)
{
	const Elf64_Phdr *p = elf_find_phdr(v, PT_GNU_EH_FRAME);
	struct table t = { .bytes = cursor_of(v->bytes, 0), .to_terminator = true };
	struct cursor c = elf_from(v, p ? p->p_vaddr : 0);
	uint8_t encoding;

	if (!p || cursor_u8(&c) != 1)
		return t;
	encoding = cursor_u8(&c);
	/* The encodings of the search table, which is not read. */
	cursor_u16(&c);
	t.vaddr = eh_pointer(&c, encoding, p->p_vaddr + 4);
	if (!c.bad)
		t.bytes = elf_from(v, t.vaddr);
	return t;
}

/* With a section the table's end is known, so terminators in its midst are passed over. */
static struct table find_table(const struct elf_view *v)
{
	const struct elf_section *s = elf_find_section(v, ".eh_frame");

	if (!s || !s->bytes || !s->vaddr)
		return find_by_header(v);
	return (struct table){ s->vaddr, cursor_of(s->bytes, s->size), false };
}

/* ---- CIEs ---- */

/* Reads the data for each letter of the augmentation, in the order of the letters. */
static void read_augmentation(struct eh_cie *cie, struct cursor *c, const char *letters)
{
	for (; *letters && !c->bad; letters++) {
		switch (*letters) {
		case 'z': cie->sized = true; cursor_uleb(c); break;
		case 'L': cie->lsda_encoding = cursor_u8(c); break;
		case 'R': cie->fde_encoding = cursor_u8(c); break;
		case 'P': { /* the personality: only its length matters here */
			uint8_t encoding = cursor_u8(c);
			eh_pointer(c, encoding & 0x0f, 0);
			break;
		}
		case 'S': cie->signal = true; break;
		case 'B': break;
		/* An unknown letter: the rest is skipped by the length that 'z' gave. */
		default: return;
		}
	}
}

/* Reads a CIE; c: from its version on. `usable` stays false if it is malformed, or of another
 * version than 1 and 3. */
static struct eh_cie read_cie(struct cursor c, uint64_t vaddr)
{
	struct eh_cie cie = { .vaddr = vaddr, .lsda_encoding = EH_OMIT };
	const uint8_t *begin = c.at;
	uint8_t version = cursor_u8(&c);
	const char *letters = cursor_str(&c);
	struct cursor data;

	cie.code_align = cursor_uleb(&c);
	cie.data_align = cursor_sleb(&c);
	/* Version 1 has a byte here, version 3 a LEB128. */
	cie.ra = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);
	if (c.bad || (version != 1 && version != 3))
		return cie;
	data = c;
	if (letters[0] == 'z')
		cursor_bytes(&c, cursor_uleb(&c));
	read_augmentation(&cie, &data, letters);
	cie.program = vaddr + (uint64_t)(c.at - begin);
	cie.program_n = (uint32_t)cursor_left(&c);
	cie.usable = !c.bad && !data.bad;
	return cie;
}

/* ---- FDEs ---- */

/* An entry's body: its address, and a cursor up to its end. */
struct hdr_entry { uint64_t vaddr; struct cursor c; };

/* Returns a machine that stops at `until`: instructions for addresses above it are not run. */
static struct cfi_machine machine_of(const struct eh_cie *cie, uint64_t start, uint64_t until)
{
	return (struct cfi_machine){ .code_align = cie->code_align, .data_align = cie->data_align,
				     .ra = cie->ra, .address = start, .until = until };
}

/* An empty cursor where the file has no such bytes. */
static struct cursor program_of(const struct elf_view *v, uint64_t vaddr, uint32_t n)
{
	const uint8_t *at = elf_at(v, vaddr, n);

	return elf_cursor(v, at, n);
}

/* True if the frame is that of a function at its first instruction. */
static bool fresh_cfa(const struct cfi_state *s)
{
	return !s->cfa_expression && s->cfa_register == DWARF_SP &&
	       s->cfa_offset == DWARF_FRESH_CFA;
}

/* Notes what the unwinder believes at the first instruction. A fragment or assembly may begin with
 * a frame already made. */
static void judge_start(const struct elf_view *v, const struct eh_cie *cie, struct eh_fde *fde,
			struct cursor program)
{
	struct cfi_machine m = machine_of(cie, fde->start, fde->start);

	cfi_run(&m, program_of(v, cie->program, cie->program_n));
	cfi_run(&m, program);
	fde->cfa_moved = !fresh_cfa(&m.state);
	fde->saved = m.state.saved;
	fde->ra_undefined = m.state.ra_undefined;
}

/* Adds an FDE if it describes code of this file. An entry of size 0, or whose start is no code, is
 * left out without an error. */
static void read_fde(const struct elf_view *v, struct eh_frame *f, uint32_t cie_index,
		     struct hdr_entry e)
{
	const struct eh_cie *cie = &f->cies.at[cie_index];
	const uint8_t *begin = e.c.at;
	struct eh_fde fde = { .cie = cie_index, .signal = cie->signal };
	uint64_t length;

	fde.start = eh_pointer(&e.c, cie->fde_encoding, e.vaddr);
	/* A size has the format of the start, but is relative to nothing. */
	fde.size = eh_pointer(&e.c, cie->fde_encoding & 0x0f, 0);
	if (cie->sized) {
		struct cursor data;

		length = cursor_uleb(&e.c);
		data = e.c;
		if (length && cie->lsda_encoding != EH_OMIT)
			/* No compiler makes this pointer indirect; the bit is ignored. */
			fde.lsda = eh_pointer(&data, cie->lsda_encoding & ~EH_INDIRECT,
					      e.vaddr + (uint64_t)(data.at - begin));
		cursor_bytes(&e.c, length);
	}
	if (e.c.bad || !fde.size || fde.size > INT64_MAX - fde.start ||
	    !elf_is_code_memory(v, fde.start))
		return;
	fde.program = e.vaddr + (uint64_t)(e.c.at - begin);
	fde.program_n = (uint32_t)cursor_left(&e.c);
	judge_start(v, cie, &fde, e.c);
	*vec_add(&f->fdes) = fde;
}

/* Returns the CIE at vaddr, nearly always one of the last few used; UINT32_MAX: none. `cache` is
 * indexed by its address. */
static uint32_t cie_at(struct table *t, struct eh_frame *f, uint64_t vaddr, uint32_t cache[16])
{
	uint32_t *slot = &cache[vaddr / 8 % 16], length;
	struct cursor c = t->bytes;

	/* vaddr + 8: after length and id, as read_cie() stores it. */
	if (*slot < f->cies.n && f->cies.at[*slot].vaddr == vaddr + 8)
		return *slot;
	cursor_bytes(&c, vaddr - t->vaddr);
	length = cursor_u32(&c);
	if (cursor_u32(&c) != 0 || c.bad || length < 4 || length > MAX_CIE ||
	    length - 4 > cursor_left(&c))
		return UINT32_MAX;
	c.end = c.at + length - 4;
	*slot = (uint32_t)f->cies.n;
	*vec_add(&f->cies) = read_cie(c, vaddr + 8);
	return *slot;
}

static int by_start(const void *a, const void *b)
{
	const struct eh_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Tables are mostly sorted already, by the linker. */
static void sort_fdes(struct eh_frame *f)
{
	size_t n = f->fdes.n, sorted = 1;

	while (sorted < n && f->fdes.at[sorted - 1].start <= f->fdes.at[sorted].start)
		sorted++;
	if (sorted < n)
		qsort(f->fdes.at, n, sizeof(*f->fdes.at), by_start);
}

/* A malformed entry ends the reading: those before it stay. Sorted by start. */
void eh_frame_read(const struct elf_view *v, struct eh_frame *out)
{
	struct table t = find_table(v);
	struct cursor c = t.bytes;
	uint32_t cache[16] = { 0 };

	*out = (struct eh_frame){ 0 };
	while (cursor_left(&c) >= 8) {
		uint32_t length = cursor_u32(&c), id;
		struct hdr_entry e;

		if (!length && t.to_terminator)
			break;
		if (!length)
			continue;
		if (length < 4 || length > cursor_left(&c))
			break; /* also a 64-bit entry, which no compiler makes */
		e.c = c;
		e.c.end = c.at + length;
		e.vaddr = t.vaddr + (uint64_t)(c.at - t.bytes.at);
		cursor_bytes(&c, length);
		id = cursor_u32(&e.c);
		if (id && id <= e.vaddr - t.vaddr) {
			uint32_t cie = cie_at(&t, out, e.vaddr - id, cache);

			e.vaddr += 4;
			if (cie != UINT32_MAX && out->cies.at[cie].usable)
				read_fde(v, out, cie, e);
		}
	}
	sort_fdes(out);
}

void eh_frame_free(struct eh_frame *f)
{
	vec_free(&f->fdes);
	vec_free(&f->cies);
}

/* Returns the last of the n FDEs that begin at or before vaddr, if it reaches so far. */
static const struct eh_fde *fde_reaches(const struct eh_frame *f, size_t n, uint64_t vaddr)
{
	const struct eh_fde *last = n ? &f->fdes.at[n - 1] : NULL;

	return last && vaddr - last->start < last->size ? last : NULL;
}

/* NULL: no entry covers the address. */
const struct eh_fde *eh_frame_around(const struct eh_frame *f, uint64_t vaddr)
{
	return fde_reaches(f, vec_bisect(&f->fdes, fde, fde->start <= vaddr), vaddr);
}

/* For addresses that rise: *at goes on from the call before, so that a walk over all code is
 * linear. */
const struct eh_fde *eh_frame_walk(const struct eh_frame *f, uint64_t vaddr, size_t *at)
{
	while (*at < f->fdes.n && f->fdes.at[*at].start <= vaddr)
		++*at;
	return fde_reaches(f, *at, vaddr);
}

/* Whether the stack there is not as at a function's first instruction. */
bool eh_frame_unusual(const struct elf_view *v, const struct eh_frame *f, const struct eh_fde *fde,
		      uint64_t vaddr)
{
	const struct eh_cie *cie = &f->cies.at[fde->cie];
	struct cfi_machine m = machine_of(cie, fde->start, vaddr);

	/* At the start all was judged when the FDE was read. */
	if (vaddr == fde->start)
		return fde->signal || fde->cfa_moved || fde->ra_undefined;
	cfi_run(&m, program_of(v, cie->program, cie->program_n));
	cfi_run(&m, program_of(v, fde->program, fde->program_n));
	return fde->signal || !fresh_cfa(&m.state) || m.state.ra_undefined;
}

/* False: the program is malformed, or uses what no compiler makes. *ra: the column of the return
 * address. */
bool eh_frame_state(const struct elf_view *v, const struct eh_frame *f, const struct eh_fde *fde,
		    uint64_t vaddr, struct cfi_state *out, uint64_t *ra)
{
	const struct eh_cie *cie = &f->cies.at[fde->cie];
	struct cfi_machine m = machine_of(cie, fde->start, vaddr);
	struct cfi_state initial;

	if (!cfi_run(&m, program_of(v, cie->program, cie->program_n)))
		return false;
	/* "restore" means the state after the CIE's instructions. */
	initial = m.state;
	m.initial = &initial;
	if (!cfi_run(&m, program_of(v, fde->program, fde->program_n)))
		return false;
	*out = m.state;
	*ra = cie->ra;
	return true;
}

/* ---- landing pads ---- */

/* Reads one function's table of landing pads. Returns the bytes read, which the caller adds up:
 * many FDEs may name the same table in a file made to waste time. */
static size_t read_lsda(const struct elf_view *v, const struct eh_fde *fde, struct code_set *pads)
{
	struct cursor c = elf_from(v, fde->lsda);
	const uint8_t *begin = c.at;
	uint64_t base = fde->start, length;
	uint8_t encoding = cursor_u8(&c);

	if (encoding != EH_OMIT)
		base = eh_pointer(&c, encoding, fde->lsda + 1);
	if (cursor_u8(&c) != EH_OMIT) /* the type table's encoding */
		cursor_uleb(&c);
	encoding = cursor_u8(&c);
	length = cursor_uleb(&c);
	if (length < cursor_left(&c))
		c.end = c.at + length;
	while (cursor_left(&c) && !c.bad) {
		uint64_t pad;

		eh_pointer(&c, encoding, 0); /* start and length of the calls that the pad serves */
		eh_pointer(&c, encoding, 0);
		pad = eh_pointer(&c, encoding, 0);
		cursor_uleb(&c);
		if (pad && !c.bad)
			code_set_add(pads, base + pad);
	}
	return (size_t)(c.at - begin);
}

void eh_frame_landing_pads(const struct elf_view *v, const struct eh_frame *f,
			   struct code_set *pads)
{
	/* Four times the file is enough for any honest one. */
	size_t budget = 4 * v->n;

	for (size_t i = 0; i < f->fdes.n && budget; i++) {
		size_t used = f->fdes.at[i].lsda ? read_lsda(v, &f->fdes.at[i], pads) : 0;

		budget = used < budget ? budget - used : 0;
	}
}
