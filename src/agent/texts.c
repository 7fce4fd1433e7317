/* SPDX-License-Identifier: MIT */
/* The code of files in this process, as far as it is known: mappings when the process was planned,
 * as the tracer told them, and from /proc/self/maps the mappings that unknown callers led to since.
 * Any thread asks, in a slow path. Ranges are only added, or emptied by one store, so readers need
 * no lock. One thread at a time adds, and nobody waits for it, since it may be stopped. Most
 * questions come from a translator's code, which asks at every call: they are answered by page. An
 * unknown address is answered "no". */
#include "agent/texts.h"

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/own_maps.h"
#include "agent/signals.h"
#include "arch/page.h"

#define PAGES 4096u     /* pages whose answers are remembered */
#define TEXTS_MAX 4096u
#define OTHERS_MAX 256u
/* Looks that cost nothing, and the part (1/PART) of the time that all further ones may take: a
 * translator may map its code by the page. */
#define FREE_LOOKS 512u
#define PART 50u

struct range { uint64_t start, end; };
struct ranges { uint32_t n, max; struct range *at; };

static struct range text_at[TEXTS_MAX], other_at[OTHERS_MAX];
static struct ranges texts = { .max = TEXTS_MAX, .at = text_at };
/* Executable mappings that are no file's. */
static struct ranges others = { .max = OTHERS_MAX, .at = other_at };
static uint64_t pages[PAGES]; /* page number << 1 | 1 if a file's; 0: nothing known */
static bool busy, doubtful;
static bool seen_again[TEXTS_MAX];
static uint64_t looks, next_look; /* number of looks; TSC before which there is no further one */

/* Makes this thread the one that adds. False: another one is at it, and is not waited for. */
static bool lock_ranges(void)
{
	/* Pairs with unlock_ranges(): the lists are as the last holder left them. */
	return !__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE);
}

static void unlock_ranges(void)
{
	/* Pairs with the acquire in lock_ranges(). */
	__atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

/* The holder may be a thread that is not in the child. */
void texts_after_fork(void)
{
	unlock_ranges();
}

static bool ranges_have(const struct ranges *r, uint64_t address)
{
	/* Pairs with add_range(): the range is there before the count. */
	uint32_t n = __atomic_load_n(&r->n, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (address - r->at[i].start < r->at[i].end - r->at[i].start)
			return true;
	return false;
}

static void add_range(struct ranges *r, uint64_t start, uint64_t end)
{
	if (end <= start || r->n >= r->max || (ranges_have(r, start) && ranges_have(r, end - 1)))
		return;
	r->at[r->n] = (struct range){ start, end };
	/* Pairs with ranges_have(). */
	__atomic_store_n(&r->n, r->n + 1, __ATOMIC_RELEASE);
}

void texts_learn(const struct patch_text *at, uint32_t n)
{
	if (!lock_ranges())
		return;
	for (uint32_t i = 0; i < n; i++)
		add_range(&texts, at[i].address, at[i].address + at[i].bytes);
	unlock_ranges();
}

/* Notes the known ranges that this mapping shows to be there still. */
static void see_mapping(const struct own_map *m)
{
	for (uint32_t i = 0; m->text && i < texts.n; i++)
		if (text_at[i].start < m->end && text_at[i].end > m->start)
			seen_again[i] = true;
}

/* Empties the ranges of files that are not mapped any more. */
static void forget_unseen(void)
{
	for (uint32_t i = 0; i < texts.n; i++)
		if (!seen_again[i])
			/* Pairs with nothing: ranges_have() reads the end plainly. A reader that
			 * sees the old end answers as it did before. */
			__atomic_store_n(&text_at[i].end, text_at[i].start, __ATOMIC_RELEASE);
}

static void forget_others(void)
{
	/* Pairs with ranges_have(), which sees the old count or none. */
	__atomic_store_n(&others.n, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < PAGES; i++)
		__atomic_store_n(&pages[i], 0, __ATOMIC_RELAXED);
}

/* Adds all mappings of files, and of the others the one that has the address. True if all of the
 * maps was read. */
static bool read_maps(uint64_t address)
{
	static struct own_maps maps;
	struct own_map m;

	if (!own_maps_open(&maps))
		return false;
	if (others.n == OTHERS_MAX)
		forget_others();
	memset(seen_again, 0, sizeof(seen_again));
	while (own_maps_next(&maps, &m)) {
		see_mapping(&m);
		if (m.text)
			add_range(&texts, m.start, m.end);
		else if (m.exec && address - m.start < m.end - m.start)
			add_range(&others, m.start, m.end);
	}
	own_maps_close(&maps);
	return !maps.failed;
}

/* Reads the maps again, if that is allowed and not too frequent. */
static void look_up_mapping(uint64_t address)
{
	uint64_t now = agent_tsc(), signals;
	bool doubted;

	if (agent_forbids(NEED_TEXTS | NEED_SIGNALS) ||
	    (looks >= FREE_LOOKS && now < next_look))
		return;
	signals = signals_block();
	if (signals != SIGNALS_UNTOUCHED && lock_ranges()) {
		/* Taken before the maps are read: a change during the reading makes them doubtful
		 * again. Pairs with texts_changed(). */
		doubted = __atomic_exchange_n(&doubtful, false, __ATOMIC_ACQ_REL);
		if (read_maps(address) && doubted)
			forget_unseen();
		looks++;
		/* The next look may come when this one's time is 1/PART of all. */
		next_look = agent_tsc() + (agent_tsc() - now) * PART;
		unlock_ranges();
	}
	signals_restore(signals);
}

void texts_changed(bool gone)
{
	forget_others();
	if (gone)
		/* Pairs with the exchange in look_up_mapping() and the load in texts_has(). */
		__atomic_store_n(&doubtful, true, __ATOMIC_RELEASE);
}

bool texts_has(uint64_t address)
{
	uint64_t page = address / ARCH_PAGE, *answer = &pages[page % PAGES],
		 seen = __atomic_load_n(answer, __ATOMIC_RELAXED);
	bool is_text;

	/* Pairs with texts_changed(). */
	if (__atomic_load_n(&doubtful, __ATOMIC_ACQUIRE))
		look_up_mapping(address);
	else if (seen >> 1 == page)
		return seen & 1;
	is_text = ranges_have(&texts, address);
	if (!is_text && !ranges_have(&others, address)) {
		look_up_mapping(address);
		is_text = ranges_have(&texts, address);
		/* Nothing is remembered: the address may become known. */
		if (!is_text && !ranges_have(&others, address))
			return false;
	}
	__atomic_store_n(answer, page << 1 | is_text, __ATOMIC_RELAXED);
	return is_text;
}
