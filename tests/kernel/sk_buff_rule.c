/* The rule of ipftrace2 and of pwru, by a BPF program of its own, for the test `kernel`: every
 * function of the kernel whose first pointer to a struct sk_buff is among its first five arguments,
 * in calls where the packet has the mark. It shares no line with brace: what brace shows of the
 * packet has to be this at least (tests/vm/network.sh).
 *
 * sk_buff_rule MARK: says "watching N, the mark at OFFSET", and at SIGTERM a line "MODULE:FUNCTION
 * CALLS" for each; the kernel's own module is vmlinux. As with pwru's --filter-track-skb, but for
 * clones, a packet counts by its address from its first call with the mark on, until its memory
 * goes away: at three functions, where pwru knows one, and takes another packet in the same memory
 * for the first.
 * sk_buff_rule attach kprobe.multi|kprobe.session N: how long a program that does nothing takes to
 * be put at the first N of them, and to be taken out: "ATTACH DETACH" in microseconds.
 * sk_buff_rule count: how many programs and links of BPF the kernel has, "PROGRAMS LINKS". */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>
#include <linux/bpf_common.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define POSITIONS 5
#define FUNCTIONS_MAX 4096
#define NAME 64
#define MODULES_MAX 64
#define SESSION_TYPE 56 /* BPF_TRACE_KPROBE_SESSION, Linux 6.10 */

struct function { const char *name, *module; uint64_t address; int position, traceable; };

static struct function functions[FUNCTIONS_MAX];
static int n_functions;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* --- the functions ----------------------------------------------------------------------- */

static const struct btf_type *plain(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

static int is_packet(const struct btf *btf, const struct btf_type *t)
{
	if (!t || !btf_is_ptr(t))
		return 0;
	t = plain(btf, t->type);
	return t && btf_is_struct(t) && !strcmp(btf__name_by_offset(btf, t->name_off), "sk_buff");
}

/* -1: none, or a structure by value among the arguments, where their rule leaves it out. */
static int position_of(const struct btf *btf, const struct btf_type *prototype)
{
	const struct btf_param *p = btf_params(prototype);
	int found = -1;

	for (int i = 0; i < btf_vlen(prototype); i++) {
		const struct btf_type *t = p[i].type ? plain(btf, p[i].type) : NULL;

		if (!t || btf_is_composite(t))
			return -1;
		if (found < 0 && i < POSITIONS && is_packet(btf, t))
			found = i;
	}
	return found;
}

/* A module's own types are behind the kernel's: `first` is its first one. */
static void take_btf(const struct btf *btf, uint32_t first, const char *module)
{
	for (uint32_t id = first; id < btf__type_cnt(btf); id++) {
		const struct btf_type *f = btf__type_by_id(btf, id);
		int position = btf_is_func(f) ? position_of(btf, btf__type_by_id(btf, f->type)) : -1;

		if (position >= 0 && n_functions < FUNCTIONS_MAX)
			functions[n_functions++] = (struct function){ btf__name_by_offset(btf, f->name_off), module, 0, position, 0 };
	}
}

static void take_modules(struct btf *kernel)
{
	static char names[MODULES_MAX][NAME];
	uint32_t id = 0;

	for (int i = 0; i < MODULES_MAX && !bpf_btf_get_next_id(id, &id);) {
		struct bpf_btf_info info = { .name = (uintptr_t)names[i], .name_len = NAME };
		uint32_t n = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);
		struct btf *btf;

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &n))
			fail("BTF of a module");
		close(fd);
		if (!info.kernel_btf || !strcmp(names[i], "vmlinux"))
			continue;
		btf = btf__load_from_kernel_by_id_split(id, kernel);
		if (!btf)
			fail("BTF of a module");
		take_btf(btf, btf__type_cnt(kernel), names[i++]);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->module, y->module);
}

static struct function *find(const char *name, const char *module)
{
	struct function key = { .name = name, .module = module };

	return bsearch(&key, functions, n_functions, sizeof(key), by_name);
}

/* Each line of a file has a name, and perhaps a module in brackets; has_address: before them an
 * address and a letter. */
static void take_lines(const char *path, int has_address)
{
	char line[512], type;
	FILE *from = fopen(path, "r");

	if (!from)
		fail(path);
	while (fgets(line, sizeof(line), from)) {
		unsigned long long address = 0;
		char name[256], module[NAME] = "vmlinux";
		struct function *f;

		if (has_address ? sscanf(line, "%llx %c %255s [%63[^]]]", &address, &type, name, module) < 3
				: sscanf(line, "%255s [%63[^]]]", name, module) < 1)
			continue;
		f = find(name, module);
		if (f && has_address && strchr("tTwW", type))
			f->address = address;
		else if (f)
			f->traceable = 1;
	}
	fclose(from);
}

/* Offset in bytes, also of a member of an anonymous one. -1: there is none. */
static int find_member(const struct btf *btf, const struct btf_type *t, const char *name)
{
	const struct btf_member *m = btf_members(t);

	for (int i = 0; i < btf_vlen(t); i++) {
		const char *its = btf__name_by_offset(btf, m[i].name_off);
		const struct btf_type *inner = plain(btf, m[i].type);
		int at = !strcmp(its, name) ? 0 : !*its && btf_is_composite(inner) ? find_member(btf, inner, name) : -1;

		if (at >= 0)
			return at + (int)(btf_member_bit_offset(t, i) / 8);
	}
	return -1;
}

/* The kernel's and its modules'. Returns the offset of the mark. */
static int read_functions(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "sk_buff", BTF_KIND_STRUCT) : -1, n = 0;

	if (id < 0)
		fail("BTF");
	take_btf(btf, 1, "vmlinux");
	take_modules(btf);
	qsort(functions, n_functions, sizeof(*functions), by_name);
	take_lines("/proc/kallsyms", 1);
	take_lines("/sys/kernel/tracing/available_filter_functions", 0);
	for (int i = 0; i < n_functions; i++)
		if (functions[i].address && functions[i].traceable)
			functions[n++] = functions[i];
	n_functions = n;
	return find_member(btf, btf__type_by_id(btf, id), "mark");
}

/* --- attaching --------------------------------------------------------------------------- */

static int load(const struct bpf_insn *insns, size_t n, int type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "rule", "GPL", insns, n, &options);

	if (fd < 0)
		fail("BPF program");
	return fd;
}

/* By the system call, since libbpf 1.1 has no session. */
static int attach(int program, int type, uint64_t *addresses, int n)
{
	union bpf_attr a;
	int fd;

	memset(&a, 0, sizeof(a));
	a.link_create.prog_fd = program;
	a.link_create.attach_type = type;
	a.link_create.kprobe_multi.cnt = n;
	a.link_create.kprobe_multi.addrs = (uintptr_t)addresses;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));
	if (fd < 0)
		fail("link");
	return fd;
}

/* Instructions of BPF: an operation on registers, with an offset or a number. */
#define INSN(operation, to, from, offset, number) { (operation), (to), (from), (offset), (number) }
#define MOVE(to, from) INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, number) INSN(BPF_ALU64 | BPF_MOV, to, 0, 0, number)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define TAKE_MAP(to, map) INSN(BPF_LD | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map), INSN(0, 0, 0, 0, 0)
#define END INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Counts calls by function where the packet at this position has the mark, or has had it, which a
 * table tells. */
static int load_rule(int position, int mark_at, uint32_t mark, int counts, int tracked)
{
	static const int registers[POSITIONS] = { 112, 104, 96, 88, 72 }; /* in struct pt_regs */
	const struct bpf_insn insns[] = {
		MOVE(6, 1),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 7, 1, registers[position], 0), /* the packet */
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 7, -32, 0),
		MOVE(3, 7),
		INSN(BPF_ALU64 | BPF_ADD, 3, 0, 0, mark_at),
		MOVE(1, 10),
		INSN(BPF_ALU64 | BPF_ADD, 1, 0, 0, -8),
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		SET(2, 4),
		CALL(BPF_FUNC_probe_read_kernel),
		INSN(BPF_JMP | BPF_JNE, 0, 0, 39, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 1, 10, -8, 0),
		INSN(BPF_JMP32 | BPF_JNE, 1, 0, 10, (int)mark),
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -24, 1),
		TAKE_MAP(1, tracked),
		MOVE(2, 10),
		INSN(BPF_ALU64 | BPF_ADD, 2, 0, 0, -32),
		MOVE(3, 10),
		INSN(BPF_ALU64 | BPF_ADD, 3, 0, 0, -24),
		SET(4, 0),
		CALL(BPF_FUNC_map_update_elem),
		INSN(BPF_JMP | BPF_JA, 0, 0, 6, 0),
		TAKE_MAP(1, tracked), /* without the mark */
		MOVE(2, 10),
		INSN(BPF_ALU64 | BPF_ADD, 2, 0, 0, -32),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ, 0, 0, 21, 0),
		MOVE(1, 6),
		CALL(BPF_FUNC_get_func_ip),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 0, -16, 0),
		TAKE_MAP(1, counts),
		MOVE(2, 10),
		INSN(BPF_ALU64 | BPF_ADD, 2, 0, 0, -16),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ, 0, 0, 3, 0),
		SET(1, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
		INSN(BPF_JMP | BPF_JA, 0, 0, 9, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -24, 1), /* the first call of the function */
		TAKE_MAP(1, counts),
		MOVE(2, 10),
		INSN(BPF_ALU64 | BPF_ADD, 2, 0, 0, -16),
		MOVE(3, 10),
		INSN(BPF_ALU64 | BPF_ADD, 3, 0, 0, -24),
		SET(4, 0),
		CALL(BPF_FUNC_map_update_elem),
		SET(0, 0),
		END,
	};

	return load(insns, sizeof(insns) / sizeof(*insns), BPF_TRACE_KPROBE_MULTI);
}

/* Takes the first argument out of the table. */
static int load_end(int tracked)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 1, 112, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 1, -8, 0),
		TAKE_MAP(1, tracked),
		MOVE(2, 10),
		INSN(BPF_ALU64 | BPF_ADD, 2, 0, 0, -8),
		CALL(BPF_FUNC_map_delete_elem),
		SET(0, 0),
		END,
	};

	return load(insns, sizeof(insns) / sizeof(*insns), BPF_TRACE_KPROBE_MULTI);
}

static void watch_ends(int tracked)
{
	static const char *const ends[] = { "kfree_skbmem", "napi_skb_cache_put", "kfree_skb_partial" };
	uint64_t addresses[3];
	int n = 0;

	for (int i = 0; i < n_functions; i++)
		for (int k = 0; k < 3; k++)
			if (!strcmp(functions[i].name, ends[k]))
				addresses[n++] = functions[i].address;
	attach(load_end(tracked), BPF_TRACE_KPROBE_MULTI, addresses, n);
}

static void watch(uint32_t mark, int mark_at, int counts, int tracked)
{
	for (int position = 0; position < POSITIONS; position++) {
		static uint64_t addresses[FUNCTIONS_MAX];
		int n = 0;

		for (int i = 0; i < n_functions; i++)
			if (functions[i].position == position)
				addresses[n++] = functions[i].address;
		if (n)
			attach(load_rule(position, mark_at, mark, counts, tracked), BPF_TRACE_KPROBE_MULTI, addresses, n);
	}
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

static void measure(int type, int n)
{
	static uint64_t addresses[FUNCTIONS_MAX];
	const struct bpf_insn nothing[] = { SET(0, 0), END };
	int program = load(nothing, 2, type), link;
	uint64_t began, attached;

	for (int i = 0; i < n_functions; i++)
		addresses[i] = functions[i].address;
	began = now();
	link = attach(program, type, addresses, n < n_functions ? n : n_functions);
	attached = now();
	close(link);
	printf("%llu %llu\n", (unsigned long long)(attached - began), (unsigned long long)(now() - attached));
}

static int count_ids(int (*next)(uint32_t, uint32_t *))
{
	uint32_t id = 0;
	int n = 0;

	while (!next(id, &id))
		n++;
	return n;
}

int main(int argc, char **argv)
{
	int mark_at, counts, tracked, signal_number;
	sigset_t ends;

	if (argc == 2 && !strcmp(argv[1], "count")) {
		printf("%d %d\n", count_ids(bpf_prog_get_next_id), count_ids(bpf_link_get_next_id));
		return 0;
	}
	mark_at = read_functions();
	if (argc == 4) {
		measure(!strcmp(argv[2], "kprobe.session") ? SESSION_TYPE : BPF_TRACE_KPROBE_MULTI, atoi(argv[3]));
		return 0;
	}
	if (argc != 2 || mark_at < 0)
		return 2;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	counts = bpf_map_create(BPF_MAP_TYPE_HASH, "counts", 8, 8, FUNCTIONS_MAX, NULL);
	tracked = bpf_map_create(BPF_MAP_TYPE_HASH, "tracked", 8, 8, FUNCTIONS_MAX, NULL);
	watch_ends(tracked);
	watch(strtoul(argv[1], NULL, 0), mark_at, counts, tracked);
	printf("watching %d, the mark at %d\n", n_functions, mark_at);
	fflush(stdout);
	sigwait(&ends, &signal_number);
	for (int i = 0; i < n_functions; i++) {
		uint64_t n;

		if (!bpf_map_lookup_elem(counts, &functions[i].address, &n))
			printf("%s:%s %llu\n", functions[i].module, functions[i].name, (unsigned long long)n);
	}
	return 0;
}
