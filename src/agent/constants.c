/* SPDX-License-Identifier: MIT */
/* String literals are the commonest strings that functions are called with, and the kernel takes
 * 850 ns for each copy. So pages of files that are mapped without write permission are copied
 * whole, by the kernel, into memory of the agent's, and strings are taken from there. The program's
 * own page is never loaded: it may go at any time, by another thread's munmap or because the file
 * is cut short, and only the copy is certain to be there.
 *
 * Called on any thread, in any of the agent's functions that read memory, with signals as they are;
 * no lock. A handler, or a fork, may come between any two instructions here.
 *
 * A copy may show old bytes for three reasons, and each has its bound:
 * - The module is closed, and something else is mapped in its place. ld.so says so before it unmaps
 *   (dlopen.c): the mappings that do not last are forgotten, and `epoch` makes all copies void. In
 *   a process in which nobody tells, only mappings that last count.
 * - The program makes the page writable and writes to it, or maps other memory over it; or the
 *   file's own bytes change. A copy is thrown away when it is older than CONSTANTS_FRESH.
 * - A copy was begun before the epoch changed. It carries the epoch from before, and is void. While
 *   the ranges are rewritten the epoch is odd, and no copy is begun or used.
 *
 * A slot belongs to one page of those that share it, until its copy is old. While it is being
 * filled its word is odd. A reader looks at the word before it copies and after it; a page's
 * version is in it. A filler that never comes back, because a handler jumped out of it, or because
 * the process forked on another thread, leaves the slot unused: the kernel reads its pages. */
#include "agent/constants.h"

#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/copy.h"
#include "agent/sys.h"
#include "arch/page.h"

#define SLOTS 256u /* a power of two; 1 MiB of memory if all are used */
#define RANGES 1024u
#define BUSY UINT64_C(1)
#define VERSION UINT64_C(2)
#define PAGE_SHIFT 24 /* of a slot's word: above it the page's number, below it the version */

struct constant_copy {
	uint64_t word;
	uint64_t until; /* stamp at which the copy is old */
	uint64_t epoch; /* as it was before the copy was begun */
};

static struct constant_copy slots[SLOTS];
static uint8_t copies[SLOTS][ARCH_PAGE] __attribute__((aligned(ARCH_PAGE)));
static struct { uint64_t start, end; } ranges[RANGES];
static uint32_t n_ranges, n_lasting;
static uint64_t epoch; /* odd while the ranges are rewritten */
static bool watched;

/* Whether one of these ranges, in order of address, has it. */
static bool ranges_have(uint32_t low, uint32_t high, uint64_t address)
{
	uint32_t first = low;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (__atomic_load_n(&ranges[middle].start, __ATOMIC_RELAXED) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first && address < __atomic_load_n(&ranges[low - 1].end, __ATOMIC_RELAXED);
}

/* True if the page lies in a mapping that counts. Ranges may be rewritten meanwhile, and a search
 * meet the end of one mapping and the begin of another: the answer is worth something only if
 * `epoch` is even, and unchanged since before the question. */
static bool is_constant(uint64_t page)
{
	/* Pairs with nothing: whatever the counts are, they are at most RANGES. */
	const uint32_t last = __atomic_load_n(&n_lasting, __ATOMIC_RELAXED),
		       all = __atomic_load_n(&n_ranges, __ATOMIC_RELAXED);

	return ranges_have(0, last, page * ARCH_PAGE) ||
	       (watched && ranges_have(last, all, page * ARCH_PAGE));
}

/* is_constant(), of ranges that belong together. now: the epoch from before. */
static bool is_constant_at(uint64_t page, uint64_t now)
{
	if (now & 1 || !is_constant(page))
		return false;
	/* The search's loads come before the second look at the epoch. Pairs with begin_change().
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&epoch, __ATOMIC_RELAXED) == now;
}

static bool is_fresh(const struct constant_copy *s)
{
	/* Pairs with change_epoch(): the thread that closes a module, and those that know of it,
	 * find no copy from before. */
	return __atomic_load_n(&s->epoch, __ATOMIC_RELAXED) ==
		       __atomic_load_n(&epoch, __ATOMIC_ACQUIRE) &&
	       stamp_read() < __atomic_load_n(&s->until, __ATOMIC_RELAXED);
}

/* True if the slot has a copy of the page that may be used. *word is for is_unchanged(). */
static bool is_copy_of(const struct constant_copy *s, uint64_t page, uint64_t *word)
{
	/* Pairs with the release in constants_fill(). */
	*word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
	return *word >> PAGE_SHIFT == page && !(*word & BUSY) && is_fresh(s);
}

/* Whether what was copied since is_copy_of() was one page's. */
static bool is_unchanged(const struct constant_copy *s, uint64_t word)
{
	/* The copying loads come before the second look at the word. Pairs with the exchange in
	 * constants_fill(). */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->word, __ATOMIC_RELAXED) == word;
}

/* A range within one page; n >= 1. *ends: a string ended in it. Returns the bytes, 0: none. */
static uint32_t read_piece(uint64_t address, uint8_t *to, uint32_t n, bool *ends)
{
	const uint64_t page = address / ARCH_PAGE;
	const struct constant_copy *s = &slots[page % SLOTS];
	const uint8_t *from = copies[page % SLOTS] + address % ARCH_PAGE;
	uint64_t word;
	uint32_t got = n;

	if (!is_copy_of(s, page, &word))
		return 0;
	if (ends)
		*ends = copy_string(to, from, n, &got);
	else
		copy_bytes(to, from, n);
	return is_unchanged(s, word) ? got : 0;
}

/* Bytes from the address on that lie in its page, at most n. */
static uint32_t within_page(uint64_t address, uint32_t n)
{
	uint64_t left = ARCH_PAGE - address % ARCH_PAGE;

	return left < n ? (uint32_t)left : n;
}

bool constants_read(uint64_t address, uint8_t *to, uint32_t n)
{
	for (uint32_t piece; n; n -= piece, address += piece, to += piece) {
		piece = within_page(address, n);
		if (!read_piece(address, to, piece, NULL))
			return false;
	}
	return true;
}

uint32_t constants_string(uint64_t address, uint8_t *to, uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		uint32_t piece = within_page(address + done, n - done);
		bool ends = false;
		uint32_t got = read_piece(address + done, to + done, piece, &ends);

		if (!got)
			return 0;
		done += got;
		if (ends)
			break;
	}
	return done;
}

uint64_t constants_missing(uint64_t address, uint32_t n)
{
	uint64_t page = address / ARCH_PAGE, last = (address + n - 1) / ARCH_PAGE, word;

	for (; address < ARCH_ADDRESS_END && page <= last && is_constant(page); page++)
		if (!is_copy_of(&slots[page % SLOTS], page, &word))
			return page * ARCH_PAGE;
	return 0;
}

bool constants_fill(uint64_t address, long pid)
{
	/* Read before the ranges are asked, and before the kernel is: pairs with change_epoch() and
	 * end_change(). A change that comes later makes this copy void. */
	const uint64_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE), page = address / ARCH_PAGE;
	struct constant_copy *s = &slots[page % SLOTS];
	struct copy_range into = { copies[page % SLOTS], ARCH_PAGE },
			  from = { (void *)address, ARCH_PAGE };
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_RELAXED), until;
	bool filled;

	if (word & BUSY || !is_constant_at(page, now) ||
	    (word >> PAGE_SHIFT != page && is_fresh(s)))
		return false;
	/* Pairs with the release below. The kernel writes after this; readers who are at it see the
	 * word changed. */
	if (!__atomic_compare_exchange_n(&s->word, &word, word | BUSY, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	until = stamp_read() + CONSTANTS_FRESH;
	filled = sys6(__NR_process_vm_readv, pid, (long)&into, 1, (long)&from, 1, 0) == ARCH_PAGE;
	__atomic_store_n(&s->until, filled ? until : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->epoch, now, __ATOMIC_RELAXED);
	word = (word + VERSION) & ((UINT64_C(1) << PAGE_SHIFT) - 1);
	/* Pairs with is_copy_of(): who sees the word sees the copy. */
	__atomic_store_n(&s->word, page << PAGE_SHIFT | word, __ATOMIC_RELEASE);
	return filled;
}

/* Makes all copies void, those that are begun already, too. */
static void change_epoch(void)
{
	/* Pairs with the acquires of `epoch`: who sees the new one sees the ranges as they are
	 * now. By two: it may come while another thread rewrites the ranges. */
	__atomic_fetch_add(&epoch, 2, __ATOMIC_RELEASE);
}

/* From here to end_change() no copy is used and none is begun. In a child of a fork that came in
 * between, that is so until it learns its mappings. */
static void begin_change(void)
{
	/* Pairs with the acquires of `epoch`, as change_epoch(). */
	__atomic_fetch_or(&epoch, 1, __ATOMIC_RELEASE);
	/* The odd epoch is seen before any new range. Pairs with is_constant_at(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(void)
{
	/* Pairs with the acquires of `epoch`, as change_epoch(). */
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE);
}

static uint32_t learn_ranges(const struct patch_text *at, uint32_t n, uint32_t to)
{
	for (uint32_t i = 0; i < n && to < RANGES; i++, to++) {
		/* Relaxed, as the counts are: end_change() follows. */
		__atomic_store_n(&ranges[to].start, at[i].address, __ATOMIC_RELAXED);
		__atomic_store_n(&ranges[to].end, at[i].address + at[i].bytes, __ATOMIC_RELAXED);
	}
	return to;
}

void constants_learn(const struct patch_text *lasting, uint32_t n_known,
		     const struct patch_text *others, uint32_t n_others)
{
	uint32_t n;

	if (!n_known && !n_others)
		return;
	begin_change();
	n = learn_ranges(lasting, n_known, 0);
	__atomic_store_n(&n_lasting, n, __ATOMIC_RELAXED);
	n = learn_ranges(others, n_others, n);
	__atomic_store_n(&n_ranges, n, __ATOMIC_RELAXED);
	end_change();
}

void constants_watch(void)
{
	watched = true;
}

void constants_closing(void)
{
	__atomic_store_n(&n_ranges, n_lasting, __ATOMIC_RELAXED);
	change_epoch();
}
