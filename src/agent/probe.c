/* SPDX-License-Identifier: MIT */
/* A probe's event: its program gathers the fields, and a record is written. agent_probe (probe.S)
 * calls this in the midst of the program's work, on any thread: nothing here takes a lock, blocks
 * or faults, wherever the program's registers lead. A record that a filter rejects, or whose
 * program is malformed, is left out. */
#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/constants.h"
#include "agent/copy.h"
#include "agent/syscalls.h"
#include "agent/delivery.h"
#include "agent/event.h"
#include "agent/kept.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/scope.h"
#include "agent/site.h"
#include "agent/sys.h"
#include "agent/unblocked.h"
#include "arch/page.h"
#include "shared/probe.h"
#include "arch/probe_regs.h"
#include "shared/stack.h"


void agent_probe_hit(const struct probe_regs *regs, const struct probe_site *site);

/* A child that has not noticed its fork has its parent's account, so it asks the kernel. */
static long own_pid(void)
{
	const struct own_thread *own = agent_own_thread(agent_tls_block());

	if (own && agent_fork_guard[0])
		return own->pid;
	return sys0(__NR_getpid);
}

/* The kernel copies what is there. Two ranges, cut at a page's end, because it copies a range as a
 * whole or not at all. */
uint32_t probe_read_kernel(uint64_t address, void *to, uint32_t n)
{
	uint64_t first = ARCH_PAGE - address % ARCH_PAGE < n ? ARCH_PAGE - address % ARCH_PAGE : n;
	const struct copy_range into = { to, n },
				 from[2] = { { (void *)address, first },
					     { (void *)(address + first), n - first } };
	long got;

	if (!unblocked_begin(NEED_COPY))
		return 0;
	got = sys6(__NR_process_vm_readv, own_pid(), (long)&into, 1, (long)from, first < n ? 2 : 1,
		   0);
	unblocked_end();
	return got > 0 ? (uint32_t)got : 0;
}

/* Looks at copies of constants: a range has two pages at most that are missing. */
#define CONSTANT_TRIES 3u

/* Makes a copy of a page of the range, if one is missing. False: none was made. The process's id is
 * looked up first, while little is on the stack. */
static __attribute__((noinline)) bool fill_constants(uint64_t address, uint32_t n)
{
	uint64_t page = constants_missing(address, n);
	bool filled;

	if (!page || !unblocked_begin(NEED_COPY))
		return false;
	filled = constants_fill(page, own_pid());
	unblocked_end();
	return filled;
}

uint32_t probe_read_anywhere(uint64_t address, void *to, uint32_t n)
{
	for (unsigned i = 0; n && i < CONSTANT_TRIES; i++) {
		if (constants_read(address, to, n))
			return n;
		if (!fill_constants(address, n))
			break;
	}
	return probe_read_kernel(address, to, n);
}

/* Returns the bytes of a string that is constant; 0: it is none. */
static uint32_t read_constant(const struct fetch_range *p)
{
	uint32_t got = 0;

	for (unsigned i = 0; p->n && !got && i < CONSTANT_TRIES; i++) {
		got = constants_string(p->address, p->to, p->n);
		if (!got && !fill_constants(p->address, p->n))
			break;
	}
	return got;
}

/* Writes the range down, cut in two at a page's end. Returns into how many. */
static unsigned cut_range(struct copy_range *to, const struct fetch_range *p)
{
	uint64_t first = ARCH_PAGE - p->address % ARCH_PAGE;

	if (first >= p->n) {
		to[0] = (struct copy_range){ (void *)p->address, p->n };
		return 1;
	}
	to[0] = (struct copy_range){ (void *)p->address, first };
	to[1] = (struct copy_range){ (void *)(p->address + first), p->n - first };
	return 2;
}

/* Reads ranges until one cannot be read whole. pid: this process; 0: it may not copy. Returns the
 * number of those that are done, that one with them. Out of line: the lists are not on the stack
 * while the process's id is looked up. */
static __attribute__((noinline)) unsigned read_some(struct fetch_range *ranges, unsigned n,
						     long pid)
{
	struct copy_range into[FETCH_RANGES_MAX], from[2 * FETCH_RANGES_MAX];
	unsigned cut = 0, done = 0;
	long got = 0;

	for (unsigned i = 0; i < n; i++) {
		into[i] = (struct copy_range){ ranges[i].to, ranges[i].n };
		cut += cut_range(from + cut, &ranges[i]);
	}
	if (pid)
		got = sys6(__NR_process_vm_readv, pid, (long)into, n, (long)from, cut, 0);
	for (got = got > 0 ? got : 0; done < n && got >= (long)ranges[done].n; done++) {
		ranges[done].got = ranges[done].n;
		got -= (long)ranges[done].n;
	}
	if (done < n)
		ranges[done++].got = (uint32_t)got;
	return done;
}

/* Reads a string without the kernel, if it lies in the page of `known`, or is a constant. Returns
 * its bytes; 0: the kernel has to. */
static uint32_t read_here(const struct fetch_range *p, uint64_t known)
{
	uint64_t left = ARCH_PAGE - p->address % ARCH_PAGE;
	uint32_t got;

	if (p->address / ARCH_PAGE != known / ARCH_PAGE)
		return read_constant(p);
	/* Where the page ends before the string does, the rest may be in another one. */
	return copy_string(p->to, (const uint8_t *)p->address,
			   left < p->n ? (uint32_t)left : p->n, &got) || got == p->n ? got : 0;
}

/* Reads, by the kernel, the first of the strings and those that follow it and are not read either.
 * Returns how many are done. */
static unsigned read_unread(struct fetch_range *ranges, unsigned n)
{
	unsigned done, end = 1;
	bool may;

	while (end < n && !ranges[end].got)
		end++;
	if (end == 1) { /* without the lists */
		ranges->got = probe_read_kernel(ranges->address, ranges->to, ranges->n);
		return 1;
	}
	may = unblocked_begin(NEED_COPY);
	done = read_some(ranges, end, may ? own_pid() : 0);
	if (may)
		unblocked_end();
	return done;
}

void probe_read_strings(struct fetch_range *ranges, unsigned n, uint64_t known)
{
	for (unsigned i = 0; i < n; i++)
		ranges[i].got = read_here(&ranges[i], known);
	for (unsigned i = 0; i < n;)
		i += ranges[i].got ? 1 : read_unread(ranges + i, n - i);
}

/* Memory in the page where the registers were pushed is there for certain; the rest is read by the
 * kernel. */
static uint32_t read_memory(void *context, uint64_t address, void *to, uint32_t n)
{
	const struct probe_regs *regs = context;
	uint64_t page = (regs->at[PROBE_SP] - PROBE_PUSHED) & ~(ARCH_PAGE - 1);

	if (address - page >= ARCH_PAGE || address - page > ARCH_PAGE - n)
		return probe_read_anywhere(address, to, n);
	copy_bytes(to, (const uint8_t *)address, n);
	return n;
}

static void read_ranges(void *context, struct fetch_range *ranges, unsigned n)
{
	const struct probe_regs *regs = context;

	probe_read_strings(ranges, n, regs->at[PROBE_SP] - PROBE_PUSHED);
}

static void read_comm(void *context, char *to)
{
	*to = 0;
	if (!unblocked_begin(NEED_THREADS))
		return;
	sys2(__NR_prctl, PR_GET_NAME, to);
	unblocked_end();
}

/* A function that is traced, too, returns by way of a stub. */
static uint64_t read_caller(void *context)
{
	const struct probe_regs *regs = context;
	uint64_t ret = 0;

	read_memory(context, regs->at[PROBE_SP], &ret, sizeof(ret));
	return site_is_in_arena(ret) ? site_return(ret) : ret;
}

void probe_stack(const struct probe_regs *regs, uint64_t ip, uint32_t event)
{
	const uint64_t *r = regs->at;
	const struct stack_regs s = { ip, r[PROBE_SP], r[PROBE_FP], PROBE_KEPT(r) };

	stack_copy_write(event, &s, s.sp - PROBE_PUSHED, false);
}

static bool passes_filter(const struct probe_site *site, uint64_t *record, uint32_t n)
{
	const struct filter_program *f =
		(const struct filter_program *)((const uint8_t *)site + site->filter);

	return !site->filter || event_passes(f, site->filter_bytes, site->event, record, n);
}

/* Runs any program. Out of line: the context takes as long to make as registers to store. */
static __attribute__((noinline)) uint32_t fetch_with_context(const struct probe_regs *regs,
							     const struct probe_site *site,
							     const uint64_t *entry,
							     uint64_t words[FETCH_RECORD_MAX / 8])
{
	const struct fetch_context c = { regs->at,    NULL,	 site->ip,     site->base,
					 read_memory, read_comm, (void *)regs, read_caller, entry,
					 read_ranges };

	return fetch_run(&site->program, site->program_bytes, &c, (uint8_t *)words,
			 FETCH_RECORD_MAX);
}

/* Runs the site's program. Returns the record's bytes. */
static inline uint32_t fetch_words(const struct probe_regs *regs, const struct probe_site *site,
				   const uint64_t *entry, uint64_t words[FETCH_RECORD_MAX / 8])
{
	uint32_t n = fetch_registers(&site->program, site->program_bytes, regs->at,
				     site->ip, (uint8_t *)words);

	return n ? n : fetch_with_context(regs, site, entry, words);
}

/* At a function's entry: keeps what its return will want. */
static void hit_entry(const struct probe_regs *regs, const struct probe_site *site)
{
	uint64_t words[FETCH_RECORD_MAX / 8];
	uint32_t n = fetch_words(regs, site, NULL, words) / 8;

	if (n)
		kept_store(regs->at[PROBE_SP], kept_tag(site), words + 1, n - 1);
}

static const char no_name[MESSAGE_NAME];

/* Whether the words of the call's entry are there; else the return is counted as missed. */
static bool take_entry(const struct probe_regs *regs, const struct probe_site *site,
		       uint64_t words[FETCH_ENTRY_WORDS])
{
	if (kept_take(regs->at[PROBE_SP], kept_tag(site), words))
		return true;
	message_write(MESSAGE_UNKEPT, site->event, no_name);
	return false;
}

static void hit_probe(const struct probe_regs *regs, const struct probe_site *site)
{
	uint64_t words[FETCH_RECORD_MAX / 8], entry[FETCH_ENTRY_WORDS];
	uint32_t n;

	/* take_entry() comes first: it frees the words of the call's entry, recorded or not. */
	if ((site->kept && !take_entry(regs, site, entry)) ||
	    !scope_is_open(site->scopes, regs->at[PROBE_SP]))
		return;
	n = fetch_words(regs, site, site->kept ? entry : NULL, words);

	/* The padding up to a word must not show the stack. */
	for (uint32_t i = n; i % 8; i++)
		((volatile uint8_t *)words)[i] = 0;
	if (!n || !passes_filter(site, words, n))
		return;
	n = (n + 7) / 8;
	if (site->stacked)
		probe_stack(regs, site->ip, site->event);
	words[0] =
		record_word(agent_tsc(), record_event_id(n - 1, RECORD_EVENT_TRACE + site->event),
			    RECORD_EVENT);
	buffer_write_event(agent_tls_block(), words, n);
}

void agent_probe_hit(const struct probe_regs *regs, const struct probe_site *site)
{
	for (unsigned i = 0; i < PROBE_CHAIN_MAX && agent.memory; i++) {
		if (site->kind == PROBE_CALL)
			syscall_hit(regs, site);
		else if (site->kind == PROBE_SIGNAL)
			delivery_hit(regs, site);
		else if (site->kind == PROBE_ENTRY)
			hit_entry(regs, site);
		else
			hit_probe(regs, site);
		if (!site->next)
			break;
		site = (const struct probe_site *)((const uint8_t *)site + site->next);
	}
}
