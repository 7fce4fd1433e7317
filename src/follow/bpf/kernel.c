/* SPDX-License-Identifier: MIT */
/* Loads the BPF program by libbpf and puts it at the functions, in the best way that the kernel
 * lets it. Which one that is, is tried with one function, because neither the kernel's version nor
 * its BTF tells. Attaching is by the system call itself: libbpf 1.1 does not know all the ways.
 * Called on brace's thread. Everything held is a descriptor, so that the kernel undoes it when the
 * process ends. What the kernel refuses is -errno and its sentence. */
#include "follow/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "follow/bpf/functions.h"
#include "follow/filter.h"
#include "kernel/tracefs.h"

static const unsigned char program[] = {
#include "follow_program.h"
};

#define FUNCTIONS_TRIED 3u
#define SECONDS_ATTACH(n) ((n) / 40 + 1) /* one after another, on Linux 6.1: 25 ms each */

/* The programs of a way, and whether the second one is for returns. */
static const struct way { const char *name, *entry, *leave; bool many; } ways[FOLLOW_WAYS_N] = {
	[FOLLOW_SESSION] = { "kprobe.session", "session", NULL, true },
	[FOLLOW_MULTI] = { "kprobe.multi", "multi_entry", "multi_return", true },
	[FOLLOW_SINGLE] = { "kprobe", "single_entry", "single_return", false },
};

typedef VEC(int) fd_list;
typedef VEC(struct bpf_link *) link_list;

struct follow_kernel {
	struct follow_types types;
	struct follow_functions functions;
	struct follow_plan plan;
	uint64_t limit;
	enum follow_way way, first_way, last_way; /* chosen, and of which */
	uint32_t session_type;   /* number of the kernel's way; 0: it has none */
	struct bpf_object *object;
	struct bpf_program *entry, *leave; /* leave NULL: entry sees returns too */
	struct ring_buffer *ring;
	fd_list links;           /* of many functions each */
	link_list singles;
	VEC(uint64_t) addresses, cookies;
	follow_sink *sink;       /* while events are read */
	void *context;
};

enum follow_way follow_kernel_way(const struct follow_kernel *k) { return k->way; }
const char *follow_kernel_way_name(enum follow_way way) { return ways[way].name; }

const struct follow_census *follow_kernel_census(const struct follow_kernel *k)
{
	return &k->functions.census;
}

const struct follow_plan *follow_kernel_plan(const struct follow_kernel *k) { return &k->plan; }

const struct follow_function *follow_kernel_function(const struct follow_kernel *k, uint32_t n)
{
	return n < k->functions.at.n ? &k->functions.at.at[n] : NULL;
}

/* --- loading ---------------------------------------------------------------------------- */

/* libbpf's own messages would stand on the user's terminal, and say nothing of what to do. */
static int no_words(enum libbpf_print_level level, const char *format, va_list ap)
{
	return 0;
}

/* The number of BPF_TRACE_KPROBE_SESSION, which the headers may not have; 0: the kernel neither. */
static uint32_t find_session_type(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "bpf_attach_type", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_enum *e = &btf_enum(t)[i];

		if (!strcmp(btf__name_by_offset(btf, e->name_off), "BPF_TRACE_KPROBE_SESSION"))
			return (uint32_t)e->val;
	}
	return 0;
}

/* The plan is the program's constants. */
static bool give_plan(struct follow_kernel *k)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, k->object)
		if (strstr(bpf_map__name(map), "rodata"))
			return !bpf_map__set_initial_value(map, &k->plan, sizeof(k->plan));
	return false;
}

/* Maps that the programs do not touch: of calls that wait for their return, if one program sees
 * both ends. They take megabytes. */
static void leave_out_maps(struct follow_kernel *k)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, k->object) {
		const char *name = bpf_map__name(map);

		if (!k->leave && (!strcmp(name, "tasks") || !strcmp(name, "nothing")))
			bpf_map__set_autocreate(map, false);
	}
}

/* Only the way's programs are loaded: older kernels refuse the others. */
static void choose_programs(struct follow_kernel *k)
{
	const struct way *way = &ways[k->way];
	struct bpf_program *p;

	k->entry = bpf_object__find_program_by_name(k->object, way->entry);
	k->leave = way->leave ? bpf_object__find_program_by_name(k->object, way->leave) : NULL;
	bpf_object__for_each_program(p, k->object)
		bpf_program__set_autoload(p, p == k->entry || p == k->leave);
	leave_out_maps(k);
	if (k->way == FOLLOW_SESSION)
		bpf_program__set_expected_attach_type(k->entry,
						      (enum bpf_attach_type)k->session_type);
}

/* The kernel's functions that kprobe.session's program calls, by their numbers in the program. */
static const struct { int32_t number; const char *name; } called[] = {
	{ FOLLOW_IS_RETURN, "bpf_session_is_return" },
	{ FOLLOW_SESSION_COOKIE, "bpf_session_cookie" },
};

/* Makes a call of the kernel's function out of a call of that number. False: it has none. */
static bool resolve_call(const struct follow_kernel *k, struct bpf_insn *insn)
{
	for (size_t i = 0; i < sizeof(called) / sizeof(*called); i++) {
		if (insn->imm != called[i].number)
			continue;
		insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
		insn->imm = btf__find_by_name_kind(k->types.modules.at[0].btf, called[i].name,
						   BTF_KIND_FUNC);
		return insn->imm > 0;
	}
	return true;
}

/* Puts the kernel's functions into the program that is loaded next. False: it has not all. */
static bool resolve_calls(const struct follow_kernel *k)
{
	size_t n = bpf_program__insn_cnt(k->entry);
	struct bpf_insn *insns = mem_zalloc(n * sizeof(*insns));
	bool all = true;

	memcpy(insns, bpf_program__insns(k->entry), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg)
			all &= resolve_call(k, &insns[i]);
	all = all && !bpf_program__set_insns(k->entry, insns, n);
	free(insns);
	return all;
}

/* Also what is half loaded. */
static void unload_programs(struct follow_kernel *k)
{
	ring_buffer__free(k->ring);
	bpf_object__close(k->object);
	k->ring = NULL;
	k->object = NULL;
}

/* The ring's callback. An event that is too short is not the program's. */
static int take_event(void *context, void *data, size_t n)
{
	struct follow_kernel *k = context;

	if (k->sink && n >= sizeof(struct follow_event))
		k->sink(k->context, data);
	return 0;
}

/* Loads the programs of k->way. 0, or -errno: nothing is loaded. */
static int load_programs(struct follow_kernel *k)
{
	int fd, e;

	k->object = bpf_object__open_mem(program, sizeof(program), NULL);
	if (!k->object)
		return -errno;
	choose_programs(k);
	if (!resolve_calls(k))
		e = -ENOTSUP;
	else
		e = give_plan(k) ? bpf_object__load(k->object) : -EINVAL;
	if (!e) {
		fd = bpf_object__find_map_fd_by_name(k->object, "events");
		k->ring = ring_buffer__new(fd, take_event, k, NULL);
		e = k->ring ? 0 : -errno;
	}
	if (e)
		unload_programs(k);
	return e;
}

/* --- attaching -------------------------------------------------------------------------- */

/* Attaches one program to n functions from the `first` on. 0 or -errno. */
static int attach_many(struct follow_kernel *k, bool leave, size_t first, size_t n)
{
	union bpf_attr a;
	int fd;

	memset(&a, 0, sizeof(a));
	a.link_create.prog_fd = (uint32_t)bpf_program__fd(leave ? k->leave : k->entry);
	a.link_create.attach_type = k->way == FOLLOW_SESSION ? k->session_type
							     : BPF_TRACE_KPROBE_MULTI;
	a.link_create.kprobe_multi.flags = leave ? BPF_F_KPROBE_MULTI_RETURN : 0;
	a.link_create.kprobe_multi.cnt = (uint32_t)n;
	a.link_create.kprobe_multi.addrs = (uintptr_t)(k->addresses.at + first);
	a.link_create.kprobe_multi.cookies = (uintptr_t)(k->cookies.at + first);
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));
	if (fd < 0)
		return -errno;
	*vec_add(&k->links) = fd;
	return 0;
}

/* Attaches to one function by itself: its entry and its return. */
static int attach_single(struct follow_kernel *k, size_t i)
{
	for (int leave = 0; leave < 2; leave++) {
		LIBBPF_OPTS(bpf_kprobe_opts, options, .bpf_cookie = k->cookies.at[i],
			    .offset = (size_t)k->addresses.at[i], .retprobe = leave);
		struct bpf_link *link = bpf_program__attach_kprobe_opts(
			leave ? k->leave : k->entry, NULL, &options);

		if (!link)
			return -errno;
		*vec_add(&k->singles) = link;
	}
	return 0;
}

/* Attaches to n functions. The kernel refuses all for one that it cannot, and for want of memory:
 * then by halves. The return program comes first: an entry without a return would be kept open. */
static void attach_range(struct follow_kernel *k, size_t first, size_t n)
{
	size_t links = k->links.n;
	int e = k->leave ? attach_many(k, true, first, n) : 0;

	if (!e)
		e = attach_many(k, false, first, n);
	if (!e)
		return;
	while (k->links.n > links)
		close(k->links.at[--k->links.n]);
	if (n > 1) {
		attach_range(k, first, n / 2);
		attach_range(k, first + n / 2, n - n / 2);
		return;
	}
	k->functions.census.refused++;
	k->functions.census.watched--;
}

/* Functions that the kernel refuses are counted, and the others watched. */
static void attach_all(struct follow_kernel *k)
{
	struct follow_census *c = &k->functions.census;

	if (ways[k->way].many) {
		attach_range(k, 0, k->addresses.n);
		return;
	}
	for (size_t i = 0; i < k->addresses.n; i++)
		if (attach_single(k, i)) {
			c->refused++;
			c->watched--;
		}
}

/* Closes all links: the kernel takes its probes away with them. */
void follow_kernel_detach(struct follow_kernel *k)
{
	for (size_t i = 0; i < k->links.n; i++)
		close(k->links.at[i]);
	for (size_t i = 0; i < k->singles.n; i++)
		bpf_link__destroy(k->singles.at[i]);
	vec_free(&k->links);
	vec_free(&k->singles);
}

/* At all functions in one go, where that can be: most kernels take it, and then nothing has to be
 * tried. */
static bool attach_at_once(struct follow_kernel *k)
{
	size_t n = k->addresses.n;

	if (ways[k->way].many && !(k->leave && attach_many(k, true, 0, n)) &&
	    !attach_many(k, false, 0, n))
		return true;
	follow_kernel_detach(k);
	return false;
}

/* Loads k->way's programs, and attaches them, or tries them at one function. 0, or -errno: nothing
 * is loaded. */
static int try_way(struct follow_kernel *k, bool *attached)
{
	int e = load_programs(k);

	*attached = !e && attach_at_once(k);
	if (e || *attached)
		return e;
	/* The first function may be one that cannot be attached to. */
	for (size_t i = 0; i < k->addresses.n && i < FUNCTIONS_TRIED; i++) {
		e = ways[k->way].many ? attach_many(k, false, i, 1) : attach_single(k, i);
		follow_kernel_detach(k);
		if (!e)
			return 0;
	}
	unload_programs(k);
	return e;
}

/* -E2BIG, with the time that it would take at least. */
static int too_many(const struct follow_kernel *k, struct err *err)
{
	size_t n = k->addresses.n;

	return err_set(err, E2BIG,
		       "this kernel attaches to one function after another, and %zu would take %zu s or more: choose fewer with -l, or allow so many with --limit %zu",
		       n, SECONDS_ATTACH(n), n);
}

/* e: why the last way failed. Rights are the usual reason, and have a sentence of their own. */
static int refused(int e, struct err *err)
{
	if (e == -EPERM || e == -EACCES)
		return err_set(err, EPERM,
			       "the kernel lets no BPF program in: it takes root with CAP_BPF and CAP_PERFMON, and no lockdown (see /sys/kernel/security/lockdown)");
	return err_set(err, -e, "the kernel takes no program at its functions: %s", strerror(-e));
}

/* The best way that works is taken: all ways watch the same functions. */
int follow_kernel_attach(struct follow_kernel *k, struct err *err)
{
	bool attached = false;
	int e = -ENOTSUP;

	for (k->way = k->first_way; k->way <= k->last_way; k->way++) {
		if (k->way == FOLLOW_SESSION && !k->session_type)
			continue;
		e = try_way(k, &attached);
		if (!e)
			break;
	}
	if (e)
		return refused(e, err);
	if (!ways[k->way].many && k->addresses.n > k->limit)
		return too_many(k, err);
	if (!attached)
		attach_all(k);
	if (k->functions.census.watched)
		return 0;
	return err_set(err, EINVAL, "the kernel refused its program at all of %zu functions",
		       k->addresses.n);
}

/* The map is looked up each time, since processes are asked for seldom. An update fails if the map
 * is full: FOLLOW_PROCESSES. */
bool follow_kernel_ask_for(struct follow_kernel *k, uint32_t pid, bool waits)
{
	int fd = bpf_object__find_map_fd_by_name(k->object, "processes");
	const uint32_t value = waits;

	return !bpf_map_update_elem(fd, &pid, &value, BPF_ANY);
}

/* --- open and close --------------------------------------------------------------------- */

/* A cookie tells the BPF program which function it is at, its flags, and in which arguments objects
 * may be. */
static uint64_t cookie_of(uint64_t number, const struct follow_function *f)
{
	uint64_t cookie = number << FOLLOW_FUNCTION_AT | (uint64_t)f->flags << FOLLOW_FLAGS_AT;

	for (unsigned i = 0; i < FOLLOW_SLOTS; i++)
		cookie |= (uint64_t)f->slots[i] << FOLLOW_SLOT_SHIFT(i);
	return cookie;
}

/* The kernel takes two arrays, and gives the function at address i the cookie i. */
static void number_functions(struct follow_kernel *k)
{
	for (size_t i = 0; i < k->functions.at.n; i++) {
		const struct follow_function *f = &k->functions.at.at[i];

		*vec_add(&k->addresses) = f->address;
		*vec_add(&k->cookies) = cookie_of(i, f);
	}
}

/* 0, or -EINVAL and *err: there is no such way. */
static int choose_way(struct follow_kernel *k, const char *name, struct err *err)
{
	k->last_way = FOLLOW_WAYS_N - 1;
	for (unsigned i = 0; name && i < FOLLOW_WAYS_N; i++)
		if (!strcmp(ways[i].name, name)) {
			k->first_way = k->last_way = i;
			return 0;
		}
	return name ? err_set(err, EINVAL,
			      "--attach: there are kprobe.session, kprobe.multi and kprobe, not %s",
			      name)
		    : 0;
}

/* The plan's part that is no field: whom to watch. brace's own calls are left out. */
static void describe_spec(struct follow_kernel *k, const struct follow_spec *spec)
{
	k->limit = spec->limit;
	k->plan.by_identity = spec->by_identity;
	k->plan.own = (uint32_t)getpid();
	k->plan.some = spec->some;
	k->plan.buffer.from = spec->buffer;
	k->plan.buffer.bytes = spec->buffer_bytes;
}

/* Reads types and functions, and attaches nothing yet. *out: only if 0 is returned. */
int follow_kernel_open(const struct follow_spec *spec, struct follow_kernel **out,
		       struct err *err)
{
	struct follow_kernel *k;
	char *tracing;
	int e = kernel_tracefs_find(&tracing, err);

	if (e)
		return e;
	libbpf_set_print(no_words);
	k = mem_zalloc(sizeof(*k));
	describe_spec(k, spec);
	e = choose_way(k, spec->way, err);
	if (!e)
		e = follow_types_read(&k->types, err);
	if (!e)
		e = follow_types_plan(&k->types, spec->expression, spec->shown, &k->plan, err);
	if (!e && spec->descriptor >= 0)
		e = follow_types_descriptor(&k->types, (uint32_t)spec->descriptor,
					    &k->plan.descriptor, err);
	if (!e && spec->buffer_bytes)
		e = follow_types_buffer(&k->types, &k->plan.buffer, err);
	if (!e)
		follow_types_lists(&k->types, &k->plan);
	if (!e)
		follow_types_execs(&k->types, &k->plan);
	if (!e && follow_wants_io(spec))
		follow_types_io(&k->types, &k->plan.io);
	if (!e && spec->packets)
		e = follow_filter_compile(spec->packets, &k->plan.filter, err);
	if (!e && spec->packets)
		e = follow_types_packet(&k->types, &k->plan.filter, err);
	if (!e)
		e = follow_functions_find(&k->types, spec, tracing, &k->functions, err);
	free(tracing);
	if (e) {
		follow_kernel_close(k);
		return e;
	}
	k->session_type = find_session_type(k->types.modules.at[0].btf);
	number_functions(k);
	*out = k;
	return 0;
}

void follow_kernel_close(struct follow_kernel *k)
{
	if (!k)
		return;
	follow_kernel_detach(k);
	unload_programs(k);
	vec_free(&k->addresses);
	vec_free(&k->cookies);
	follow_functions_free(&k->functions);
	follow_types_free(&k->types);
	free(k);
}

/* --- events ----------------------------------------------------------------------------- */

/* wait_ms 0: what is there, without waiting. A signal ends the wait: 0. The program wakes brace
 * only when there is much, so that the ring is looked at after each wait. */
int follow_kernel_read(struct follow_kernel *k, int wait_ms, follow_sink *sink, void *context,
		       struct err *err)
{
	int n;

	k->sink = sink;
	k->context = context;
	n = wait_ms ? ring_buffer__poll(k->ring, wait_ms) : 0;
	if (n >= 0 || n == -EINTR)
		n = ring_buffer__consume(k->ring);
	k->sink = NULL;
	if (n >= 0 || n == -EINTR)
		return 0;
	return err_set(err, -n, "cannot read the program's events: %s", strerror(-n));
}

/* A counter of the BPF program, over all CPUs. */
static uint64_t sum_of(const struct follow_kernel *k, uint32_t what)
{
	int cpus = libbpf_num_possible_cpus();
	int fd = bpf_object__find_map_fd_by_name(k->object, "counts");
	uint64_t *each = cpus > 0 ? mem_zalloc((size_t)cpus * sizeof(*each)) : NULL, sum = 0;

	if (each && !bpf_map_lookup_elem(fd, &what, each))
		for (int i = 0; i < cpus; i++)
			sum += each[i];
	free(each);
	return sum;
}

/* The number of calls for which the kernel left the program out: it ran on that CPU already. */
static uint64_t recursions(const struct bpf_program *p)
{
	struct bpf_prog_info info = { 0 };
	uint32_t n = sizeof(info);

	if (!p || bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &n))
		return 0;
	return info.recursion_misses;
}

/* A link's own count lies at this offset of what the kernel tells of it (struct bpf_link_info of
 * Linux 6.7; older ones tell less). */
#define LINK_MISSED 32u

/* False: the kernel does not tell. */
static bool missed_by(int link, uint64_t *sum)
{
	uint64_t info[32] = { 0 };
	uint32_t n = sizeof(info);

	if (bpf_obj_get_info_by_fd(link, info, &n) || n < LINK_MISSED + 8)
		return false;
	*sum += info[LINK_MISSED / 8];
	return true;
}

/* known_missed: every link told its count. */
void follow_kernel_losses(struct follow_kernel *k, struct follow_losses *out)
{
	*out = (struct follow_losses){ .known_missed = k->links.n > 0 };
	if (!k->object)
		return;
	out->full = sum_of(k, FOLLOW_FULL);
	out->deep = sum_of(k, FOLLOW_DEEP);
	out->crowded = sum_of(k, FOLLOW_CROWDED);
	out->recursed = recursions(k->entry) + recursions(k->leave);
	for (size_t i = 0; i < k->links.n; i++)
		out->known_missed &= missed_by(k->links.at[i], &out->missed);
}
