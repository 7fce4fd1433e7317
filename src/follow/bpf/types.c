/* SPDX-License-Identifier: MIT */
/* libbpf reads the BTF, once for each run, on brace's thread; here names become offsets. Root alone
 * decides what the kernel's BTF says. kernel.c and functions.c ask. A type or field that the kernel
 * does not have is -EINVAL with its column. */
#include "follow/bpf/types.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define NESTED_MAX 8u        /* anonymous members inside of each other */
#define BITS_MAX 64u

/* --- reading ---------------------------------------------------------------------------------- */

/* Takes the BTF over. Modules' types are numbered behind the kernel's. */
static void add_module(struct follow_types *t, struct btf *btf, const char *name)
{
	uint32_t first = t->modules.n ? btf__type_cnt(t->modules.at[0].btf) : 1;

	*vec_add(&t->modules) = (struct follow_module){ btf, mem_strdup(name), first };
}

/* A module whose BTF cannot be had is one whose functions are not found. */
static void read_module(struct follow_types *t, uint32_t id)
{
	char name[64] = "";
	struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
	uint32_t n = sizeof(info);
	struct btf *btf;
	int fd = bpf_btf_get_fd_by_id(id);

	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &n) && info.kernel_btf && strcmp(name, "vmlinux")) {
		btf = btf__load_from_kernel_by_id_split(id, t->modules.at[0].btf);
		if (btf)
			add_module(t, btf, name);
	}
	close(fd);
}

int follow_types_read(struct follow_types *out, struct err *err)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	uint32_t id = 0;

	*out = (struct follow_types){ 0 };
	if (!kernel)
		return err_set(err, ENOENT,
			       "cannot read the kernel's types in %s: it takes a kernel with CONFIG_DEBUG_INFO_BTF, as distributions have",
			       KERNEL_BTF);
	add_module(out, kernel, "vmlinux");
	while (!bpf_btf_get_next_id(id, &id))
		read_module(out, id);
	return 0;
}

void follow_types_free(struct follow_types *t)
{
	/* Modules' BTF leans on the kernel's. */
	while (t->modules.n) {
		struct follow_module *m = &t->modules.at[--t->modules.n];

		btf__free(m->btf);
		free(m->name);
	}
	vec_free(&t->modules);
}

/* --- types ------------------------------------------------------------------------------------ */

/* BTF has a type for void, number 0; callers would take it for one with a size. */
const struct btf_type *follow_types_plain(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_void(t) ? NULL : t;
}

/* Types without a name, and names outside of BTF's strings, are the empty one. */
static const char *name_of(const struct btf *btf, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf, t->name_off);

	return name ? name : "";
}

/* A declaration is enough: a module need not know what is in the structure. */
bool follow_types_points_to(const struct btf *btf, uint32_t id, const char *name)
{
	const struct btf_type *t = follow_types_plain(btf, id);

	if (!t || !btf_is_ptr(t))
		return false;
	t = follow_types_plain(btf, t->type);
	return t && (btf_is_struct(t) || btf_is_fwd(t)) && !strcmp(name_of(btf, t), name);
}

/* The state of a walk from an object to a field. */
struct field_walk {
	const struct follow_types *types;
	const struct btf *btf;
	const struct btf_type *type; /* plain; NULL: void */
	uint32_t bit, width;     /* from the last pointer on; of a bit field, or 0 */
	struct follow_field field;
	const char *text;        /* the user's */
};

/* The first structure of that name, the kernel's own before modules'. */
static bool find_structure(const struct follow_types *t, const char *name, struct field_walk *out)
{
	for (size_t i = 0; i < t->modules.n; i++) {
		struct btf *btf = t->modules.at[i].btf;
		int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

		if (id <= 0)
			continue;
		*out = (struct field_walk){ .types = t, .btf = btf,
				      .type = btf__type_by_id(btf, (uint32_t)id) };
		return true;
	}
	return false;
}

/* The sentence, with the nearest name of all structures. */
static int unknown_structure(const struct follow_types *t, const struct follow_expression *x,
			     struct err *err)
{
	struct nearest near = { .word = x->type };

	for (size_t i = 0; i < t->modules.n; i++) {
		const struct follow_module *m = &t->modules.at[i];

		for (uint32_t id = m->first; id < btf__type_cnt(m->btf); id++) {
			const struct btf_type *type = btf__type_by_id(m->btf, id);

			if (btf_is_struct(type) && *name_of(m->btf, type))
				nearest_offer(&near, name_of(m->btf, type));
		}
	}
	if (near.best)
		return err_at(err, EINVAL, x->text, x->type_at,
			      "the kernel has no struct %s; did you mean %s?", x->type, near.best);
	return err_at(err, EINVAL, x->text, x->type_at,
		      "the kernel has no struct %s, nor has a module that is loaded", x->type);
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Finds a member by name, in anonymous ones, too, and steps to it; all names are offered to *near.
 */
static bool step_to(struct field_walk *w, const struct btf_type *of, uint32_t bit, const char *name,
		    struct nearest *near, unsigned depth)
{
	const struct btf_member *m = btf_members(of);

	for (uint32_t i = 0; i < btf_vlen(of); i++) {
		const struct btf_type *type = follow_types_plain(w->btf, m[i].type);
		const char *is = btf__name_by_offset(w->btf, m[i].name_off);
		uint32_t at = bit + btf_member_bit_offset(of, i);

		if (is && *is)
			nearest_offer(near, is);
		if (is && *is && !strcmp(is, name)) {
			w->width = btf_member_bitfield_size(of, i);
			w->bit = at;
			w->type = type;
			return true;
		}
		if ((!is || !*is) && type && btf_is_composite(type) && depth < NESTED_MAX &&
		    step_to(w, type, at, name, near, depth + 1))
			return true;
	}
	return false;
}

/* Steps behind a pointer; a type that is only declared in a module is the kernel's. */
static int step_behind(struct field_walk *w, const struct follow_name *name, struct err *err)
{
	if (w->field.steps == FOLLOW_STEPS)
		return err_at(err, EINVAL, w->text, name->at, "the path leads through more than %u pointers",
			      FOLLOW_STEPS);
	w->field.offset[w->field.steps++] = w->bit / 8;
	w->type = follow_types_plain(w->btf, w->type->type);
	w->bit = w->width = 0;
	if (w->type && btf_is_fwd(w->type)) {
		struct field_walk found;

		if (find_structure(w->types, name_of(w->btf, w->type), &found)) {
			w->btf = found.btf;
			w->type = found.type;
		}
	}
	return 0;
}

/* A field of the structure here, or behind the pointer here: -> and . mean the same. */
static int step_member(struct field_walk *w, const struct follow_name *name, struct err *err)
{
	struct nearest near = { .word = name->text };
	const char *of;
	int e;

	if (w->type && btf_is_ptr(w->type)) {
		e = step_behind(w, name, err);
		if (e)
			return e;
	}
	if (!w->type || !btf_is_composite(w->type))
		return err_at(err, EINVAL, w->text, name->at,
			      "there is no field %s here: what stands before it is no structure", name->text);
	of = name_of(w->btf, w->type);
	if (step_to(w, w->type, w->bit, name->text, &near, 0))
		return 0;
	if (near.best)
		return err_at(err, EINVAL, w->text, name->at, "struct %s has no field %s; did you mean %s?", of,
			      name->text, near.best);
	return err_at(err, EINVAL, w->text, name->at, "struct %s has no field %s", of, name->text);
}

/* An element of the array here. */
static int step_index(struct field_walk *w, const struct follow_name *name, struct err *err)
{
	const struct btf_array *a = w->type && btf_is_array(w->type) ? btf_array(w->type) : NULL;
	int64_t bytes = a ? btf__resolve_size(w->btf, a->type) : 0;

	if (!a)
		return err_at(err, EINVAL, w->text, name->at, "there is no element: what stands before it is no array");
	if (name->index >= a->nelems)
		return err_at(err, EINVAL, w->text, name->at, "the array has %u elements, from 0 on",
			      a->nelems);
	w->bit += (uint32_t)bytes * 8 * (uint32_t)name->index;
	w->type = follow_types_plain(w->btf, a->type);
	return 0;
}

/* Known by its name: u8 and s8 are as wide, and numbers. */
static bool is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = follow_types_plain(btf, id);

	return t && btf_is_int(t) && !strcmp(name_of(btf, t), "char");
}

/* Numbers: their bits, the sign. False: the type is none. */
static bool end_as_number(struct field_walk *w)
{
	const struct btf_type *t = w->type;
	struct follow_field *p = &w->field;
	uint32_t bits, from;
	bool is = t && (btf_is_int(t) || btf_is_any_enum(t) || btf_is_ptr(t));

	if (!is)
		return false;
	p->bytes = btf_is_ptr(t) ? 8 : t->size;
	bits = w->width ? w->width : 8 * p->bytes;
	from = w->width ? w->bit / 8 / p->bytes * p->bytes : w->bit / 8;
	if (p->bytes > 8 || (p->bytes & (p->bytes - 1)))
		return false;
	p->last = from;
	p->shift = w->bit - 8 * from;
	p->mask = bits >= BITS_MAX ? UINT64_MAX : (1ull << bits) - 1;
	p->pointer = btf_is_ptr(t);
	if (btf_is_int(t) && btf_int_encoding(t) & BTF_INT_SIGNED)
		p->sign = bits;
	return true;
}

/* Text: an array of char, or what a char * points to. */
static bool end_as_text(struct field_walk *w)
{
	const struct btf_type *t = w->type;

	if (t && btf_is_ptr(t) && is_char(w->btf, t->type) && w->field.steps < FOLLOW_STEPS) {
		w->field.offset[w->field.steps++] = w->bit / 8;
		return true;
	}
	w->field.last = w->bit / 8;
	return t && btf_is_array(t) && is_char(w->btf, btf_array(t)->type);
}

/* The names of the path from number `from` on. */
static int walk_path(struct field_walk *w, const struct follow_path *path, uint32_t from,
		     struct err *err)
{
	int e = 0;

	for (uint32_t i = from; i < path->n && !e; i++)
		e = *path->names[i].text ? step_member(w, &path->names[i], err)
					 : step_index(w, &path->names[i], err);
	return e;
}

/* Only numbers are compared, and only with values that the field can have. */
static int plan_condition(const struct field_walk *object, const struct follow_condition *c,
			  struct follow_test *out, struct err *err)
{
	const struct follow_name *last = &c->path.names[c->path.n - 1];
	struct field_walk w = *object;
	int e = walk_path(&w, &c->path, 0, err);

	if (e)
		return e;
	if (!end_as_number(&w))
		return err_at(err, EINVAL, w.text, last->at, "the field is no integer: only integers, enumerations and pointers are compared");
	*out = (struct follow_test){ w.field, c->mask, c->value, c->compare, 0 };
	if (!follow_field_fit(&w.field, &out->value))
		return err_at(err, EINVAL, w.text, last->at,
			      "the field has %u bits, and is never %#llx",
			      (unsigned)__builtin_popcountll(w.field.mask),
			      (unsigned long long)c->value);
	out->value &= c->mask;
	return 0;
}

/* The first name may stand for the object: skb->len. */
static int plan_shown(const struct field_walk *object, const struct follow_path *path,
		      struct follow_field *out, struct err *err)
{
	struct nearest near = { .word = path->names[0].text };
	struct field_walk w = *object;
	bool is_object = path->n > 1 && *path->names[1].text &&
			 !step_to(&w, w.type, 0, path->names[0].text, &near, 0);
	int e;

	w = *object;
	e = walk_path(&w, path, is_object, err);
	if (e)
		return e;
	/* A name is what a char * is for. */
	if (end_as_text(&w) || end_as_number(&w)) {
		*out = w.field;
		return 0;
	}
	return err_at(err, EINVAL, w.text, path->names[path->n - 1].at,
		      "the field is neither a number nor text: name one of its own fields");
}

/* Names become offsets once, so that the BPF program reads without looking anything up. */
int follow_types_plan(const struct follow_types *t, const struct follow_expression *x,
		      const struct follow_shown *shown, struct follow_plan *out, struct err *err)
{
	struct field_walk object;
	int e = 0;

	if (!find_structure(t, x->type, &object))
		return unknown_structure(t, x, err);
	object.text = x->text;
	for (out->n_tests = 0; out->n_tests < x->n && !e; out->n_tests++)
		e = plan_condition(&object, &x->conditions[out->n_tests],
				   &out->tests[out->n_tests], err);
	object.text = shown->text;
	for (out->n_shown = 0; out->n_shown < shown->n && !e; out->n_shown++)
		e = plan_shown(&object, &shown->paths[out->n_shown], &out->shown[out->n_shown],
			       err);
	return e;
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* No near name is told: these names are brace's own, and the user cannot mend them. */
static bool find_offset(const struct follow_types *t, const char *type, const char *member,
			uint32_t *out)
{
	struct nearest near = { .word = member };
	struct field_walk w;

	if (!find_structure(t, type, &w) || !step_to(&w, w.type, 0, member, &near, 0))
		return false;
	*out = w.bit / 8;
	return true;
}

/* A field that the program reads by itself. */
struct needed { const char *type, *member; uint32_t *offset; };

/* what: for the sentence. */
static int find_offsets(const struct follow_types *t, const struct needed *fields, size_t n,
			const char *what, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!find_offset(t, fields[i].type, fields[i].member, fields[i].offset))
			return err_set(err, EINVAL,
				       "%s: this kernel's struct %s has no %s, by which they are followed",
				       what, fields[i].type, fields[i].member);
	return 0;
}

/* The offsets depend on the kernel's version and configuration: its own types tell them. */
int follow_types_descriptor(const struct follow_types *t, uint32_t number,
			    struct follow_descriptor *out, struct err *err)
{
	const struct needed ways[] = {
		{ "task_struct", "files", &out->task_files },
		{ "files_struct", "fdt", &out->files_table },
		{ "fdtable", "max_fds", &out->table_size },
		{ "fdtable", "fd", &out->table_files },
		{ "file", "f_inode", &out->file_inode },
		{ "inode", "i_mode", &out->inode_mode },
		{ "file", "private_data", &out->file_private },
		{ "socket", "sk", &out->socket_sock },
		{ "sk_buff", "sk", &out->packet_sock },
		{ "kiocb", "ki_filp", &out->transfer_file },
	};

	out->is_wanted = 1;
	out->number = number;
	return find_offsets(t, ways, sizeof(ways) / sizeof(*ways), "descriptors", err);
}

/* `network_header` and `tail` count from `head`. Bytes behind `tail` lie in fragments, which a
 * filter does not see. */
int follow_types_packet(const struct follow_types *t, struct follow_filter *out, struct err *err)
{
	const struct needed fields[] = {
		{ "sk_buff", "head", &out->head },
		{ "sk_buff", "network_header", &out->network },
		{ "sk_buff", "tail", &out->tail },
	};

	return find_offsets(t, fields, sizeof(fields) / sizeof(*fields), "packets", err);
}

/* A kernel without packets has no function that lists them, or moves their bytes. */
void follow_types_lists(const struct follow_types *t, struct follow_plan *out)
{
	const struct needed fields[] = {
		{ "sk_buff", "next", &out->packet_next },
		{ "sk_buff", "head", &out->packet_head },
		{ "sk_buff", "tail", &out->packet_tail },
	};
	struct err ignored;

	find_offsets(t, fields, sizeof(fields) / sizeof(*fields), "packets", &ignored);
}

/* A kernel that lacks one of these has no block devices, or others' names. Either struct of direct
 * I/O may be missing: then the other one stands for it. */
void follow_types_io(const struct follow_types *t, struct follow_io *out)
{
	uint32_t iterator = 0;
	const struct needed fields[] = {
		{ "request", "bio", &out->request_bio },
		{ "bio", "bi_iter", &iterator },
		{ "bvec_iter", "bi_size", &out->bio_bytes },
		{ "bio", "bi_next", &out->bio_next },
		{ "bio", "bi_private", &out->bio_private },
		{ "bio", "bi_io_vec", &out->bio_pages },
		{ "bio_vec", "bv_page", &out->bio_page },
		{ "kiocb", "ki_filp", &out->transfer_file },
		{ "file", "f_inode", &out->file_inode },
		{ "page", "compound_head", &out->first_page },
		{ "page", "mapping", &out->page_mapping },
		{ "address_space", "host", &out->mapping_inode },
	};
	const bool iomap = find_offset(t, "iomap_dio", "iocb", &out->iomap_transfer);
	const bool dio = find_offset(t, "dio", "iocb", &out->dio_transfer);
	struct err ignored;

	if (find_offsets(t, fields, sizeof(fields) / sizeof(*fields), "bios", &ignored) ||
	    !(iomap || dio))
		return;
	out->bio_bytes += iterator;
	out->iomap_transfer = iomap ? out->iomap_transfer : out->dio_transfer;
	out->dio_transfer = dio ? out->dio_transfer : out->iomap_transfer;
	out->is_wanted = 1;
}

/* Without the counts each task has executed its program, as far as the program can tell. */
void follow_types_execs(const struct follow_types *t, struct follow_plan *out)
{
	const struct needed fields[] = {
		{ "task_struct", "self_exec_id", &out->task_execs },
		{ "task_struct", "parent_exec_id", &out->task_parent_execs },
	};
	struct err ignored;

	if (find_offsets(t, fields, 2, "tasks", &ignored))
		out->task_execs = out->task_parent_execs = 0;
}

/* Linux has had iterators of one segment (`ubuf`) since 6.0. */
int follow_types_buffer(const struct follow_types *t, struct follow_buffer *out, struct err *err)
{
	const struct needed fields[] = {
		{ "iov_iter", "ubuf", &out->start },
		{ "iov_iter", "iov_offset", &out->skipped },
		{ "iov_iter", "count", &out->left },
		{ "iov_iter", "nr_segs", &out->segments },
		{ "msghdr", "msg_iter", &out->message_iterator },
		{ "iov_iter", "data_source", &out->is_source },
		{ "page", "compound_head", &out->first_page },
		{ "sock", "sk_write_queue", &out->queue },
		{ "sk_buff_head", "prev", &out->queue_last },
	};

	return find_offsets(t, fields, sizeof(fields) / sizeof(*fields), "buffers", err);
}
