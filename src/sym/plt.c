/* SPDX-License-Identifier: MIT */
/* Finds PLT entries: calls into other modules. In every linker's style (lazy, bound at start, with
 * landing pads, LLD's, mold's) an entry holds one jump through a slot, and a relocation ties the
 * slot to a symbol. PLT0 jumps through a slot that has no relocation, so it is not taken for an
 * entry. module.c calls it for each file; entries without a known slot are left out. Any thread: a
 * module belongs to one while it is opened. */
#include "arch/code.h"
#include "arch/elf.h"
#include "sym/functions.h"

/* A slot of the GOT, and the symbol, or the resolver (IRELATIVE), whose address the loader puts
 * there. */
struct slot { uint64_t vaddr; uint64_t symbol; uint64_t resolver; };
struct slots { VEC(struct slot) list; };

/* True if the relocation fills a slot that a PLT entry may jump through. */
static bool relocated_slot(const Elf64_Rela *r, struct slot *out)
{
	enum elf_reloc kind = elf_reloc(r);

	*out = (struct slot){ r->r_offset, ELF64_R_SYM(r->r_info), 0 };
	if (kind == ELF_RELOC_RESOLVER)
		out->resolver = (uint64_t)r->r_addend;
	return kind == ELF_RELOC_SLOT || kind == ELF_RELOC_RESOLVER;
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

/* Returns the slot of the first jump through one among the n bytes; NULL: there is none. */
static const struct slot *slot_jumped_through(const struct slots *s, const uint8_t *p, size_t n,
					      uint64_t vaddr)
{
	const struct slot *slot = NULL;
	uint64_t at;

	for (size_t i = 0; !slot && code_next_slot_jump(p, n, vaddr, &i, &at);)
		slot = find_slot(s, at);
	return slot;
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

/* Without section names: whatever looks like an entry and jumps through a slot. */
static void search_plt(const struct elf_view *v, const struct slots *slots,
		       const struct elf_symtab *dynsym, struct found_list *out)
{
	for (size_t i = 0; i < v->code.n; i++) {
		const struct elf_area *area = &v->code.at[i];

		for (uint64_t at = 0; at + CODE_PLT_READ <= area->size; at += 8) {
			const uint8_t *p = area->bytes + at;
			struct code_plt entry;
			const struct slot *slot;

			if (!code_plt_entry(p, &entry))
				continue;
			slot = slot_jumped_through(slots, p + entry.jump, entry.jump_bytes,
						   area->vaddr + at + entry.jump);
			if (slot)
				add_entry(dynsym, slot, area->vaddr + at, entry.size, out);
		}
	}
}

void plt_find(const struct elf_view *v, struct found_list *out)
{
	struct slots slots = read_slots(v);
	struct elf_symtab dynsym = elf_dynsym(v);

	for (size_t i = 0; i < v->sections.n; i++) {
		const struct elf_section *s = &v->sections.at[i];
		struct elf_area area = { s->vaddr, s->size, s->bytes };

		if (plt_section(s))
			read_plt(v, &slots, &dynsym, &area,
				 code_plt_size(s->bytes, s->size, s->entsize), out);
	}
	if (!v->sections.n && slots.list.n)
		search_plt(v, &slots, &dynsym, out);
	vec_free(&slots.list);
}
