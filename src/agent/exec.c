/* The program sees the environment it would have without us: LD_PRELOAD and BRACE_AGENT are taken out
 * when it starts, and put back by libc's execve, whose entry leads here, so that what it execs is
 * traced too. May run in a vfork's child: nothing but the stack is written. */
#include <asm/unistd.h>
#include <elf.h>
#include <link.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/sys.h"

#define PAGE UINT64_C(4096)

static const char preload_name[] = "LD_PRELOAD=", agent_name[] = "BRACE_AGENT=";
static char preload[4096];      /* the agent's own path, first of LD_PRELOAD's */
uint64_t agent_execve_rest;     /* execve, behind the bytes that were overwritten */

extern uint8_t agent_execve[];

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static bool begins(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

/* Length of the first path in LD_PRELOAD's value: ours, by how the tracer starts programs. */
static size_t first_path(const char *value)
{
	size_t n = 0;

	while (value[n] && value[n] != ':' && value[n] != ' ')
		n++;
	return n;
}

static bool keep_preload(const char *value, size_t n)
{
	if (n + 1 > sizeof(preload))
		return false;
	for (size_t i = 0; i < n; i++)
		preload[i] = value[i];
	return true;
}

/* Takes the variables out of the array the program is given. */
static void hide(char **envp)
{
	char **to = envp;

	for (char **from = envp; *from; from++) {
		if (begins(*from, agent_name))
			continue;
		if (begins(*from, preload_name)) {
			char *value = *from + sizeof(preload_name) - 1;
			size_t n = first_path(value);

			if (!value[n])
				continue;
			/* Others are preloaded too: theirs moves up to the name. */
			for (char *at = value, *rest = value + n + 1; (*at++ = *rest++);)
				;
		}
		*to++ = *from;
	}
	*to = 0;
}

/* `mov $59, %eax` is five bytes, and all that a jump needs. */
static bool patch_execve(uint8_t *at)
{
	uint64_t page = (uint64_t)at & ~(PAGE - 1);
	int64_t distance = agent_execve - (at + 5);

	if (at[0] != 0xb8 || *(uint32_t *)(at + 1) != __NR_execve || distance != (int32_t)distance)
		return false;
	if (sys3(__NR_mprotect, page, 2 * PAGE, PROT_READ | PROT_WRITE) < 0)
		return false;
	*(int32_t *)(at + 1) = (int32_t)distance;
	*at = 0xe9;
	sys3(__NR_mprotect, page, 2 * PAGE, PROT_READ | PROT_EXEC);
	agent_execve_rest = (uint64_t)at + 5;
	return true;
}

static bool ends(const char *s, const char *with)
{
	size_t n = length(s), m = length(with);

	return n >= m && begins(s + n - m, with);
}

static uint8_t *find_execve(char **envp)
{
	const struct r_debug *debug = ldso_symbol(envp, "_r_debug");

	for (const struct link_map *l = debug ? debug->r_map : 0; l; l = l->l_next)
		if (l->l_name && ends(l->l_name, "/libc.so.6"))
			return (uint8_t *)ldso_find(l->l_addr, l->l_ld, "execve");
	return 0;
}

void exec_hide(char **envp)
{
	const char *value = 0;
	uint8_t *at;

	for (char **e = envp; *e; e++)
		if (begins(*e, preload_name))
			value = *e + sizeof(preload_name) - 1;
	if (!value || !keep_preload(value, first_path(value)))
		return;
	at = find_execve(envp);
	if (at && patch_execve(at))
		hide(envp);
}

/* Where the agent cannot come in, ld.so would complain: a 32-bit program, or a changed root from
 * which the agent's file is not seen. */
bool agent_env_wanted(const char *path)
{
	unsigned char head[EI_CLASS + 1] = { 0 };
	long fd;

	if (sys2(__NR_access, preload, 4 /* R_OK */) < 0)
		return false;
	fd = sys3(__NR_open, path, 02000000 /* O_CLOEXEC */, 0);
	if (fd < 0)
		return true;
	sys3(__NR_read, fd, head, sizeof(head));
	sys1(__NR_close, fd);
	return head[0] != ELFMAG0 || head[1] != ELFMAG1 || head[2] != ELFMAG2 || head[3] != ELFMAG3 ||
	       head[EI_CLASS] != ELFCLASS32;
}

/* --- on the way out: called with a stack area of agent_env_bytes ----------------------------- */

static const char *preload_of(char *const *envp)
{
	for (; *envp; envp++)
		if (begins(*envp, preload_name))
			return *envp + sizeof(preload_name) - 1;
	return 0;
}

uint64_t agent_env_bytes(char *const *envp)
{
	uint64_t n = 0;
	const char *theirs;

	if (!envp)
		return 0;
	while (envp[n])
		n++;
	theirs = preload_of(envp);
	return ((n + 3) * sizeof(char *) + sizeof(preload_name) + length(preload) + 1 +
		(theirs ? length(theirs) : 0) + sizeof(agent_name) + length(agent.socket) + 16) & ~15ull;
}

static char *append(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	return to;
}

/* The environment as it would be without us, and ours: in `area`, which must outlive the exec. */
char **agent_env_fill(char *const *envp, char *area)
{
	const char *theirs = preload_of(envp);
	char **out = (char **)area, *text;
	uint64_t n = 0, k = 0;

	while (envp[n])
		n++;
	text = area + (n + 3) * sizeof(char *);
	for (uint64_t i = 0; i < n; i++)
		if (!begins(envp[i], preload_name) && !begins(envp[i], agent_name))
			out[k++] = envp[i];
	out[k++] = text;
	text = append(append(text, preload_name), preload);
	if (theirs && *theirs) {
		*text++ = ':';
		text = append(text, theirs);
	}
	*text++ = 0;
	out[k++] = text;
	text = append(append(text, agent_name), agent.socket);
	*text = 0;
	out[k] = 0;
	return out;
}
