/* SPDX-License-Identifier: MIT */
/* The program that runs in the kernel at every call of a watched function: compiled for BPF when
 * brace is built, loaded by kernel.c. It knows no type of the kernel: where the object is comes by
 * the function's cookie, where its fields are in the plan. A call that is none of the object's
 * costs a read of the field and, with identity, a look into the table of followed objects. The
 * kernel calls it on whatever thread calls the function; a record that finds no room in the ring is
 * counted as lost. */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <bpf/bpf_helpers.h>

#include "arch/kernel_arguments.h"
#include "follow/wire.h"

#define RING_BYTES (8u << 20)
#define OBJECTS_MAX 16384u
#define TASKS_MAX 4096u
#define FRAMES 32u
#define LIST_MAX 64u     /* packets in a list */
#define ERRORS_FROM ((uint64_t)-4095)

char terms[] SEC("license") = "GPL";
const volatile struct follow_plan plan SEC(".rodata.plan");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} events SEC(".maps");

/* group: as in the object's events. */
struct follow_life { uint64_t state, group; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OBJECTS_MAX);
	__type(key, uint64_t);
	__type(value, struct follow_life);
} objects SEC(".maps");

/* The processes that are asked for, which brace fills in. 1: once it has executed a program. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOW_PROCESSES);
	__type(key, uint32_t);
	__type(value, uint32_t);
} processes SEC(".maps");

/* Values of an object in the table: it is followed, or, with the task, it is in the function that
 * ends it. That task's calls are its last ones. Others' are of an object that has got its memory.
 */
#define LIVES 0ULL
#define ENDS_IN(task) (1ULL << 63 | (task))

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FOLLOW_COUNTS_N);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counts SEC(".maps");

/* The CPU's own counter: the kernel lets no second program of this kind in on it, so that no atomic
 * operation is needed. */
static __always_inline void count(uint32_t what)
{
	uint64_t *n = bpf_map_lookup_elem(&counts, &what);

	if (n)
		(*n)++;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Not 0: there is nothing. An address may be stale: bpf_probe_read_kernel() fails where no memory
 * is mapped. The loop has a constant end, because the verifier wants one. */
static __always_inline int find_field(const volatile struct follow_field *p, uint64_t object,
				      uint64_t *at)
{
	*at = object;
	for (uint32_t i = 0; i < FOLLOW_STEPS; i++) {
		if (i >= p->steps)
			break;
		if (bpf_probe_read_kernel(at, sizeof(*at), (void *)(*at + p->offset[i])) || !*at)
			return -1;
	}
	*at += p->last;
	return 0;
}

/* A narrow number comes into the low bytes of v, as the machine is little-endian. Shifts are
 * masked, because a shift by 64 is undefined: the compiler may drop it. */
static __always_inline int read_number(const volatile struct follow_field *p, uint64_t object,
				       uint64_t *value)
{
	uint64_t at, v = 0;
	long bad;

	if (find_field(p, object, &at))
		return -1;
	switch (p->bytes) {
	case 1: bad = bpf_probe_read_kernel(&v, 1, (void *)at); break;
	case 2: bad = bpf_probe_read_kernel(&v, 2, (void *)at); break;
	case 4: bad = bpf_probe_read_kernel(&v, 4, (void *)at); break;
	default: bad = bpf_probe_read_kernel(&v, 8, (void *)at); break;
	}
	v = v >> (p->shift & 63) & p->mask;
	if (p->sign)
		v = (uint64_t)((int64_t)(v << ((64 - p->sign) & 63)) >> ((64 - p->sign) & 63));
	*value = v;
	return bad ? -1 : 0;
}

/* --- packets, by an expression of pcap -------------------------------------------------------- */

#define PACKET_BYTES 256u    /* from the IP header on, which a filter can look at */
#define PACKET_WORDS 16u     /* of the filter's own memory */

struct packet { uint8_t at[PACKET_BYTES]; uint32_t n; uint32_t words[PACKET_WORDS]; };

/* An element a CPU is enough: the kernel lets no second program of this kind in on it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct packet);
} packets SEC(".maps");

/* The linear part of the packet. Not 0: it has no IP header yet. A header's offset is 0 until the
 * kernel makes one there. */
static __always_inline int read_packet(uint64_t skb, struct packet *p)
{
	uint16_t network = 0;
	uint32_t tail = 0, n;
	uint64_t head = 0;

	if (bpf_probe_read_kernel(&head, sizeof(head), (void *)(skb + plan.filter.head)) ||
	    bpf_probe_read_kernel(&network, sizeof(network),
				  (void *)(skb + plan.filter.network)) ||
	    bpf_probe_read_kernel(&tail, sizeof(tail), (void *)(skb + plan.filter.tail)) ||
	    !network || network >= tail)
		return -1;
	n = tail - network;
	if (n >= PACKET_BYTES)
		n = PACKET_BYTES - 1;
	p->n = n;
	barrier_var(n);
	return bpf_probe_read_kernel(p->at, n & (PACKET_BYTES - 1), (void *)(head + network));
}

/* A number of the packet, the highest byte first. Not 0: it lies behind the packet's end. */
static __always_inline int load_bytes(const struct packet *p, uint32_t at, uint32_t bytes,
				      uint32_t *out)
{
	uint32_t v = 0;

	if (at > PACKET_BYTES - 4 || at + bytes > p->n)
		return -1;
	v = p->at[at];
	if (bytes > 1)
		v = v << 8 | p->at[at + 1];
	if (bytes > 2)
		v = v << 16 | (uint32_t)p->at[at + 2] << 8 | p->at[at + 3];
	*out = v;
	return 0;
}

/* The fields of an instruction: BPF_CLASS() and its kin, of linux/bpf_common.h. */
static __always_inline uint32_t bytes_of(uint32_t code)
{
	return BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;
}

/* A division by 0 and a shift by 32 are undefined in C: the compiler may take them for anything, so
 * that both are given a value. */
static __always_inline uint32_t calculate(uint32_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_MOD: return b ? a % b : 0;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return a << (b & 31);
	case BPF_RSH: return a >> (b & 31);
	default: return -a;
	}
}

/* The last one is BPF_JSET. BPF_JA has no condition, and is the caller's. */
static __always_inline int holds(uint32_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	default: return (a & b) != 0;
	}
}

/* The machine of classic BPF. */
struct machine { uint32_t a, x; };

/* Loads into a or x. Not 0: behind the packet's end. */
static __always_inline int load(struct packet *p, uint32_t code, uint32_t k,
				const struct machine *m, uint32_t *out)
{
	switch (BPF_MODE(code)) {
	case BPF_IMM: *out = k; return 0;
	case BPF_LEN: *out = p->n; return 0;
	case BPF_MEM: *out = p->words[k & (PACKET_WORDS - 1)]; return 0;
	case BPF_ABS: return load_bytes(p, k, bytes_of(code), out);
	case BPF_IND: return load_bytes(p, m->x + k, bytes_of(code), out);
	default: /* BPF_MSH: the length of an IP header */
		if (load_bytes(p, k, 1, out))
			return -1;
		*out = (*out & 15) * 4;
		return 0;
	}
}

/* Whether the expression is true of the packet. A function of its own, which the verifier looks at
 * once. Jumps lead forward only. */
__attribute__((noinline)) int passes_filter(uint64_t skb)
{
	uint32_t zero = 0, pc = 0;
	struct packet *p = bpf_map_lookup_elem(&packets, &zero);
	struct machine m = { 0, 0 };

	if (!p || read_packet(skb, p))
		return 0;
	for (uint32_t i = 0; i < FOLLOW_FILTER_INSNS; i++) {
		const volatile struct follow_insn *insn;
		uint32_t code, k, operand;

		if (pc >= FOLLOW_FILTER_INSNS)
			return 0;
		insn = &plan.filter.insns[pc++];
		code = insn->code;
		k = insn->k;
		operand = BPF_SRC(code) == BPF_X ? m.x : k;
		switch (BPF_CLASS(code)) {
		case BPF_LD:
			if (load(p, code, k, &m, &m.a))
				return 0;
			break;
		case BPF_LDX:
			if (load(p, code, k, &m, &m.x))
				return 0;
			break;
		case BPF_ST: p->words[k & (PACKET_WORDS - 1)] = m.a; break;
		case BPF_STX: p->words[k & (PACKET_WORDS - 1)] = m.x; break;
		case BPF_ALU: m.a = calculate(code, m.a, operand); break;
		case BPF_JMP:
			if (BPF_OP(code) == BPF_JA)
				pc += k;
			else
				pc += holds(code, m.a, operand) ? insn->yes : insn->no;
			break;
		case BPF_RET: return (BPF_RVAL(code) == BPF_A ? m.a : k) != 0;
		default: /* BPF_MISC */
			if (BPF_MISCOP(code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return 0;
}

/* The filter of packets comes last: it costs more than the tests. */
static __always_inline int passes(uint64_t object)
{
	for (uint32_t i = 0; i < FOLLOW_CONDITIONS; i++) {
		uint64_t v;

		if (i >= plan.n_tests)
			break;
		if (read_number(&plan.tests[i].field, object, &v) ||
		    !follow_test_holds(&plan.tests[i], v & plan.tests[i].mask))
			return 0;
	}
	return !plan.filter.n || passes_filter(object);
}

/* A value that could not be read has no bit in `valid`: 0 would be a number. */
static __always_inline void show(struct follow_event *e)
{
	for (uint32_t i = 0; i < FOLLOW_SHOWN; i++) {
		const volatile struct follow_field *p = &plan.shown[i];
		uint64_t at;

		if (i >= plan.n_shown)
			break;
		if (p->bytes) {
			if (!read_number(p, e->object, &e->shown[i].number))
				e->valid |= 1 << i;
		} else if (!find_field(p, e->object, &at) &&
			   bpf_probe_read_kernel_str(e->shown[i].text, FOLLOW_TEXT,
						     (void *)at) >= 0) {
			e->valid |= 1 << i;
		}
	}
}

/* --- which objects ---------------------------------------------------------------------------- */

/* The idle tasks all have the number 0. */
static __always_inline uint64_t this_task(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();

	return tid ? tid : 1ULL << 32 | bpf_get_smp_processor_id();
}

/* Whether this task has executed a program since its parent made it: the kernel notes the parent's
 * count of execs in a new process, and counts on in its own. A kernel that has no counts is not
 * asked. */
static __always_inline int has_executed(void)
{
	uint64_t task = bpf_get_current_task(), execs = 0, parent = 0;

	if (plan.task_execs == plan.task_parent_execs)
		return 1;
	bpf_probe_read_kernel(&execs, sizeof(execs), (void *)(task + plan.task_execs));
	bpf_probe_read_kernel(&parent, sizeof(parent), (void *)(task + plan.task_parent_execs));
	return execs != parent;
}

/* Whether calls of this process may be the first ones of an object. Before its exec the program is
 * a copy of brace, with brace's descriptors. */
static __always_inline int is_asked_for(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, *waits;

	if (pid == plan.own)
		return 0;
	if (!plan.some)
		return 1;
	waits = bpf_map_lookup_elem(&processes, &pid);
	return waits && (!*waits || has_executed());
}

/* Whether it is followed; *group is its group then. */
static __always_inline int is_followed(uint64_t object, uint64_t *group)
{
	struct follow_life *life = bpf_map_lookup_elem(&objects, &object);

	if (!life || (life->state != LIVES && life->state != ENDS_IN(this_task())))
		return 0;
	*group = life->group;
	return 1;
}

/* An object for which there is no room is not followed, which nobody would notice without the
 * count. */
static __always_inline void set_life(uint64_t object, uint64_t state, uint64_t group)
{
	struct follow_life life = { state, group };

	if (bpf_map_update_elem(&objects, &object, &life, BPF_ANY))
		count(FOLLOW_CROWDED);
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* Goes to where the pointer at this offset points. Not 0: there is none. */
static __always_inline int follow_pointer(uint64_t *at, uint32_t offset)
{
	return bpf_probe_read_kernel(at, sizeof(*at), (void *)(*at + offset)) || !*at;
}

/* The file at the descriptor in this process; 0: there is none. */
static __always_inline uint64_t file_of_descriptor(void)
{
	const volatile struct follow_descriptor *d = &plan.descriptor;
	uint64_t at = bpf_get_current_task();
	uint32_t size = 0;

	if (follow_pointer(&at, d->task_files) || follow_pointer(&at, d->files_table) ||
	    bpf_probe_read_kernel(&size, sizeof(size), (void *)(at + d->table_size)) ||
	    d->number >= size || follow_pointer(&at, d->table_files) ||
	    follow_pointer(&at, 8 * d->number))
		return 0;
	return at;
}

#define KIND_OF_FILE 0170000
#define IS_SOCKET 0140000

/* From a file to its struct socket. Not 0: it is none. */
static __always_inline int find_socket(uint64_t *at)
{
	uint64_t inode = *at;
	uint16_t mode = 0;

	return follow_pointer(&inode, plan.descriptor.file_inode) ||
	       bpf_probe_read_kernel(&mode, sizeof(mode),
				     (void *)(inode + plan.descriptor.inode_mode)) ||
	       (mode & KIND_OF_FILE) != IS_SOCKET ||
	       follow_pointer(at, plan.descriptor.file_private);
}

/* Whether this process' descriptor stands for the object. */
static __always_inline int is_behind_descriptor(uint32_t kind, uint64_t object)
{
	uint64_t at = file_of_descriptor();

	if (!at || kind == FOLLOW_PACKET)
		return 0;
	if (kind == FOLLOW_FILE)
		return at == object;
	if (kind == FOLLOW_INODE)
		return !follow_pointer(&at, plan.descriptor.file_inode) && at == object;
	if (find_socket(&at) ||
	    (kind == FOLLOW_SOCK && follow_pointer(&at, plan.descriptor.socket_sock)))
		return 0;
	return at == object;
}

/* --- buffers ---------------------------------------------------------------------------------- */

#define IN_KERNEL(address) ((address) >> 63)
#define SEGMENTS 4u /* of an iterator, that are looked at */

static __always_inline int is_in_buffer(uint64_t from, uint64_t bytes)
{
	return bytes && from < plan.buffer.from + plan.buffer.bytes &&
	       plan.buffer.from < from + bytes;
}

static __always_inline int read_word(uint64_t at, uint64_t *out)
{
	return bpf_probe_read_kernel(out, sizeof(*out), (void *)at);
}

/* Whether an iov_iter reads or writes the followed buffer. It has the address of one segment, which
 * is the program's, or of a list of segments in the kernel. A list of the kernel's own memory has
 * addresses that no program has. A function of its own, as passes_filter(). */
__attribute__((noinline)) int iterator_is_in_buffer(uint64_t iterator)
{
	const volatile struct follow_buffer *b = &plan.buffer;
	uint64_t start = 0, skipped = 0, left = 0, n = 0, segment[2];

	if (read_word(iterator + b->start, &start) || read_word(iterator + b->skipped, &skipped) ||
	    read_word(iterator + b->left, &left) || read_word(iterator + b->segments, &n))
		return 0;
	if (!IN_KERNEL(start))
		return is_in_buffer(start, skipped + left);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		if (i >= n ||
		    bpf_probe_read_kernel(segment, sizeof(segment), (void *)(start + 16 * i)))
			break;
		if (is_in_buffer(segment[0], segment[1]))
			return 1;
	}
	return 0;
}

/* --- why a call belongs ----------------------------------------------------------------------- */

/* One object of a call. sock: the group of a followed socket among the call's objects; source: of
 * the buffer that the call, or the one that it lies in, copies from, by this iterator; 0: there is
 * none. left: bytes that the iterator had when that call began. written: `copied` bytes have been.
 * queued: it waits to be sent, and may have got bytes. whole: the call's first object that is
 * followed, with its group. */
struct met {
	uint64_t object, group, sock, source, iterator, left, copied, whole, whole_group;
	uint32_t kind;
	int first, written, queued;
};

static __always_inline void begin_life(struct met *m)
{
	set_life(m->object, LIVES, m->group);
	m->first = 1;
}

/* A packet belongs by its socket, or by the one to which the call hands it. */
static __always_inline int why_packet(struct met *m)
{
	uint64_t sock = m->object;

	if (is_followed(m->object, &m->group))
		return FOLLOW_BY_IDENTITY;
	m->group = m->sock;
	if (!m->group && (follow_pointer(&sock, plan.descriptor.packet_sock) ||
			  !is_followed(sock, &m->group)))
		return 0;
	begin_life(m);
	return FOLLOW_BY_SOCKET;
}

/* From a page to the first one of its folio, which stands for it. */
static __always_inline void find_folio(uint64_t *page, uint32_t first_page)
{
	uint64_t first = 0;

	if (!bpf_probe_read_kernel(&first, sizeof(first), (void *)(*page + first_page)) &&
	    first & 1)
		*page = first - 1;
}

/* The inode of the kiocb that a bio of direct I/O is for, if what the bio's owner keeps has one
 * there. What it is of another owner is some number, and no inode that is followed. */
static __always_inline int find_direct(uint64_t bio, uint32_t transfer, uint64_t *inode)
{
	const volatile struct follow_io *io = &plan.io;

	*inode = bio;
	return follow_pointer(inode, io->bio_private) || follow_pointer(inode, transfer) ||
	       follow_pointer(inode, io->transfer_file) || follow_pointer(inode, io->file_inode);
}

#define MAPPING_FLAGS 3u /* of a page that is no file's */

/* The inode that a bio's first page belongs to. A bio without bytes may be one that is just being
 * made: its pages are those of another one, which had the memory before. */
static __always_inline int find_cached(uint64_t bio, uint64_t *inode)
{
	const volatile struct follow_io *io = &plan.io;
	uint32_t bytes = 0;

	*inode = bio;
	if (bpf_probe_read_kernel(&bytes, sizeof(bytes), (void *)(bio + io->bio_bytes)) || !bytes ||
	    follow_pointer(inode, io->bio_pages) || follow_pointer(inode, io->bio_page))
		return -1;
	find_folio(inode, io->first_page);
	return follow_pointer(inode, io->page_mapping) || *inode & MAPPING_FLAGS ||
	       follow_pointer(inode, io->mapping_inode);
}

/* The followed inode whose data the bio has; 0: there is none. A function of its own, as
 * passes_filter(). */
__attribute__((noinline)) uint64_t inode_of_bio(uint64_t bio)
{
	uint64_t inode, group;

	if (!find_direct(bio, plan.io.iomap_transfer, &inode) && is_followed(inode, &group))
		return inode;
	if (!find_direct(bio, plan.io.dio_transfer, &inode) && is_followed(inode, &group))
		return inode;
	return !find_cached(bio, &inode) && is_followed(inode, &group) ? inode : 0;
}

#define BIOS 8u /* of a request, that are looked at */

/* The followed bio that the request has; 0: there is none. *any: it has bios. */
static __always_inline uint64_t bio_of_request(uint64_t request, int *any)
{
	uint64_t at = request, group;

	*any = 0;
	if (follow_pointer(&at, plan.io.request_bio))
		return 0;
	*any = 1;
	for (uint32_t i = 0; i < BIOS; i++) {
		if (is_followed(at, &group))
			return at;
		if (follow_pointer(&at, plan.io.bio_next))
			break;
	}
	return 0;
}

/* A request whose bios have all been ended is still the one that it was. One that has others is
 * another one, in the memory of a followed one whose end was not seen. */
static __always_inline int why_data(struct met *m)
{
	int known = is_followed(m->object, &m->group), any = 0;

	if (m->kind == FOLLOW_BIO && known)
		return FOLLOW_BY_IDENTITY;
	if (m->kind == FOLLOW_BIO)
		m->whole = inode_of_bio(m->object);
	else
		m->whole = bio_of_request(m->object, &any);
	if (known && (m->whole || !any))
		return FOLLOW_BY_IDENTITY;
	if (known)
		bpf_map_delete_elem(&objects, &m->object);
	m->group = 0;
	if (!m->whole)
		return 0;
	begin_life(m);
	return FOLLOW_BY_DATA;
}

/* Whether the iterator is one to copy from. */
static __always_inline int is_source(uint64_t iterator)
{
	uint8_t is = 0;

	bpf_probe_read_kernel(&is, sizeof(is), (void *)(iterator + plan.buffer.is_source));
	return is;
}

/* Addresses are the program's own: elsewhere the same number is other memory. */
static __always_inline int why_address(struct met *m)
{
	uint64_t at = m->object;

	if (!is_asked_for())
		return 0;
	m->group = bpf_get_current_pid_tgid() >> 32 << 32 | FOLLOW_IS_BUFFER;
	if (m->kind == FOLLOW_BYTES)
		return is_in_buffer(at, 1) ? FOLLOW_BY_ADDRESS : 0;
	if (m->kind == FOLLOW_MESSAGE)
		at += plan.buffer.message_iterator;
	if (!iterator_is_in_buffer(at))
		return 0;
	if (is_source(at)) {
		m->source = m->group;
		m->iterator = at;
	}
	return FOLLOW_BY_ADDRESS;
}

/* Tasks in a function that fills packets or pages: what with. */
struct fill { uint64_t group, iterator, left; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOW_PROCESSES);
	__type(key, uint64_t);
	__type(value, struct fill);
} filling SEC(".maps");

/* At the entry of a function that fills, whatever it fills with: what an earlier call has left is
 * gone then. A task for which there is no room has copies that are not followed. */
static __always_inline void note_filling(uint64_t group, uint64_t iterator)
{
	uint64_t task = this_task();
	struct fill f = { group, iterator, 0 };

	if (group)
		read_word(iterator + plan.buffer.left, &f.left);
	if (!group)
		bpf_map_delete_elem(&filling, &task);
	else if (bpf_map_update_elem(&filling, &task, &f, BPF_ANY))
		count(FOLLOW_CROWDED);
}

/* Takes over what the function around this one fills with. */
static __always_inline void find_source(struct met *m)
{
	uint64_t task = this_task();
	struct fill *f = bpf_map_lookup_elem(&filling, &task);

	if (!f)
		return;
	m->source = f->group;
	m->iterator = f->iterator;
	m->left = f->left;
}

/* Whether the next byte that the iterator gives is the buffer's: it is in what is filled next, and
 * nobody knows how much more. */
__attribute__((noinline)) int is_next(uint64_t iterator)
{
	const volatile struct follow_buffer *b = &plan.buffer;
	uint64_t start = 0, skipped = 0;

	if (read_word(iterator + b->start, &start) || read_word(iterator + b->skipped, &skipped))
		return 0;
	if (IN_KERNEL(start) && read_word(start, &start))
		return 0;
	return is_in_buffer(start + skipped, 1);
}

/* Whether the latest `copied` bytes that the iterator gave are the buffer's. It stands behind them:
 * in their segment, or at the beginning of the one behind that. */
__attribute__((noinline)) int was_last(uint64_t iterator, uint64_t copied)
{
	const volatile struct follow_buffer *b = &plan.buffer;
	uint64_t start = 0, skipped = 0, segment[2];

	if (!copied || read_word(iterator + b->start, &start) ||
	    read_word(iterator + b->skipped, &skipped))
		return 0;
	if (!IN_KERNEL(start)) {
		segment[0] = start;
		segment[1] = skipped;
	} else if (bpf_probe_read_kernel(segment, sizeof(segment),
					 (void *)(start - (skipped ? 0 : sizeof(segment))))) {
		return 0;
	} else if (skipped) {
		segment[1] = skipped;
	}
	if (copied > segment[1])
		copied = segment[1];
	return is_in_buffer(segment[0] + segment[1] - copied, copied);
}

/* Whether bytes of the buffer were the last ones that went into TCP's queue. Before the first one
 * an iterator of several segments has none behind it. */
static __always_inline int has_grown(const struct met *m)
{
	uint64_t left = 0;

	return !read_word(m->iterator + plan.buffer.left, &left) && left < m->left &&
	       was_last(m->iterator, 1);
}

static __always_inline int begin_copy(struct met *m)
{
	m->group = 0;
	begin_life(m);
	return FOLLOW_BY_COPY;
}

/* A packet, or a page, belongs from a call on that takes it together with an iterator to copy
 * from, or that is made for it by a function that fills. */
static __always_inline int why_copy(struct met *m)
{
	int known = is_followed(m->object, &m->group);

	if (m->queued)
		return known || !m->source || !has_grown(m) ? 0 : begin_copy(m);
	if (!m->source || !(m->written ? was_last(m->iterator, m->copied) : is_next(m->iterator)))
		return known ? FOLLOW_BY_IDENTITY : 0;
	m->group = 0;
	return known ? FOLLOW_BY_COPY : begin_copy(m);
}

static __always_inline int why_buffer(struct met *m)
{
	if (m->kind >= FOLLOW_BYTES && m->kind <= FOLLOW_MESSAGE)
		return why_address(m);
	return plan.by_identity ? why_copy(m) : 0;
}

/* The descriptor is looked up at each call, because the process may close it and open another file
 * there at any time. */
static __always_inline int why_by_descriptor(struct met *m)
{
	int lives = plan.by_identity && m->kind != FOLLOW_INODE, known;

	if (m->kind == FOLLOW_PACKET)
		return plan.by_identity ? why_packet(m) : 0;
	known = lives && is_followed(m->object, &m->group);
	if (!is_asked_for() || !is_behind_descriptor(m->kind, m->object))
		return known ? FOLLOW_BY_IDENTITY : 0;
	if (!known)
		m->group = bpf_get_current_pid_tgid() >> 32 << 32 | plan.descriptor.number;
	if (lives && !known)
		begin_life(m);
	return FOLLOW_BY_DESCRIPTOR;
}

/* enum follow_why, or 0: the object is not followed. The plan is constant, and says which kinds
 * there are: the verifier does not look at code for others, which takes it half the time. */
static __always_inline int why_followed(struct met *m)
{
	int known;

	if (!m->object)
		return 0;
	if (plan.buffer.bytes)
		return why_buffer(m);
	if (plan.descriptor.is_wanted)
		return why_by_descriptor(m);
	if (plan.io.is_wanted && m->kind >= FOLLOW_BIO)
		return why_data(m);
	known = plan.by_identity && is_followed(m->object, &m->group);
	if (!is_asked_for() || !passes(m->object))
		return known ? FOLLOW_BY_IDENTITY : 0;
	if (plan.by_identity && !known)
		begin_life(m);
	return FOLLOW_BY_FIELD;
}

/* A packet that gets bytes of the call's first one is followed as that is. */
static __always_inline int why_part(struct met *m)
{
	if (!plan.by_identity || !m->object)
		return 0;
	m->group = m->whole_group;
	begin_life(m);
	return FOLLOW_BY_PART;
}

/* --- events ----------------------------------------------------------------------------------- */

/* The ring's memory has old records in it, which brace would take for values: it is zeroed. NULL:
 * there is no room, which is counted. */
static __always_inline struct follow_event *begin_event(uint64_t object, uint64_t cookie)
{
	struct follow_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	uint64_t id = bpf_get_current_pid_tgid();

	if (!e) {
		count(FOLLOW_FULL);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->ns = bpf_ktime_get_ns();
	e->object = object;
	e->function = cookie >> FOLLOW_FUNCTION_AT;
	e->cpu = bpf_get_smp_processor_id();
	e->pid = id >> 32;
	e->tid = (uint32_t)id;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	return e;
}

/* brace looks at the ring by itself, many times a second. It is woken only before the ring is full:
 * a wake-up costs as much as the rest of an event, and is an interrupt whose own calls, while this
 * program runs on the CPU, would go untold. */
static __always_inline void submit(struct follow_event *e)
{
	uint64_t full = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > RING_BYTES / 4;

	bpf_ringbuf_submit(e, full ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* again: the call has been told with another object, with which its return will be. */
static __always_inline void tell_entry(const struct met *m, int why, int again, uint64_t cookie)
{
	struct follow_event *e = begin_event(m->object, cookie);

	if (!e)
		return;
	e->why = why;
	e->first = m->first;
	e->kind = m->kind;
	e->group = m->group;
	e->single = again;
	if (why == FOLLOW_BY_COPY)
		e->result = m->source;
	if (why == FOLLOW_BY_PART || why == FOLLOW_BY_DATA)
		e->result = m->whole;
	if (m->kind <= FOLLOW_FILE)
		show(e);
	submit(e);
}

/* From a socket to the last packet that it has not sent. An empty queue's last is the queue. */
static __always_inline void find_queued(struct met *m)
{
	uint64_t queue = m->object + plan.buffer.queue, last = 0;

	if (read_word(queue + plan.buffer.queue_last, &last) || last == queue)
		last = 0;
	m->object = last;
	m->kind = FOLLOW_PACKET;
	m->queued = 1;
}

/* The object of the call's slot. */
static __always_inline void meet(void *context, uint32_t slot, struct met *m)
{
	m->object = kernel_arguments_nth(context, slot & 7);
	m->kind = slot >> 3;
	m->group = 0;
	m->first = 0;
	m->queued = 0;
	if (plan.buffer.bytes && m->kind == FOLLOW_PAGE && m->object)
		find_folio(&m->object, plan.buffer.first_page);
	if (plan.buffer.bytes && m->kind == FOLLOW_QUEUE && m->object)
		find_queued(m);
	if (!plan.descriptor.is_wanted || m->kind != FOLLOW_TRANSFER || !m->object)
		return;
	m->kind = FOLLOW_FILE;
	if (follow_pointer(&m->object, plan.descriptor.transfer_file))
		m->object = 0;
}

/* --- bytes that get into another packet ------------------------------------------------------- */

/* Tasks in a function that may join two packets; the second one is followed, the first is not. */
struct joining { uint64_t to, from, group; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS_MAX);
	__type(key, uint64_t);
	__type(value, struct joining);
} joins SEC(".maps");

/* By CPU: the packet in which room was made last. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} puts SEC(".maps");

/* At the entry: whether it does so is known at its return. */
static __always_inline void note_joining(void *context, uint64_t cookie, uint64_t object)
{
	struct joining j = { .to = kernel_arguments_nth(context, cookie & 7), .from = object };
	uint64_t task = this_task(), group;

	if (!j.to || j.to == object || is_followed(j.to, &group) || !is_followed(object, &j.group))
		return;
	if (bpf_map_update_elem(&joins, &task, &j, BPF_ANY))
		count(FOLLOW_CROWDED);
}

/* Tells of a packet that has got bytes of a followed one, as of one more object of the call. Where
 * packets are not the expression's objects, they are a kind. */
static __always_inline void tell_part(uint64_t object, uint64_t whole, uint64_t group,
				      uint64_t cookie)
{
	struct met m = { .object = object, .group = group, .whole = whole };

	if (plan.buffer.bytes || plan.descriptor.is_wanted)
		m.kind = FOLLOW_PACKET;
	begin_life(&m);
	tell_entry(&m, FOLLOW_BY_PART, 1, cookie);
}

static __always_inline void end_joining(uint64_t cookie, uint64_t result)
{
	uint64_t task = this_task();
	struct joining *found = bpf_map_lookup_elem(&joins, &task), j;

	if (!found)
		return;
	j = *found;
	bpf_map_delete_elem(&joins, &task);
	if (cookie >> FOLLOW_FLAGS_AT & FOLLOW_BYTE ? (uint8_t)result : (uint32_t)result)
		tell_part(j.to, j.from, j.group, cookie);
}

static __always_inline void note_put(void *context, uint64_t cookie)
{
	uint32_t zero = 0;
	uint64_t *last = bpf_map_lookup_elem(&puts, &zero);

	if (last)
		*last = kernel_arguments_nth(context, cookie & 7);
}

/* At the entry of a copying out of a followed packet: the bytes go into another one, if they end
 * where that ends. */
static __always_inline void find_taker(void *context, uint64_t cookie, uint64_t object)
{
	const uint64_t to = kernel_arguments_nth(context, FOLLOW_TAKES_TO);
	const uint32_t bytes = kernel_arguments_nth(context, FOLLOW_TAKES_BYTES);
	uint32_t zero = 0, tail = 0;
	uint64_t *last = bpf_map_lookup_elem(&puts, &zero), head = 0, group = 0, other, packet;

	packet = last ? *last : 0;
	if (!packet || packet == object || is_followed(packet, &other) ||
	    !is_followed(object, &group) || read_word(packet + plan.packet_head, &head) ||
	    bpf_probe_read_kernel(&tail, sizeof(tail), (void *)(packet + plan.packet_tail)) ||
	    head + tail != to + bytes)
		return;
	tell_part(packet, object, group, cookie);
}

/* Returns whether anything is to be told of this call; *object is then what its return is told
 * with: the first of its objects that is followed. */
static __always_inline int enter(void *context, uint64_t cookie, uint64_t *object)
{
	struct met m = { 0 };
	int told = 0;

	count(FOLLOW_CALLS);
	*object = 0;
	if (plan.buffer.bytes && cookie >> FOLLOW_FLAGS_AT & (FOLLOW_FILLED | FOLLOW_WRITTEN)) {
		find_source(&m);
		m.written = cookie >> FOLLOW_FLAGS_AT & FOLLOW_WRITTEN;
		m.copied = (uint32_t)(cookie >> FOLLOW_FLAGS_AT & FOLLOW_EARLIER
					      ? kernel_arguments_nth(context, FOLLOW_COPIED_EARLIER)
					      : kernel_arguments_nth(context, FOLLOW_COPIED));
	}
	for (uint32_t i = 0; i < FOLLOW_SLOTS; i++) {
		uint32_t slot = cookie >> FOLLOW_SLOT_SHIFT(i) & 0xff;
		int why;

		if (slot == FOLLOW_NO_SLOT)
			break;
		meet(context, slot, &m);
		why = m.object == *object ? 0 : why_followed(&m);
		if (!why && told && cookie >> FOLLOW_FLAGS_AT & FOLLOW_SPLITS)
			why = why_part(&m);
		if (!why)
			continue;
		tell_entry(&m, why, told, cookie);
		if (!told) {
			*object = m.whole = m.object;
			m.whole_group = m.group;
		}
		told = 1;
		if (m.kind == FOLLOW_SOCK)
			m.sock = m.group;
		if (plan.by_identity && !i && cookie >> FOLLOW_FLAGS_AT & FOLLOW_ENDS)
			set_life(m.object, ENDS_IN(this_task()), m.group);
	}
	if (plan.buffer.bytes && cookie >> FOLLOW_FLAGS_AT & FOLLOW_FILLS)
		note_filling(m.source, m.iterator);
	if (plan.by_identity && cookie >> FOLLOW_FLAGS_AT & FOLLOW_PUTS)
		note_put(context, cookie);
	if (plan.by_identity && told && cookie >> FOLLOW_FLAGS_AT & FOLLOW_JOINS)
		note_joining(context, cookie, *object);
	if (plan.by_identity && told && cookie >> FOLLOW_FLAGS_AT & FOLLOW_TAKES)
		find_taker(context, cookie, *object);
	return told;
}

/* Takes an object that has ended out of the table, and puts what the function gives into it.
 * Returns whether that is new there. */
static __always_inline int renew_objects(uint64_t object, uint64_t cookie, uint64_t result)
{
	struct follow_life child = { .state = LIVES }, *life;

	if (!plan.by_identity)
		return 0;
	life = bpf_map_lookup_elem(&objects, &object);
	if (life)
		child.group = life->group;
	if (cookie >> FOLLOW_FLAGS_AT & FOLLOW_ENDS && life && life->state == ENDS_IN(this_task()))
		bpf_map_delete_elem(&objects, &object);
	if (!(cookie >> FOLLOW_FLAGS_AT & FOLLOW_GIVES) || !result || result >= ERRORS_FROM ||
	    result == object)
		return 0;
	return !bpf_map_update_elem(&objects, &result, &child, BPF_NOEXIST);
}

/* The packet behind `at` in a list of segments: followed from now on, and told as one more object
 * of the call that returns. 0: there is none. A function of its own, as passes_filter(), which the
 * verifier looks at once for all rounds of the loop. */
__attribute__((noinline)) uint64_t follow_segment(uint64_t at, uint64_t whole, uint64_t cookie,
						  uint64_t group)
{
	struct follow_life life = { LIVES, group };
	struct met m = { .group = group, .whole = whole, .kind = (cookie & 0xff) >> 3, .first = 1 };

	if (read_word(at + plan.packet_next, &m.object) || !m.object)
		return 0;
	if (!bpf_map_update_elem(&objects, &m.object, &life, BPF_NOEXIST))
		tell_entry(&m, FOLLOW_BY_PART, 1, cookie);
	return m.object;
}

/* The packets behind the first one of a list are followed as their whole is. A packet of 64 KB has
 * 45 segments of Ethernet's size. The first is what the function gives (renew_objects()). */
static __always_inline void follow_list(uint64_t whole, uint64_t cookie, uint64_t first)
{
	struct follow_life *life = bpf_map_lookup_elem(&objects, &whole);
	uint64_t at = first, group = life ? life->group : 0;

	if (!plan.by_identity || !first || first >= ERRORS_FROM)
		return;
	for (uint32_t i = 0; i < LIST_MAX; i++) {
		at = follow_segment(at, whole, cookie, group);
		if (!at)
			break;
	}
}

/* The event is reserved last: Linux 6.1's verifier forgets over other calls that it has been
 * tested. */
static __always_inline void leave(uint64_t object, uint64_t cookie, uint64_t result)
{
	int child = renew_objects(object, cookie, result);
	struct follow_event *e;

	if (cookie >> FOLLOW_FLAGS_AT & FOLLOW_LISTS)
		follow_list(object, cookie, result);
	if (cookie >> FOLLOW_FLAGS_AT & FOLLOW_JOINS)
		end_joining(cookie, result);

	if (plan.buffer.bytes && cookie >> FOLLOW_FLAGS_AT & FOLLOW_FILLS)
		note_filling(0, 0);
	e = begin_event(object, cookie);

	if (!e)
		return;
	e->is_return = 1;
	e->result = result;
	e->child = child;
	submit(e);
}

/* --- kprobe.session: one program for both ends, with eight bytes from one to the other -------- */

/* brace puts the kernel's own functions in place of these calls before loading (wire.h). As
 * `extern` they would have libbpf read all types of the kernel once more, which takes as long as
 * attaching. */
static _Bool (*session_is_return)(void) = (void *)FOLLOW_IS_RETURN;
static uint64_t *(*session_cookie)(void) = (void *)FOLLOW_SESSION_COOKIE;

SEC("kprobe.multi") int session(struct pt_regs *context)
{
	uint64_t cookie = bpf_get_attach_cookie(context), object;
	uint64_t *kept = session_cookie();

	/* Nothing is kept of an entry at which the kernel left the program out: an interrupt's,
	 * say. Its return comes all the same. */
	if (session_is_return()) {
		if (*kept)
			leave(*kept, cookie, kernel_arguments_result(context));
		*kept = 0;
		return 0;
	}
	if (!enter(context, cookie, &object))
		/* Most calls are none of the object's: without a stop at their returns they cost
		 * less. */
		return 1; /* no return wanted */
	*kept = object;
	return 0;
}

/* --- others: calls that wait for their return, by task ---------------------------------------- */

struct open_frame { uint64_t stack, object; };
struct open_frames { uint32_t depth, pad; struct open_frame at[FRAMES]; };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TASKS_MAX);
	__type(key, uint64_t);
	__type(value, struct open_frames);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct open_frames);
} nothing SEC(".maps");

/* An index that the verifier can see is small enough: clang drops a mask that it has proved to do
 * nothing. */
#define FRAME(i) ({ uint64_t index_ = (i); barrier_var(index_); index_ & (FRAMES - 1); })

/* A task's first frames are copied out of a map, because a program's own stack has 512 bytes. */
static __always_inline struct open_frames *frames_of(uint64_t task)
{
	struct open_frames *f = bpf_map_lookup_elem(&tasks, &task), *empty;
	uint32_t zero = 0;

	if (f)
		return f;
	empty = bpf_map_lookup_elem(&nothing, &zero);
	if (empty)
		bpf_map_update_elem(&tasks, &task, empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&tasks, &task);
}

/* A call that is too deep is told at its entry alone, and counted. */
static __always_inline int enter_frame(struct pt_regs *context)
{
	uint64_t object;
	struct open_frames *f;
	struct open_frame *at;
	uint32_t depth;

	if (!enter(context, bpf_get_attach_cookie(context), &object))
		return 0;
	f = frames_of(this_task());
	if (!f) {
		count(FOLLOW_DEEP);
		return 0;
	}
	depth = f->depth;
	if (depth >= FRAMES) {
		count(FOLLOW_DEEP);
		return 0;
	}
	at = &f->at[FRAME(depth)];
	at->stack = kernel_arguments_stack(context);
	at->object = object;
	f->depth = depth + 1;
	return 0;
}

/* A return belongs to the frame with its stack pointer. By the function it could not be told from a
 * call of the same function, further in, that is not followed. */
static __always_inline int is_frame(uint64_t stack, const struct open_frame *f)
{
	return stack - f->stack <= 16;
}

/* Searched without a loop: Linux 6.1's verifier takes one over memory for endless. */
static __always_inline int leave_frame(struct pt_regs *context)
{
	uint64_t task = this_task(), stack = kernel_arguments_stack(context);
	struct open_frames *f = bpf_map_lookup_elem(&tasks, &task);
	uint32_t depth = f ? f->depth : 0, found = 0;

	if (!f)
		return 0;
#pragma clang loop unroll(full)
	for (uint32_t i = 1; i <= FRAMES; i++)
		if (!found && i <= depth && is_frame(stack, &f->at[FRAME(depth - i)]))
			found = i;
	if (!found)
		return 0;
	f->depth = depth - found;
	leave(f->at[FRAME(depth - found)].object, bpf_get_attach_cookie(context),
	      kernel_arguments_result(context));
	return 0;
}

SEC("kprobe.multi") int multi_entry(struct pt_regs *context) { return enter_frame(context); }
SEC("kretprobe.multi") int multi_return(struct pt_regs *context) { return leave_frame(context); }
SEC("kprobe") int single_entry(struct pt_regs *context) { return enter_frame(context); }
SEC("kretprobe") int single_return(struct pt_regs *context) { return leave_frame(context); }
