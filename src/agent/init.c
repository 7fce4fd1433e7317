/* Comes in by LD_PRELOAD, runs before every other constructor (-z initfirst), while the process
 * has one thread: asks the tracer over its socket, maps what it is given, writes the patches.
 * Anything that does not work ends with the program untraced. */
#include <linux/mman.h>
#include <asm/unistd.h>
#include <linux/socket.h>
#include <linux/un.h>

#include "agent/agent.h"
#include "agent/sys.h"

#define AF_UNIX 1
#define SOCK_SEQPACKET 5
#define SOCK_CLOEXEC 02000000
#define SOL_SOCKET 1
#define SO_PEERCRED 17
#define SCM_RIGHTS 1
#define MSG_CMSG_CLOEXEC 0x40000000
#define MSG_NOSIGNAL 0x4000
#define MAX_REGIONS 1024
#define GATE_BYTES 4096
#define N_FDS 3
#define ASK_MAX 3

struct agent agent;
uint32_t agent_gate[1024] __attribute__((aligned(4096)));
static uint32_t *gates[MAX_REGIONS];

extern uint8_t agent_slow_record[], agent_slow_record2[], agent_slow_entry[], agent_slow_site[],
	agent_slow_state_entry[];
extern uint8_t *agent_arena_at;

/* --- the compiler may ask for these ---------------------------------------------------- */
void *memset(void *to, int byte, size_t n)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
	return to;
}

/* --- the socket ------------------------------------------------------------------------ */

struct iov { void *at; size_t bytes; };
struct msg {
	void *name;
	uint32_t name_len;
	struct iov *iov;
	size_t n_iov;
	void *control;
	size_t control_len;
	uint32_t flags;
};
struct control { size_t len; int level, type; int fds[N_FDS]; };

static const char *value_of(char **envp, const char *name)
{
	for (; envp && *envp; envp++) {
		const char *e = *envp, *n = name;

		while (*n && *e == *n)
			e++, n++;
		if (!*n && *e == '=')
			return e + 1;
	}
	return 0;
}

/* After the tracer's end somebody else could take its address: what comes from there is code to us. */
static bool is_trusted(int fd)
{
	struct { int32_t pid; uint32_t uid, gid; } who = { 0, ~0u, ~0u };
	uint32_t n = sizeof(who);

	return sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
	       (who.uid == 0 || who.uid == (uint32_t)sys0(__NR_geteuid));
}

/* The address as the tracer writes it: `@` stands for the NUL of an abstract one. */
static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	long fd;
	size_t n = 0;

	for (; path[n]; n++) {
		if (n + 1 >= sizeof(to.sun_path))
			return -1;
		to.sun_path[n] = path[n];
	}
	if (path[0] == '@')
		to.sun_path[0] = 0;
	fd = sys3(__NR_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (sys3(__NR_connect, fd, &to, sizeof(to.sun_family) + n) < 0 || !is_trusted((int)fd)) {
		sys1(__NR_close, fd);
		return -1;
	}
	return (int)fd;
}

static bool say_hello(int fd, enum protocol_request request)
{
	struct protocol_hello h = {
		.request = request,
		.version = PROTOCOL_VERSION,
		.image = request == PROTOCOL_DLOPEN ? agent.image_id : MEMORY_NONE,
		.tls = agent.tls_offset,
		.rseq_cpu = agent.rseq_cpu,
		.table = (uint64_t)agent_table,
		.arena = (uint64_t)agent.arena,
		.slow_record = (uint64_t)agent_slow_record,
		.slow_record2 = (uint64_t)agent_slow_record2,
		.slow_entry = (uint64_t)agent_slow_entry,
		.slow_site = (uint64_t)agent_slow_site,
		.state_entry = (uint64_t)agent_slow_state_entry,
	};

	return sys6(__NR_sendto, fd, (long)&h, sizeof(h), MSG_NOSIGNAL, 0, 0) == sizeof(h);
}

static bool hear_welcome(int fd, struct protocol_welcome *w, int fds[N_FDS])
{
	struct control c = { 0 };
	struct iov iov = { w, sizeof(*w) };
	struct msg m = { .iov = &iov, .n_iov = 1, .control = &c, .control_len = sizeof(c) };
	long n;

	do {
		n = sys3(__NR_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	} while (n == -4 /* EINTR */);
	if (n != sizeof(*w) || !w->trace || c.type != SCM_RIGHTS || c.len != 16 + sizeof(c.fds))
		return false;
	for (int i = 0; i < N_FDS; i++)
		fds[i] = c.fds[i];
	return true;
}

/* --- what it gives us ------------------------------------------------------------------ */

static void *map_shared(int fd, uint64_t size)
{
	long at = sys6(__NR_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at < 0 && at > -4096 ? 0 : (void *)at;
}

/* A page that a fork zeroes in the child, holding the hash's multiplier. */
static bool arm_gate(uint32_t *gate)
{
	if (sys3(__NR_madvise, gate, GATE_BYTES, MADV_WIPEONFORK) < 0)
		return false;
	*gate = SITE_HASH_MULTIPLIER;
	gates[agent.n_gates++] = gate;
	return true;
}

static bool map_region(struct patch_region *r, int code_fd)
{
	long at;

	if (agent.n_gates >= MAX_REGIONS)
		return false;
	at = sys6(__NR_mmap, (long)r->gate, GATE_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at != (long)r->gate)
		return false;
	at = sys6(__NR_mmap, (long)r->address, (long)r->bytes, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_FIXED_NOREPLACE, code_fd, (long)r->offset);
	if (at != (long)r->address || !arm_gate((uint32_t *)r->gate)) {
		sys2(__NR_munmap, r->gate, GATE_BYTES);
		return false;
	}
	return true;
}

static bool same(const uint8_t *a, const uint8_t *b, unsigned n)
{
	while (n--)
		if (a[n] != b[n])
			return false;
	return true;
}

static bool apply(struct patch *p)
{
	uint8_t *at = (uint8_t *)p->address;

	if (!same(at, p->expected, p->length)) {
		p->status = PATCH_CHANGED;
		return false;
	}
	for (unsigned i = 0; i < p->length; i++)
		at[i] = p->bytes[i];
	p->status = PATCH_APPLIED;
	return true;
}

static void protect_all(const struct patch_text *texts, uint32_t n, int prot)
{
	for (uint32_t i = 0; i < n; i++)
		sys3(__NR_mprotect, texts[i].address, texts[i].bytes, prot);
}

/* First of all, before the kernel gives their places to mappings of our own. */
static bool map_regions(const struct protocol_welcome *w, int code_fd)
{
	bool all = true;

	for (uint32_t i = 0; i < w->n_regions; i++) {
		struct patch_region r;
		int64_t at = (int64_t)(w->regions_at + i * sizeof(r));

		if (sys4(__NR_pread64, code_fd, &r, sizeof(r), at) != sizeof(r))
			return false;
		r.mapped = map_region(&r, code_fd);
		all &= r.mapped;
		sys4(__NR_pwrite64, code_fd, &r, sizeof(r), at);
	}
	return all;
}

/* The texts are writable and not executable meanwhile: nothing but the agent runs. If one of
 * them may not be changed (a security module), none is. */
static uint32_t apply_all(uint8_t *code, const struct protocol_welcome *w)
{
	struct patch_region *regions = (struct patch_region *)(code + w->regions_at);
	struct patch *patches = (struct patch *)(code + w->patches_at);
	struct patch_text *texts = (struct patch_text *)(code + w->texts_at);
	uint32_t applied = 0;

	for (uint32_t i = 0; i < w->n_texts; i++)
		if (sys3(__NR_mprotect, texts[i].address, texts[i].bytes, PROT_READ | PROT_WRITE) < 0) {
			protect_all(texts, i, PROT_READ | PROT_EXEC);
			return 0;
		}
	for (uint32_t i = 0; i < w->n_patches; i++)
		if (patches[i].region < w->n_regions && regions[patches[i].region].mapped)
			applied += apply(&patches[i]);
	protect_all(texts, w->n_texts, PROT_READ | PROT_EXEC);
	return applied;
}

static bool map_memories(const struct protocol_welcome *w, const int fds[N_FDS])
{
	struct memory_header *m = map_shared(fds[0], w->memory_size);

	agent.image = map_shared(fds[1], w->image_size);
	if (!m || !agent.image)
		return false;
	agent.threads = (struct memory_thread *)((uint8_t *)m + m->threads_at);
	agent.descs = (struct memory_desc *)((uint8_t *)m + m->descs_at);
	agent.buffers = (uint8_t *)m + m->buffers_at;
	agent.image_id = w->image;
	agent.gates = gates;
	agent.memory = m;
	return arm_gate(agent_gate);
}

/* True if it is worth asking again: somebody else took the place of a region meanwhile. */
static bool talk(int fd, enum protocol_request request)
{
	struct protocol_welcome w;
	struct protocol_done done = { PROTOCOL_DONE, 0 };
	int fds[N_FDS];
	bool mapped;
	uint8_t *code;

	if (!say_hello(fd, request) || !hear_welcome(fd, &w, fds))
		return false;
	agent.watch = w.watch;
	mapped = map_regions(&w, fds[2]);
	code = map_shared(fds[2], w.code_size);
	if (code && (agent.memory || map_memories(&w, fds)))
		done.applied = apply_all(code, &w);
	if (code)
		sys2(__NR_munmap, code, w.code_size);
	for (int i = 0; i < N_FDS; i++)
		sys1(__NR_close, fds[i]);
	sys6(__NR_sendto, fd, (long)&done, sizeof(done), MSG_NOSIGNAL, 0, 0);
	return !mapped && agent.memory;
}

void session_ask(enum protocol_request request)
{
	bool again = true;

	for (int i = 0; i < ASK_MAX && again; i++) {
		int fd = connect_to(agent.socket);

		if (fd < 0)
			return;
		again = talk(fd, i ? PROTOCOL_DLOPEN : request);
		sys1(__NR_close, fd);
	}
}

static bool keep_path(const char *path)
{
	for (unsigned n = 0; n < sizeof(agent.socket); n++)
		if (!(agent.socket[n] = path[n]))
			return true;
	return false;
}

__attribute__((constructor, used)) static void agent_init(int argc, char **argv, char **envp)
{
	const char *path = value_of(envp, "BRACE_AGENT");
	uint64_t signals;

	(void)argc;
	(void)argv;
	if (!path || !keep_path(path))
		return;
	signals = signals_block();
	agent.arena = (uint8_t *)(((uint64_t)agent_arena + SITE_BLOCK_BYTES - 1) & ~(uint64_t)(SITE_BLOCK_BYTES - 1));
	agent_arena_at = agent.arena;
	agent.tls_offset = (int64_t)agent_tls_block() - (int64_t)__builtin_thread_pointer();
	agent.rseq_cpu = rseq_cpu_offset(envp);
	session_ask(PROTOCOL_HELLO);
	if (agent.memory && agent.watch)
		dlopen_watch(envp);
	if (agent.memory)
		exec_hide(envp);
	signals_restore(signals);
}
