/* SPDX-License-Identifier: MIT */
/* BTF says which functions take the type, available_filter_functions which of them can be traced,
 * and /proc/kallsyms where they are. The last one's addresses are needed: those that the kernel
 * tells beside the names of traceable functions are 4 bytes further where functions begin with
 * endbr64, and the cookie of such an address reads 0. kernel.c calls it once for each run, on
 * brace's one thread. A file that cannot be read, or a type that no function takes, is -errno and a
 * sentence. */
#include "follow/bpf/functions.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "arch/kernel_arguments.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "follow/presets.h"
#include "kernel/functions.h"
#include "kernel/tracefs.h"

/* A function that takes the type, before anything is known of its place. */
struct taker {
	const char *name, *module; /* of the BTF */
	uint64_t address;
	uint32_t symbols, places;  /* of that name and module: in kallsyms; that can be traced */
	uint8_t slots[FOLLOW_SLOTS]; /* none: the object is in no register */
	uint16_t flags;
	uint8_t returns, bytes;
};
typedef VEC(struct taker) taker_list;

/* --- BTF -------------------------------------------------------------------------------- */

/* The number of argument registers that a parameter takes; a structure that is passed in memory
 * takes none (arch's rule). */
static unsigned registers_of(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = follow_types_plain(btf, id);

	if (!t || btf_is_ptr(t))
		return 1;
	return kernel_arguments_taken(t->size, btf_is_composite(t));
}

/* The kinds from `kind` to `last`. FOLLOW_KINDS_N: the type points to none of them. */
static enum follow_kind kind_among(const struct btf *btf, uint32_t type, enum follow_kind kind,
				   enum follow_kind last)
{
	for (; kind <= last; kind++)
		if (follow_types_points_to(btf, type, follow_kind_name(kind)))
			return kind;
	return FOLLOW_KINDS_N;
}

/* FOLLOW_KINDS_N: the type points to no object. */
static enum follow_kind kind_of(const struct btf *btf, uint32_t type,
				const struct follow_spec *spec)
{
	if (spec->buffer_bytes &&
	    follow_types_points_to(btf, type, follow_kind_name(FOLLOW_PACKET)))
		return FOLLOW_PACKET;
	if (spec->buffer_bytes)
		return kind_among(btf, type, FOLLOW_ITERATOR, FOLLOW_FOLIO);
	if (spec->descriptor >= 0)
		return kind_among(btf, type, FOLLOW_FILE, FOLLOW_INODE);
	if (follow_types_points_to(btf, type, spec->expression->type))
		return FOLLOW_THE_TYPE;
	return follow_wants_io(spec) ? kind_among(btf, type, FOLLOW_BIO, FOLLOW_REQUEST)
				     : FOLLOW_KINDS_N;
}

/* The names in the kernel's functions of what may be memory of a program: BTF does not have
 * `__user`. A pointer to bytes of another name is the kernel's own, as a rule: the first three
 * would be ten thousand functions. */
static const char *const byte_names[] = {
	"buf", "ubuf", "buff", "buffer", "user_buf", "user_buffer", "userbuf", "ptr", "uptr", "dst",
	"src", "from", "to", "addr", "uaddr", "useraddr", "optval", "msg", "base", NULL,
};
static const char *const address_names[] = { "address", "addr", "uaddr", "start", NULL };

/* A pointer to bytes, or a number that is an address (a page fault's). */
static bool may_be_bytes(const struct btf *btf, const struct btf_param *p)
{
	const struct btf_type *t = follow_types_plain(btf, p->type), *to;
	const char *name = btf__name_by_offset(btf, p->name_off);

	if (!t || !name)
		return false;
	if (btf_is_int(t))
		return t->size == 8 && glob_match_any(address_names, name);
	if (!btf_is_ptr(t))
		return false;
	to = follow_types_plain(btf, t->type);
	return (!to || (btf_is_int(to) && to->size == 1)) &&
	       glob_match_any(byte_names, name);
}

/* TCP queues a packet by the first one before it copies bytes of its message into it. It calls each
 * of them behind bytes that it has added to the last packet of its queue, before that can be sent.
 */
static const char *const filled_names[] = {
	"tcp_skb_entail", "tcp_push", "tcp_push_one", "__tcp_push_pending_frames", NULL,
};

/* Functions by which a protocol copies from a message, which they know as `void *from`. */
static const char *const copying_names[] = { "ip_generic_getfrag", "udplite_getfrag", NULL };

/* By its type, or by its name and the function's. */
static enum follow_kind kind_of_parameter(const struct btf *btf, const char *function,
					  const struct btf_param *p,
					  const struct follow_spec *spec)
{
	const char *name = btf__name_by_offset(btf, p->name_off);

	if (spec->buffer_bytes && name && !strcmp(name, "from") &&
	    glob_match_any(copying_names, function))
		return FOLLOW_MESSAGE;
	if (spec->buffer_bytes && glob_match_any(filled_names, function) &&
	    follow_types_points_to(btf, p->type, follow_kind_name(FOLLOW_SOCK)))
		return FOLLOW_QUEUE;
	if (spec->buffer_bytes && may_be_bytes(btf, p))
		return FOLLOW_BYTES;
	return kind_of(btf, p->type, spec);
}

/* Whether such an object may be a copy of a buffer: whether it is one is known once the call's
 * other objects have been looked at. */
static bool may_be_copy(enum follow_kind kind, const struct follow_spec *spec)
{
	return spec->buffer_bytes && (kind < FOLLOW_BYTES || kind > FOLLOW_MESSAGE);
}

/* Fills in the slots of parameters that point to objects, those that may be copies last. Returns
 * how many parameters do, also those that are in no register. */
static unsigned find_slots(const struct btf *btf, const struct btf_type *f,
			   const struct follow_spec *spec, uint8_t slots[FOLLOW_SLOTS])
{
	const struct btf_type *prototype = btf__type_by_id(btf, f->type);
	const char *name = btf__name_by_offset(btf, f->name_off);
	const struct btf_param *p = btf_params(prototype);
	unsigned n = 0, found = 0;

	memset(slots, FOLLOW_NO_SLOT, FOLLOW_SLOTS);
	for (int copies = 0; copies < 2; copies++) {
		unsigned nth = 0;

		for (uint32_t i = 0; i < btf_vlen(prototype) && p[i].type; i++) {
			enum follow_kind kind = kind_of_parameter(btf, name, &p[i], spec);

			if (kind != FOLLOW_KINDS_N && may_be_copy(kind, spec) == copies) {
				found++;
				if (nth < KERNEL_ARGUMENTS && n < FOLLOW_SLOTS)
					slots[n++] = (uint8_t)FOLLOW_SLOT(kind, nth);
			}
			nth += registers_of(btf, p[i].type);
		}
	}
	return found;
}

/* The result by BTF: its kind and size, for printing. */
static void describe_result(const struct btf *btf, uint32_t id, struct taker *t)
{
	const struct btf_type *type = follow_types_plain(btf, id);

	t->bytes = 8;
	if (!type) {
		t->returns = FOLLOW_VOID;
	} else if (btf_is_ptr(type)) {
		t->returns = FOLLOW_POINTER;
	} else {
		bool is_signed = btf_is_int(type) && btf_int_encoding(type) & BTF_INT_SIGNED;

		t->returns = is_signed ? FOLLOW_SIGNED : FOLLOW_UNSIGNED;
		t->bytes = type->size < 8 ? (uint8_t)type->size : 8;
	}
}

/* The BPF program reads by them: its own reads would be calls that it is left out at. */
static bool is_own_reading(const char *name)
{
	return strstr(name, "_from_kernel_nofault");
}

/* Functions that copy: between their entry and their return, others are called with what is filled
 * (filled_names). A file's page is filled before its file system's write_end() is called with it.
 * The kernel's copying itself (lib/iov_iter.c) cannot be traced, as distributions build it. */
static const char *const filling_names[] = {
	"tcp_sendmsg_locked", "generic_perform_write", "iomap_file_buffered_write", NULL,
};

/* TCP's packets that are too large for what may be sent go through it: skb_split(packet, rest,
 * bytes). */
static const char *const splitting_names[] = { "skb_split", NULL };

/* TCP takes bytes of a packet into another one, to save memory, if it can: (packet, from, ...). The
 * first one returns how many, the second one whether it did. */
static const char *const joining_names[] = { "skb_shift", "skb_try_coalesce", NULL };

/* Functions that cut a packet into a list of segments, for a device that does not do so itself. */
static const char *const listing_names[] = { "skb_segment", "skb_segment_list", NULL };

/* Whether the parameter says how many bytes have been copied, and is not the last one. */
static bool is_copied(const struct btf *btf, const struct btf_type *prototype, unsigned nth)
{
	const char *name = nth + 1 < btf_vlen(prototype)
				   ? btf__name_by_offset(btf, btf_params(prototype)[nth].name_off)
				   : NULL;

	return name && !strcmp(name, "copied");
}

/* The flags of address_space_operations' write_end(), and of what is called like it: iomap's, whose
 * parameter stands earlier. 0: it is none. */
static uint16_t flags_of_write_end(const struct btf *btf, const struct btf_type *f)
{
	const struct btf_type *prototype = btf__type_by_id(btf, f->type);

	if (!glob_match("*write_end", btf__name_by_offset(btf, f->name_off)))
		return 0;
	if (is_copied(btf, prototype, FOLLOW_COPIED))
		return FOLLOW_WRITTEN;
	return is_copied(btf, prototype, FOLLOW_COPIED_EARLIER) ? FOLLOW_WRITTEN | FOLLOW_EARLIER
								: 0;
}

/* Whether a function that returns this kind gives an object made of the first one that it takes.
 * One that returns a packet may return a copy of a buffer. One that returns a folio returns the
 * next one, which is no copy. A bio is made of a bio, and a request of none. */
static bool gives(enum follow_kind kind, uint8_t first_slot, const struct follow_spec *spec)
{
	if (spec->buffer_bytes)
		return kind == FOLLOW_PACKET;
	if (kind == FOLLOW_BIO || kind == FOLLOW_REQUEST)
		return kind == FOLLOW_BIO && first_slot >> 3 == FOLLOW_BIO;
	return kind != FOLLOW_KINDS_N && follow_preset_gives(spec->expression->type);
}

/* Where bytes of one packet get into another. When its receive buffer is full, TCP copies packets
 * into one in which it has just made room (tcp_collapse()). */
static uint16_t flags_of_moved(const char *name)
{
	uint16_t flags = glob_match_any(joining_names, name) ? FOLLOW_JOINS : 0;

	if (flags && strcmp(name, "skb_shift"))
		flags |= FOLLOW_BYTE;
	if (!strcmp(name, "skb_put"))
		flags |= FOLLOW_PUTS;
	if (!strcmp(name, "skb_copy_bits"))
		flags |= FOLLOW_TAKES;
	return flags;
}

static uint16_t flags_of(const struct btf *btf, const struct btf_type *f, uint8_t first_slot,
			const struct follow_spec *spec)
{
	const char *name = btf__name_by_offset(btf, f->name_off);
	enum follow_kind kind = kind_of(btf, btf__type_by_id(btf, f->type)->type, spec);
	uint16_t flags = glob_match_any(spec->ends, name) ? FOLLOW_ENDS : 0;

	if (gives(kind, first_slot, spec))
		flags |= FOLLOW_GIVES;
	if (glob_match_any(splitting_names, name))
		flags |= FOLLOW_SPLITS;
	flags |= flags_of_moved(name);
	if (flags & FOLLOW_GIVES && glob_match_any(listing_names, name))
		flags |= FOLLOW_LISTS;
	if (!spec->buffer_bytes)
		return flags;
	if (glob_match_any(filling_names, name))
		flags |= FOLLOW_FILLS;
	if (glob_match_any(filled_names, name))
		flags |= FOLLOW_FILLED;
	return flags | flags_of_write_end(btf, f);
}

/* All functions of a module's BTF that take the type. The module's own types are behind
 * m->first. */
static void scan_module(const struct follow_module *m, const struct follow_spec *spec,
			taker_list *out)
{
	for (uint32_t id = m->first; id < btf__type_cnt(m->btf); id++) {
		const struct btf_type *f = btf__type_by_id(m->btf, id), *prototype;
		struct taker t = { .module = m->name };

		if (!btf_is_func(f))
			continue;
		prototype = btf__type_by_id(m->btf, f->type);
		t.name = btf__name_by_offset(m->btf, f->name_off);
		if (!find_slots(m->btf, f, spec, t.slots) || is_own_reading(t.name))
			continue;
		t.flags = flags_of(m->btf, f, t.slots[0], spec);
		describe_result(m->btf, prototype->type, &t);
		*vec_add(out) = t;
	}
}

/* --- where they are ---------------------------------------------------------------------- */

/* By name, then by module. */
static int compare_takers(const void *a, const void *b)
{
	const struct taker *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->module, y->module);
}

/* The first taker of this name and module, or NULL. */
static struct taker *find_taker(const taker_list *l, const char *name, const char *module)
{
	const struct taker key = { .name = name, .module = *module ? module : "vmlinux" };
	size_t i = vec_bisect(l, t, compare_takers(t, &key) < 0);

	return i < l->n && !compare_takers(&l->at[i], &key) ? &l->at[i] : NULL;
}

/* kernel_functions_each()'s: true goes on. */
static bool take_place(void *context, const struct kernel_function *f)
{
	struct taker *t = find_taker(context, f->name, f->module);

	if (t)
		t->places++;
	return true;
}

/* "ADDRESS TYPE NAME[\t[MODULE]]" */
static void take_symbol(const taker_list *l, char *line)
{
	char *end, *name, *module = strchr(line, '\t');
	uint64_t address = strtoull(line, &end, 16);
	struct taker *t;

	if (*end != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
		return;
	name = end + 3;
	if (module) {
		*module = '\0';
		module += 1 + (module[1] == '[');
		module[strcspn(module, "]")] = '\0';
	}
	t = find_taker(l, name, module ? module : "");
	if (!t)
		return;
	t->symbols++;
	t->address = address;
}

/* Whether the kernel told any address. */
static bool take_symbols(const taker_list *l)
{
	char *text = kernel_tracefs_read("/proc", "kallsyms"), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		take_symbol(l, line);
	free(text);
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].address)
			return true;
	return !l->n;
}

/* --- which are watched -------------------------------------------------------------------- */

/* -l, -L and -n, as for all tracers. */
static bool is_chosen(const struct follow_spec *spec, const struct taker *t)
{
	if (spec->filter->patterns.n && !function_list_match(spec->filter, t->name, t->module))
		return false;
	if (spec->modules->patterns.n && !function_list_has_module(spec->modules, t->module))
		return false;
	return !function_list_match(spec->notrace, t->name, t->module);
}

/* The census's count that a function belongs to. */
static unsigned *class_of(const struct follow_spec *spec, const taker_list *l, size_t i,
			  struct follow_census *c)
{
	const struct taker *t = &l->at[i];
	bool twice = (i && !compare_takers(t - 1, t)) ||
		     (i + 1 < l->n && !compare_takers(t, t + 1));

	if (t->slots[0] == FOLLOW_NO_SLOT)
		return &c->beyond;
	if (twice || t->symbols > 1 || t->places > 1)
		return &c->ambiguous;
	if (!t->places || !t->address)
		return &c->untraceable;
	return is_chosen(spec, t) ? &c->watched : &c->unchosen;
}

/* Counts every function in one class of the census, and keeps those that are watched. */
static void keep_watched(const struct follow_spec *spec, const taker_list *l,
			 struct follow_functions *out)
{
	struct follow_census *c = &out->census;

	c->takes = (unsigned)l->n;
	for (size_t i = 0; i < l->n; i++) {
		const struct taker *t = &l->at[i];
		unsigned *class = class_of(spec, l, i, c);

		++*class;
		if (class == &c->watched)
			*vec_add(&out->at) = (struct follow_function){
				mem_strdup(t->name), t->module, t->address, t->flags, t->returns,
				t->bytes, { t->slots[0], t->slots[1], t->slots[2] },
			};
	}
}

/* Each function that the user named as an end has to be watched. */
static int check_end(const char *end, const taker_list *takers, const struct follow_functions *f,
		     const char *type, struct err *err)
{
	struct nearest near = { .word = end };
	bool takes = false;

	for (size_t i = 0; i < f->at.n; i++)
		if (glob_match(end, f->at.at[i].name))
			return 0;
	for (size_t i = 0; i < takers->n; i++) {
		takes |= glob_match(end, takers->at[i].name);
		nearest_offer(&near, takers->at[i].name);
	}
	if (takes)
		return err_at(err, EINVAL, end, 0, "--end: this function takes a struct %s, but it is not watched",
			      type);
	if (near.best)
		return err_at(err, EINVAL, end, 0,
			      "--end: no function of this name takes a struct %s; did you mean %s?", type,
			      near.best);
	return err_at(err, EINVAL, end, 0, "--end: no function of this name takes a struct %s",
		      type);
}

/* Checks of which the user has to be told before anything is attached. Ends of a preset may be
 * missing: kernels differ. */
static int check_functions(const struct follow_spec *spec, const taker_list *takers,
			   const struct follow_functions *f, struct err *err)
{
	const char *type = spec->expression->type;
	int e = 0;

	if (!takers->n)
		return err_at(err, EINVAL, spec->expression->text, spec->expression->type_at,
			      "no function of the kernel takes a struct %s", type);
	for (const char *const *end = spec->ends; *end && !spec->ends_usual && !e; end++)
		e = check_end(*end, takers, f, type, err);
	if (!e && !f->at.n)
		return err_set(err, EINVAL,
			       "of the %zu functions that take a struct %s none can be watched: %u are not chosen by -l, -n or -L, %u not traceable",
			       takers->n, type, f->census.unchosen, f->census.untraceable);
	return e;
}

/* The kernel tells a user without CAP_SYSLOG zeros, and root where the setting is 2. */
static int no_addresses(struct err *err)
{
	if (geteuid())
		return err_set(err, EPERM,
			       "only root may follow the kernel's objects: /proc/kallsyms tells this user no addresses; run brace by sudo");
	return err_set(err, ENOENT,
		       "/proc/kallsyms tells no addresses: sysctl kernel.kptr_restrict=1");
}

/* 0, or -errno and *err; follow_functions_free() in any case. */
int follow_functions_find(const struct follow_types *t, const struct follow_spec *spec,
			  const char *tracing, struct follow_functions *out, struct err *err)
{
	taker_list takers = { 0 };
	int e;

	*out = (struct follow_functions){ 0 };
	for (size_t i = 0; i < t->modules.n; i++)
		scan_module(&t->modules.at[i], spec, &takers);
	if (takers.n)
		qsort(takers.at, takers.n, sizeof(*takers.at), compare_takers);
	e = kernel_functions_each(tracing, false, take_place, &takers, err);
	if (!e && !take_symbols(&takers))
		e = no_addresses(err);
	if (!e) {
		keep_watched(spec, &takers, out);
		e = check_functions(spec, &takers, out, err);
	}
	vec_free(&takers);
	return e;
}

void follow_functions_free(struct follow_functions *f)
{
	for (size_t i = 0; i < f->at.n; i++)
		free(f->at.at[i].name);
	vec_free(&f->at);
}
