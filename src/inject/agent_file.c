/* SPDX-License-Identifier: MIT */
#include "inject/agent_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define PAGE UINT64_C(4096)

static uint64_t pages(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

static bool inside(const struct agent_file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->n && bytes <= f->n - offset;
}

static const void *at_vaddr(const struct agent_file *f, uint64_t vaddr, uint64_t bytes)
{
	for (unsigned i = 0; i < f->n_segments; i++) {
		const struct agent_segment *s = &f->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr <= s->file_bytes &&
		    bytes <= s->file_bytes - (vaddr - s->vaddr))
			return f->bytes + s->offset + (vaddr - s->vaddr);
	}
	return NULL;
}

static int prot_of(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

static bool add_segment(struct agent_file *f, const Elf64_Phdr *ph)
{
	struct agent_segment *s = &f->segments[f->n_segments];

	if (f->n_segments == sizeof(f->segments) / sizeof(f->segments[0]) || ph->p_vaddr % PAGE ||
	    !inside(f, ph->p_offset, ph->p_filesz) || ph->p_filesz > ph->p_memsz)
		return false;
	*s = (struct agent_segment){ ph->p_vaddr, ph->p_offset, ph->p_filesz, pages(ph->p_memsz),
				     prot_of(ph->p_flags) };
	if (f->span < s->vaddr + s->memory_bytes + PAGE)
		f->span = s->vaddr + s->memory_bytes + PAGE;
	f->n_segments++;
	return true;
}

static bool read_segments(struct agent_file *f, const Elf64_Ehdr *eh)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		if (!inside(f, eh->e_phoff + i * sizeof(ph), sizeof(ph)))
			return false;
		memcpy(&ph, f->bytes + eh->e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD && !add_segment(f, &ph))
			return false;
		if (ph.p_type == PT_NOTE && ph.p_filesz >= 16 + sizeof(f->build_id) && inside(f, ph.p_offset, ph.p_filesz)) {
			f->build_id_at = ph.p_vaddr + 16;
			memcpy(f->build_id, f->bytes + ph.p_offset + 16, sizeof(f->build_id));
		}
	}
	return f->n_segments >= 2;
}

static bool add_relocation(struct agent_file *f, const Elf64_Rela *r)
{
	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_RELATIVE:
		*vec_add(&f->relocations) = (struct agent_relocation){ r->r_offset, (uint64_t)r->r_addend };
		return true;
	case R_X86_64_TPOFF64:
		f->tpoff = r->r_offset;
		return true;
	default:
		return false;
	}
}

static bool read_relocations(struct agent_file *f, const Elf64_Ehdr *eh)
{
	const Elf64_Shdr *sh = (const void *)(f->bytes + eh->e_shoff);

	if (!inside(f, eh->e_shoff, eh->e_shnum * sizeof(*sh)))
		return false;
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Rela *r = (const void *)(f->bytes + sh[i].sh_offset);

		if (sh[i].sh_type != SHT_RELA || !(sh[i].sh_flags & SHF_ALLOC) || !inside(f, sh[i].sh_offset, sh[i].sh_size))
			continue;
		for (size_t k = 0; k < sh[i].sh_size / sizeof(*r); k++)
			if (!add_relocation(f, &r[k]))
				return false;
	}
	return f->tpoff != 0;
}

static bool parse(struct agent_file *f)
{
	const Elf64_Ehdr *eh = (const void *)f->bytes;
	const struct agent_contents *c;

	if (f->n < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || !read_segments(f, eh) ||
	    !read_relocations(f, eh))
		return false;
	f->contents = eh->e_entry;
	c = agent_file_contents(f);
	return c && c->magic == AGENT_MAGIC && c->version == PROTOCOL_VERSION;
}

int agent_file_open(const char *path, struct agent_file *out, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	memset(out, 0, sizeof(*out));
	if (fd >= 0 && fstat(fd, &st) == 0) {
		out->bytes = mem_zalloc((size_t)st.st_size + 1);
		n = read(fd, out->bytes, (size_t)st.st_size);
	}
	if (n < 0)
		err_set(err, errno, "cannot read the agent %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -err->code;
	out->n = (size_t)n;
	if (parse(out))
		return 0;
	agent_file_close(out);
	return err_set(err, EPROTO, "%s is of another version of brace", path);
}

void agent_file_close(struct agent_file *f)
{
	free(f->bytes);
	vec_free(&f->relocations);
	f->bytes = NULL;
}

const struct agent_contents *agent_file_contents(const struct agent_file *f)
{
	return at_vaddr(f, f->contents, sizeof(struct agent_contents));
}

static void put(const struct agent_segment *s, uint8_t *segment, uint64_t vaddr, uint64_t value)
{
	if (vaddr >= s->vaddr && s->file_bytes >= 8 && vaddr - s->vaddr <= s->file_bytes - 8)
		memcpy(segment + (vaddr - s->vaddr), &value, 8);
}

void agent_file_relocate(const struct agent_file *f, uint64_t base, int64_t tls, const struct agent_segment *s,
			 uint8_t *segment)
{
	for (size_t i = 0; i < f->relocations.n; i++)
		put(s, segment, f->relocations.at[i].at, base + f->relocations.at[i].value);
	put(s, segment, f->tpoff, (uint64_t)tls);
}

static uint64_t place(uint64_t contents_at, int32_t offset)
{
	return contents_at + (uint64_t)(int64_t)offset;
}

void agent_file_hello(const struct agent_contents *c, uint64_t contents_at, struct protocol_hello *out)
{
	uint64_t arena = place(contents_at, c->arena);

	out->request = PROTOCOL_HELLO;
	out->version = PROTOCOL_VERSION;
	out->image = MEMORY_NONE;
	out->table = place(contents_at, c->table);
	out->arena = (arena + SITE_BLOCK_BYTES - 1) & ~(uint64_t)(SITE_BLOCK_BYTES - 1);
	out->slow_record = place(contents_at, c->slow_record);
	out->slow_record2 = place(contents_at, c->slow_record2);
	out->slow_entry = place(contents_at, c->slow_entry);
	out->slow_site = place(contents_at, c->slow_site);
	out->state_entry = place(contents_at, c->state_entry);
	out->slow_leave = place(contents_at, c->slow_leave);
	out->find_fde = place(contents_at, c->find_fde);
	out->find_object = place(contents_at, c->find_object);
	out->iterate_phdr = place(contents_at, c->iterate_phdr);
	out->led_call = place(contents_at, c->led_call);
	out->probe = place(contents_at, c->probe);
	out->event = place(contents_at, c->event);
	out->syscall = place(contents_at, c->syscall);
	out->delivery = place(contents_at, c->delivery);
}
