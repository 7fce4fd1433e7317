/* SPDX-License-Identifier: MIT */
/* The parts of a trace.dat beside its pages: formats, symbols, names, and where all of it is
 * (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)). kallsyms names the functions, each at an address of
 * its own. trace_dat.c calls this when all records are in pages, on brace's only thread. `out`
 * keeps a write error. */
#include "export/trace_dat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PAGE TRACE_DAT_PAGE
enum { OPTION_END = 0, OPTION_CLOCK = 4, OPTION_UNAME = 5, OPTION_CPUS = 8 };

#define COMMON                                                                                  \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                   \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                   \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"           \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* The texts of the kernel's files events/header_page and header_event, which trace-cmd copies into
 * its files: readers parse pages by them. */
static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
static const char header_event[] =
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
#define ENTRY_FORMAT(more)                                                                      \
	"name: funcgraph_entry\nID: 11\nformat:\n" COMMON                                        \
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"                            \
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n" more                               \
	"\nprint fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n"
static const char entry_format[] = ENTRY_FORMAT("");
static const char described_entry_format[] =
	ENTRY_FORMAT("\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;\n");
/* Without a value the field of one is not named: readers print it for every call. */
#define EXIT_FORMAT(retval)                                                                     \
	"name: funcgraph_exit\nID: 10\nformat:\n" COMMON                                         \
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n" retval                     \
	"\tfield:int depth;\toffset:24;\tsize:4;\tsigned:1;\n"                                    \
	"\tfield:unsigned int overrun;\toffset:28;\tsize:4;\tsigned:0;\n"                         \
	"\tfield:unsigned long long calltime;\toffset:32;\tsize:8;\tsigned:0;\n"                  \
	"\tfield:unsigned long long rettime;\toffset:40;\tsize:8;\tsigned:0;\n\n"                 \
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth\n"
static const char exit_format[] = EXIT_FORMAT("");
static const char valued_exit_format[] =
	EXIT_FORMAT("\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;\n");

/* --- sections ------------------------------------------------------------------------------ */

/* Little-endian, as the file's head says of all its numbers. */
static void put_uint(struct out *o, uint64_t v, unsigned bytes)
{
	char at[8];

	trace_dat_put_at(at, v, bytes);
	out_bytes(o, at, bytes);
}

/* A length of so many bytes stands before the text. */
static void put_text(struct out *o, const char *text, unsigned bytes)
{
	put_uint(o, strlen(text), bytes);
	out_str(o, text);
}

/* The sink of made(). */
static int append(void *arg, const char *bytes, size_t n)
{
	bytes_put(arg, bytes, n);
	return 0;
}

/* A part of the file, as both versions have it. */
typedef void put_section(const struct trace_dat *d, struct out *o);

/* Returns the section that put() writes, in memory; vec_free() it. The memory may be NULL where
 * put() writes nothing. */
static struct bytes made(const struct trace_dat *d, put_section *put)
{
	struct bytes bytes = { 0 };
	struct out o;

	out_init_raw(&o, append, &bytes);
	put(d, &o);
	out_flush(&o);
	out_free(&o);
	return bytes;
}

/* A text with its length of so many bytes before it. */
static void put_made(const struct trace_dat *d, struct out *o, put_section *put, unsigned bytes)
{
	struct bytes text = made(d, put);

	put_uint(o, text.n, bytes);
	if (text.n) /* else there may be no memory at all: no symbols, for instance */
		out_bytes(o, (const char *)text.at, text.n);
	vec_free(&text);
}

/* The names have their NUL with them, hence 12 and 13 bytes. */
static void put_headers(const struct trace_dat *d, struct out *o)
{
	out_bytes(o, "header_page", 12);
	put_text(o, header_page, 8);
	out_bytes(o, "header_event", 13);
	put_text(o, header_event, 8);
}

/* Formats of ftrace's own events stand apart from those of other systems, as in tracefs. */
static void put_call_formats(const struct trace_dat *d, struct out *o)
{
	put_uint(o, 2, 4);
	put_text(o, trace_dat_describes(d) ? described_entry_format : entry_format, 8);
	put_text(o, d->walk.counts.values ? valued_exit_format : exit_format, 8);
}

/* A system for each event: trace-cmd takes several of one name. */
static void put_formats(const struct trace_dat *d, struct out *o)
{
	const struct trace_info *info = d->walk.info;

	put_uint(o, info->events.n, 4);
	for (size_t i = 0; i < info->events.n; i++) {
		out_bytes(o, info->events.at[i].system, strlen(info->events.at[i].system) + 1);
		put_uint(o, 1, 4);
		put_text(o, info->events.at[i].format, 8);
	}
}

/* A name is a word there, and one that begins with $ is not read. */
static void put_name(struct out *o, const char *name)
{
	if (*name == '$')
		out_char(o, '_');
	files_put_word(o, name);
}

/* The name as readers of kallsyms know it, for texts that have to agree with it. */
char *trace_dat_name(const struct trace_dat *d, uint32_t function)
{
	struct bytes bytes = { 0 };
	struct out o;

	out_init_raw(&o, append, &bytes);
	put_name(&o, d->walk.functions.at[function].text);
	out_char(&o, 0);
	out_flush(&o);
	out_free(&o);
	return (char *)bytes.at;
}

static void put_symbol_lines(const struct trace_dat *d, struct out *o)
{
	for (uint32_t i = 0; i < d->walk.functions.n; i++) {
		const struct walk_function *f = &d->walk.functions.at[i];

		out_printf(o, "%016" PRIx64 " T ", files_address(i));
		put_name(o, f->text);
		if (*f->file) {
			out_str(o, "\t[");
			files_put_word(o, f->file);
			out_char(o, ']');
		}
		out_char(o, '\n');
	}
	for (size_t i = 0; i < d->frames.n; i++) {
		const struct trace_dat_frame *f = &d->frames.at[i];

		out_printf(o, "%016" PRIx64 " T ", f->address);
		put_name(o, f->name);
		out_char(o, '\n');
	}
}

static void put_symbols(const struct trace_dat *d, struct out *o)
{
	put_made(d, o, put_symbol_lines, 4);
}

/* Texts of printk: none. */
static void put_printk(const struct trace_dat *d, struct out *o)
{
	put_uint(o, 0, 4);
}

/* saved_cmdlines: "TID NAME" a line. A thread has one name there, as in the kernel its latest one,
 * though it has a lane in the program and one in the kernel. */
static void put_name_lines(const struct trace_dat *d, struct out *o)
{
	for (uint32_t i = 0; i < d->walk.lanes.n; i++) {
		uint32_t tid = files_tid(&d->walk, i);
		char *name;

		if (walk_is_kernel(&d->walk, i) &&
		    number_map_get(&d->user_of, 1 + (uint64_t)tid) != NUMBER_NONE)
			continue;
		name = walk_lane_name(&d->walk, i);
		out_printf(o, "%u ", tid);
		files_put_word(o, name);
		out_char(o, '\n');
		free(name);
	}
}

static void put_names(const struct trace_dat *d, struct out *o)
{
	put_made(d, o, put_name_lines, 8);
}

/* In the order of version 6; `id` is version 7's number of the section, and of its option. */
static const struct { put_section *put; uint16_t id; } sections[] = {
	{ put_headers, 16 }, { put_call_formats, 17 }, { put_formats, 18 }, { put_symbols, 19 },
	{ put_printk, 20 }, { put_names, 21 },
	{ trace_dat_put_btf, 23 },    /* version 7 alone, and if there is any */
};
#define SECTIONS (sizeof(sections) / sizeof(*sections))
#define SECTIONS_V6 (SECTIONS - 1)

/* The end of the head of a file of either version: its page size is the last that both have.
 * trace-cmd.dat.v6(5) has it: three bytes that no text begins with, `tracing`, the version as a
 * text. */
static void put_magic(struct out *o, char version)
{
	out_bytes(o, "\027\010\104tracing", 10);
	out_char(o, version);
	out_char(o, 0);
	put_uint(o, 0, 1);             /* little-endian */
	put_uint(o, 8, 1);             /* size of a long */
	put_uint(o, PAGE, 4);
}

static void put_option(struct out *o, uint16_t id, const void *bytes, size_t n)
{
	put_uint(o, id, 2);
	put_uint(o, n, 4);
	out_bytes(o, bytes, n);
}

/* CPUs whose pages are there: their numbers need not be without gaps. */
static uint32_t count_cpus(const struct trace_dat *d)
{
	return d->page_of.n ? (uint32_t)d->page_of.n : 1;
}

/* Options of both versions; the kernel's name is only told where it has one. */
static void put_common_options(const struct trace_dat *d, struct out *o)
{
	static const char clocks[] = "local global counter [mono]";
	const struct trace_info *info = d->walk.info;
	char cpus[4];

	trace_dat_put_at(cpus, count_cpus(d), 4);
	put_option(o, OPTION_CLOCK, clocks, sizeof(clocks));
	if (info->kernel)
		put_option(o, OPTION_UNAME, info->kernel, strlen(info->kernel) + 1);
	put_option(o, OPTION_CPUS, cpus, sizeof(cpus));
}

/* --- version 6 ----------------------------------------------------------------------------- */

/* Pages begin at a multiple of their size. Version 6: for each CPU where its pages begin and how
 * many bytes they have, 8 bytes each; zeros fill the rest up to the first page. */
static void put_places(const struct trace_dat *d, uint64_t head)
{
	const uint32_t cpus = count_cpus(d);
	uint64_t at = (head + 16 * (uint64_t)cpus + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	uint64_t pad = at - head - 16 * (uint64_t)cpus;

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		uint32_t place = cpu < d->page_of.n ? d->page_of.at[cpu] : 0;
		uint64_t n = place ? parts_size(&d->parts, place - 1) : 0;

		put_uint(d->out, at, 8);
		put_uint(d->out, n, 8);
		at += n;
	}
	while (pad--)
		out_char(d->out, 0);
}

/* All that stands before the places of the pages. `flyrecord` says that the records were made in
 * pages of a CPU each, in place of a single buffer for `latency`. */
static void put_head_v6(const struct trace_dat *d, struct out *o)
{
	put_magic(o, '6');
	for (size_t i = 0; i < SECTIONS_V6; i++)
		sections[i].put(d, o);
	put_uint(o, count_cpus(d), 4);
	out_bytes(o, "options  ", 10);
	put_common_options(d, o);
	put_uint(o, OPTION_END, 2);
	out_bytes(o, "flyrecord", 10);
}

/* parts_read()'s sink: what goes to the file as it is. */
static int put_block(void *arg, const char *bytes, size_t n)
{
	struct out *o = arg;

	out_bytes(o, bytes, n);
	return o->error;
}

/* Each CPU's bytes of one of the two sorts, in the order of CPUs. */
static int put_cpus(struct trace_dat *d, const struct parts *parts)
{
	int r = 0;

	for (uint32_t cpu = 0; cpu < d->page_of.n && !r; cpu++)
		if (d->page_of.at[cpu])
			r = parts_read(parts, d->page_of.at[cpu] - 1, put_block, d->out, d->err);
	return r;
}

int trace_dat_v6(struct trace_dat *d)
{
	struct bytes head = made(d, put_head_v6);

	out_bytes(d->out, (const char *)head.at, head.n);
	put_places(d, head.n);
	vec_free(&head);
	return put_cpus(d, &d->parts);
}

/* --- version 7 ----------------------------------------------------------------------------- */

/* A CPU's pages that are compressed together, as trace-cmd reads them again. */
#define CHUNK_PAGES 16
#define LEVEL 3                   /* of zstd */
#define SECTION_HEAD 16
enum { SECTION_OPTIONS = 0, SECTION_PAGES = 3, COMPRESSED = 1 };

/* Allocated, since a chunk's pages are more than a stack should have. */
struct packing {
	struct trace_dat *d;
	struct parts parts;       /* by place in d->pages: what the file has of a CPU */
	uint32_t place;
	size_t n;                 /* bytes of `raw` */
	size_t sections;          /* that the file has */
	char raw[CHUNK_PAGES * PAGE];
	struct bytes stored[SECTIONS];
	struct bytes chunk;       /* reused */
};

/* Appends both sizes, of 4 bytes, and the compressed bytes. The compressed size is known last: its
 * place is filled then. 0, or -errno and *err. */
static int append_packed(struct bytes *to, const void *raw, size_t n, struct err *err)
{
	size_t most = ZSTD_compressBound(n), stored;

	bytes_u32(to, 0);
	bytes_u32(to, (uint32_t)n);
	vec_reserve(to, to->n + most);
	stored = ZSTD_compress(to->at + to->n, most, raw, n, LEVEL);
	if (ZSTD_isError(stored))
		return err_set(err, ENOMEM, "cannot compress: %s", ZSTD_getErrorName(stored));
	trace_dat_put_at((char *)to->at + to->n - 8, stored, 4);
	to->n += stored;
	return 0;
}

/* Compresses the pages that wait. */
static int end_chunk(struct packing *p)
{
	int r;

	if (!p->n)
		return 0;
	p->chunk.n = 0;
	r = append_packed(&p->chunk, p->raw, p->n, p->d->err);
	p->n = 0;
	return r ? r : parts_add(&p->parts, p->place, p->chunk.at, p->chunk.n, p->d->err);
}

/* parts_read()'s sink: a page. PARTS_BLOCK is the size of a page: blocks fill `raw` exactly, and
 * none goes beyond its end. */
static int take_page(void *arg, const char *bytes, size_t n)
{
	struct packing *p = arg;

	memcpy(p->raw + p->n, bytes, n);
	p->n += n;
	return p->n == sizeof(p->raw) ? end_chunk(p) : 0;
}

/* All pages of a CPU: the number of its chunks, and they. Version 7 has, of each CPU, the number of
 * chunks (4 bytes), then each chunk with both of its sizes. */
static int pack_pages(struct packing *p, uint32_t place)
{
	uint64_t n = parts_size(&p->d->parts, place);
	uint32_t chunks = (uint32_t)((n + sizeof(p->raw) - 1) / sizeof(p->raw));
	int r = parts_add(&p->parts, place, &chunks, sizeof(chunks), p->d->err);

	p->place = place;
	if (!r)
		r = parts_read(&p->d->parts, place, take_page, p, p->d->err);
	return r ? r : end_chunk(p);
}

/* A section of version 7 is one compressed piece. 0, or -errno and d->err. */
static int pack_section(struct packing *p, size_t i)
{
	struct bytes raw = made(p->d, sections[i].put);
	int r = append_packed(&p->stored[i], raw.at, raw.n, p->d->err);

	vec_free(&raw);
	return r;
}

/* "" is the name of the buffer that is no instance's. Sizes and places are of the whole file. */
static struct bytes make_buffer_option(const struct packing *p, uint64_t at)
{
	const struct trace_dat *d = p->d;
	struct bytes b = { 0 };

	bytes_u64(&b, at);
	bytes_put(&b, "", 1);
	bytes_put(&b, "mono", 5);
	bytes_u32(&b, PAGE);
	bytes_u32(&b, (uint32_t)d->pages.n);
	at += SECTION_HEAD;
	for (uint32_t cpu = 0; cpu < d->page_of.n; cpu++) {
		uint64_t n;

		if (!d->page_of.at[cpu])
			continue;
		n = parts_size(&p->parts, d->page_of.at[cpu] - 1);
		bytes_u32(&b, cpu);
		bytes_u64(&b, at);
		bytes_u64(&b, n);
		at += n;
	}
	return b;
}

/* The options, by which a reader finds the sections, which begin at `at`. */
static void put_options(const struct packing *p, struct out *o, uint64_t at)
{
	static const char end[8];
	struct bytes buffer;
	char place[8];

	put_common_options(p->d, o);
	for (size_t i = 0; i < p->sections; i++) {
		trace_dat_put_at(place, at, 8);
		put_option(o, sections[i].id, place, sizeof(place));
		at += SECTION_HEAD + p->stored[i].n;
	}
	buffer = make_buffer_option(p, at);
	put_option(o, SECTION_PAGES, buffer.at, buffer.n);
	put_option(o, OPTION_END, end, sizeof(end));
	vec_free(&buffer);
}

/* In memory, because their length decides where the sections that they name begin. */
static struct bytes make_options(const struct packing *p, uint64_t at)
{
	struct bytes bytes = { 0 };
	struct out o;

	out_init_raw(&o, append, &bytes);
	put_options(p, &o, at);
	out_flush(&o);
	out_free(&o);
	return bytes;
}

/* No section has a description: the number of one is that of none. */
static void put_section_head(struct out *o, uint16_t id, uint16_t flags, uint64_t n)
{
	put_uint(o, id, 2);
	put_uint(o, flags, 2);
	put_uint(o, UINT32_MAX, 4);
	put_uint(o, n, 8);
}

static void put_head_v7(const struct trace_dat *d, struct out *o)
{
	const char *version = ZSTD_versionString();

	put_magic(o, '7');
	out_bytes(o, "zstd", 5);
	out_bytes(o, version, strlen(version) + 1);
}

/* The head, the options right behind it, the sections that they name, the pages. Options are as
 * long whatever places they tell, which decides where all else is. */
static int put_packed(const struct packing *p)
{
	struct trace_dat *d = p->d;
	struct bytes head = made(d, put_head_v7), options = make_options(p, 0);
	const uint64_t at = head.n + 8;
	const size_t n = options.n;
	uint64_t pages = 0;

	vec_free(&options);
	options = make_options(p, at + SECTION_HEAD + n);
	out_bytes(d->out, (const char *)head.at, head.n);
	put_uint(d->out, at, 8);
	put_section_head(d->out, SECTION_OPTIONS, 0, n);
	out_bytes(d->out, (const char *)options.at, n);
	for (size_t i = 0; i < p->sections; i++) {
		put_section_head(d->out, sections[i].id, COMPRESSED, p->stored[i].n);
		out_bytes(d->out, (const char *)p->stored[i].at, p->stored[i].n);
	}
	for (uint32_t i = 0; i < d->pages.n; i++)
		pages += parts_size(&p->parts, i);
	put_section_head(d->out, SECTION_PAGES, COMPRESSED, pages);
	vec_free(&head);
	vec_free(&options);
	return put_cpus(d, &p->parts);
}

int trace_dat_v7(struct trace_dat *d)
{
	struct packing *p = mem_zalloc(sizeof(*p));
	int r = 0;

	p->d = d;
	p->parts = parts_none();
	p->sections = trace_dat_describes(d) ? SECTIONS : SECTIONS_V6;
	for (size_t i = 0; i < p->sections && !r; i++)
		r = pack_section(p, i);
	for (uint32_t i = 0; i < d->pages.n && !r; i++)
		r = pack_pages(p, i);
	if (!r)
		r = put_packed(p);
	for (size_t i = 0; i < SECTIONS; i++)
		vec_free(&p->stored[i]);
	vec_free(&p->chunk);
	parts_free(&p->parts);
	free(p);
	return r;
}
