/* SPDX-License-Identifier: MIT */
/* Works on a copy of the file in memory, and calls nothing else; no lock. Called as processes are
 * attached to and changed. The file is checked like a stranger's: offsets that lead out of it, and
 * relocations of any other kind than the agent has, make it unusable (-EPROTO). */
#include "inject/agent_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/elf.h"
#include "arch/page.h"
#include "base/mem.h"


/* Rounded up to whole pages. */
static uint64_t pages(uint64_t n)
{
	return (n + ARCH_PAGE - 1) & ~(ARCH_PAGE - 1);
}

/* Whether the bytes lie within the file. */
static bool is_inside(const struct agent_file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->n && bytes <= f->n - offset;
}

/* The file's bytes at an address; NULL if no segment has them all. */
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

/* PF_R is 4 and PF_X is 1, the reverse of PROT_READ and PROT_EXEC. */
static int prot_of(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
	       (flags & PF_X ? PROT_EXEC : 0);
}

/* False: not a segment as the agent has them. */
static bool add_segment(struct agent_file *f, const Elf64_Phdr *ph)
{
	struct agent_segment *s = &f->segments[f->n_segments];

	/* Segments begin at whole pages, because each is mapped by itself. */
	if (f->n_segments == sizeof(f->segments) / sizeof(f->segments[0]) ||
	    ph->p_vaddr % ARCH_PAGE || !is_inside(f, ph->p_offset, ph->p_filesz) ||
	    ph->p_filesz > ph->p_memsz)
		return false;
	*s = (struct agent_segment){ ph->p_vaddr, ph->p_offset, ph->p_filesz, pages(ph->p_memsz),
				     prot_of(ph->p_flags) };
	if (f->span < s->vaddr + s->memory_bytes + ARCH_PAGE)
		f->span = s->vaddr + s->memory_bytes + ARCH_PAGE;
	f->n_segments++;
	return true;
}

/* Reads the loadable segments and the build id. */
static bool read_segments(struct agent_file *f, const Elf64_Ehdr *eh)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		if (!is_inside(f, eh->e_phoff + i * sizeof(ph), sizeof(ph)))
			return false;
		memcpy(&ph, f->bytes + eh->e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD && !add_segment(f, &ph))
			return false;
		/* The build id: 16 bytes of note header come first. */
		if (ph.p_type == PT_NOTE && ph.p_filesz >= 16 + sizeof(f->build_id) &&
		    is_inside(f, ph.p_offset, ph.p_filesz)) {
			f->build_id_at = ph.p_vaddr + 16;
			memcpy(f->build_id, f->bytes + ph.p_offset + 16, sizeof(f->build_id));
		}
	}
	return f->n_segments >= 2;
}

/* False: a kind of relocation that the agent does not have. */
static bool add_relocation(struct agent_file *f, const Elf64_Rela *r)
{
	switch (elf_reloc(r)) {
	case ELF_RELOC_RELATIVE:
		*vec_add(&f->relocations) =
			(struct agent_relocation){ r->r_offset, (uint64_t)r->r_addend };
		return true;
	case ELF_RELOC_TLS_OFFSET:
		f->tpoff = r->r_offset;
		return true;
	default:
		return false;
	}
}

/* Section headers are used, which the agent's file keeps: a dynamic section need not be parsed. */
static bool read_relocations(struct agent_file *f, const Elf64_Ehdr *eh)
{
	const Elf64_Shdr *sh = (const void *)(f->bytes + eh->e_shoff);

	if (!is_inside(f, eh->e_shoff, eh->e_shnum * sizeof(*sh)))
		return false;
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Rela *r = (const void *)(f->bytes + sh[i].sh_offset);

		if (sh[i].sh_type != SHT_RELA || !(sh[i].sh_flags & SHF_ALLOC) ||
		    !is_inside(f, sh[i].sh_offset, sh[i].sh_size))
			continue;
		for (size_t k = 0; k < sh[i].sh_size / sizeof(*r); k++)
			if (!add_relocation(f, &r[k]))
				return false;
	}
	/* There is always one thread-local block; without its word the file is not the agent. */
	return f->tpoff != 0;
}

/* Checks the whole file, so that its users need not. */
static bool parse_file(struct agent_file *f)
{
	const Elf64_Ehdr *eh = (const void *)f->bytes;
	const struct agent_descriptor *c;

	if (f->n < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    !read_segments(f, eh) || !read_relocations(f, eh))
		return false;
	f->descriptor = eh->e_entry;
	c = agent_file_descriptor(f);
	return c && c->magic == AGENT_MAGIC && c->version == PROTOCOL_VERSION;
}

/* open() and not file_open(): the agent is brace's own file, where agent_path_find() has found
 * it. */
int agent_file_open(const char *path, struct agent_file *out, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	memset(out, 0, sizeof(*out));
	if (fd >= 0 && fstat(fd, &st) == 0) {
		out->bytes = mem_zalloc((size_t)st.st_size + 1);
		/* One read() returns the whole of a regular file below 2 GiB. */
		n = read(fd, out->bytes, (size_t)st.st_size);
	}
	if (n < 0)
		err_set(err, errno, "cannot read the agent %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -err->code;
	out->n = (size_t)n;
	if (parse_file(out))
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

const struct agent_descriptor *agent_file_descriptor(const struct agent_file *f)
{
	return at_vaddr(f, f->descriptor, sizeof(struct agent_descriptor));
}

/* Writes a word, if the segment has its place. */
static void put_value(const struct agent_segment *s, uint8_t *segment, uint64_t vaddr,
		      uint64_t value)
{
	if (vaddr >= s->vaddr && s->file_bytes >= 8 && vaddr - s->vaddr <= s->file_bytes - 8)
		memcpy(segment + (vaddr - s->vaddr), &value, 8);
}

/* Called for one segment at a time; words of other segments are passed over. TPOFF64's word gets
 * the block's distance to the thread pointer, which ld.so would have chosen. */
void agent_file_relocate(const struct agent_file *f, uint64_t base, int64_t tls,
			 const struct agent_segment *s, uint8_t *segment)
{
	for (size_t i = 0; i < f->relocations.n; i++)
		put_value(s, segment, f->relocations.at[i].at, base + f->relocations.at[i].value);
	put_value(s, segment, f->tpoff, (uint64_t)tls);
}

/* An address in the process, from one of the descriptor's offsets. */
static uint64_t descriptor_address(uint64_t descriptor_at, int32_t offset)
{
	return descriptor_at + (uint64_t)(int64_t)offset;
}

void agent_file_hello(const struct agent_descriptor *c, uint64_t descriptor_at,
		      struct protocol_hello *out)
{
	uint64_t arena = descriptor_address(descriptor_at, c->arena);

	out->request = PROTOCOL_HELLO;
	out->version = PROTOCOL_VERSION;
	out->image = MEMORY_NONE;
	out->table = descriptor_address(descriptor_at, c->table);
	/* The arena is aligned to its blocks: the descriptor tells only where it begins. */
	out->arena = (arena + SITE_BLOCK_BYTES - 1) & ~(uint64_t)(SITE_BLOCK_BYTES - 1);
	out->slow_record = descriptor_address(descriptor_at, c->slow_record);
	out->slow_record2 = descriptor_address(descriptor_at, c->slow_record2);
	out->slow_entry = descriptor_address(descriptor_at, c->slow_entry);
	out->slow_site = descriptor_address(descriptor_at, c->slow_site);
	out->state_entry = descriptor_address(descriptor_at, c->state_entry);
	out->slow_nonlocal = descriptor_address(descriptor_at, c->slow_nonlocal);
	out->find_fde = descriptor_address(descriptor_at, c->find_fde);
	out->find_object = descriptor_address(descriptor_at, c->find_object);
	out->iterate_phdr = descriptor_address(descriptor_at, c->iterate_phdr);
	out->intercept = descriptor_address(descriptor_at, c->intercept);
	out->intercept_filter = descriptor_address(descriptor_at, c->intercept_filter);
	out->probe = descriptor_address(descriptor_at, c->probe);
	out->event = descriptor_address(descriptor_at, c->event);
	out->syscall = descriptor_address(descriptor_at, c->syscall);
	out->delivery = descriptor_address(descriptor_at, c->delivery);
	out->arguments = descriptor_address(descriptor_at, c->arguments);
	out->lock = descriptor_address(descriptor_at, c->lock);
}
