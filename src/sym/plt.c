/* SPDX-License-Identifier: MIT */
/* Finds PLT entries: calls into other modules. In every linker's style (lazy, bound at start, with
 * endbr64, LLD's, mold's) an entry holds one `jmp *slot(%rip)`, and a relocation ties the slot to a
 * symbol. PLT0 jumps through a slot that has no relocation, so it is not taken for an entry.
 * module.c calls it for each file; entries without a known slot are left out. */
#include "sym/functions.h"

/* A slot of the GOT, and the symbol, or the resolver (IRELATIVE), whose address the loader puts
 * there. */
struct slot { uint64_t vaddr; uint64_t symbol; uint64_t resolver; };
struct slots { VEC(struct slot) list; };

/* True if the relocation fills a slot that a PLT entry may jump through. */
static bool relocated_slot(const Elf64_Rela *r, struct slot *out)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);

	*out = (struct slot){ r->r_offset, ELF64_R_SYM(r->r_info), 0 };
	if (type == R_X86_64_IRELATIVE)
		out->resolver = (uint64_t)r->r_addend;
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
	       type == R_X86_64_IRELATIVE;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static struct slots read_slots(const struct elf_view *v)
{
	struct slots s = { 0 };
	struct slot slot;

	for (size_t i = 0; i < v->relocs.n; i++)
		if (relocated_slot(&v->relocs.at[i], &slot))
			*vec_add(&s.list) = slot;
	if (s.list.n)
		qsort(s.list.at, s.list.n, sizeof(slot), by_vaddr);
	return s;
}

static const struct slot *find_slot(const struct slots *s, uint64_t vaddr)
{
	struct slot key = { .vaddr = vaddr };

	return s->list.n ? bsearch(&key, s->list.at, s->list.n, sizeof(key), by_vaddr) : NULL;
}

/* Returns the slot of the first `jmp *slot(%rip)` (ff 25) among the n bytes; NULL: there is
 * none. */
static const struct slot *slot_jumped_through(const struct slots *s, const uint8_t *p, size_t n,
					      uint64_t vaddr)
{
	/* The jump may come after an endbr64 or a bnd prefix. */
	for (size_t i = 0; i + 6 <= n; i++) {
		const struct slot *slot;
		int32_t disp;

		if (p[i] != 0xff || p[i + 1] != 0x25)
			continue;
		memcpy(&disp, p + i + 2, sizeof(disp));
		slot = find_slot(s, vaddr + i + 6 + (uint64_t)(int64_t)disp);
		if (slot)
			return slot;
	}
	return NULL;
}

/* Adds an entry under the symbol's name. One of a resolver gets its name later, from the resolver
 * (found_resolver). */
static void add_entry(const struct elf_symtab *dynsym, const struct slot *slot, uint64_t vaddr,
		      uint64_t size, struct found_list *out)
{
	struct found f = { .vaddr = vaddr, .size = size, .source = SYM_PLT };

	if (slot->symbol && slot->symbol < dynsym->n)
		found_set_name(&f, elf_string(dynsym, elf_symbol(dynsym, slot->symbol).st_name));
	if (slot->resolver)
		*vec_add(&out->resolvers) = (struct found_resolver){ vaddr, slot->resolver };
	*vec_add(&out->list) = f;
}

/* Takes every entry of a PLT section, `step` bytes each. */
static void read_plt(const struct elf_view *v, const struct slots *slots,
		     const struct elf_symtab *dynsym, const struct elf_area *area, uint64_t step,
		     struct found_list *out)
{
	for (uint64_t at = 0; at + step <= area->size; at += step) {
		const struct slot *slot = slot_jumped_through(slots, area->bytes + at, step,
							      area->vaddr + at);

		if (slot && elf_is_code(v, area->vaddr + at))
			add_entry(dynsym, slot, area->vaddr + at, step, out);
	}
}

bool plt_section(const struct elf_section *s)
{
	return s->flags & SHF_EXECINSTR && s->bytes &&
	       (!strncmp(s->name, ".plt", 4) || !strcmp(s->name, ".iplt"));
}

/* Returns the size of an entry; section headers of static programs do not tell it. */
static uint64_t entry_size(const struct elf_section *s)
{
	/* Other sizes are no entries of x86-64. */
	bool known = s->entsize == 8 || s->entsize == 16 || s->entsize == 32;
	bool bare = s->size >= 8 && s->bytes[0] == 0xff && s->bytes[1] == 0x25 &&
		    s->bytes[6] == 0x66 && s->bytes[7] == 0x90; /* the jump and a 2-byte nop */

	return known ? s->entsize : bare ? 8 : 16;
}

/* Without section names: entries of 16 bytes that begin with the jump (after an endbr64) and
 * continue as PLT entries do: with push, a nop or int3. */
static void search_plt(const struct elf_view *v, const struct slots *slots,
		       const struct elf_symtab *dynsym, struct found_list *out)
{
	for (size_t i = 0; i < v->code.n; i++) {
		const struct elf_area *area = &v->code.at[i];

		for (uint64_t at = 0; at + 16 <= area->size; at += 8) {
			const uint8_t *p = area->bytes + at;
			size_t endbr = memcmp(p, "\xf3\x0f\x1e\xfa", 4) ? 0 : 4;
			size_t jump = endbr + (p[endbr] == 0xf2);
			bool lazy = p[jump + 6] == 0x68;
			const struct slot *slot;

			if (!lazy && memcmp(p + jump + 6, "\x66\x90", 2) && p[jump + 6] != 0x0f &&
			    p[jump + 6] != 0xcc)
				continue;
			slot = slot_jumped_through(slots, p + jump, 6, area->vaddr + at + jump);
			if (slot)
				add_entry(dynsym, slot, area->vaddr + at, lazy || endbr ? 16 : 8,
					  out);
		}
	}
}

void found_plt(const struct elf_view *v, struct found_list *out)
{
	struct slots slots = read_slots(v);
	struct elf_symtab dynsym = elf_dynsym(v);

	for (size_t i = 0; i < v->sections.n; i++) {
		const struct elf_section *s = &v->sections.at[i];
		struct elf_area area = { s->vaddr, s->size, s->bytes };

		if (plt_section(s))
			read_plt(v, &slots, &dynsym, &area, entry_size(s), out);
	}
	if (!v->sections.n && slots.list.n)
		search_plt(v, &slots, &dynsym, out);
	vec_free(&slots.list);
}
