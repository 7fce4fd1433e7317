/* SPDX-License-Identifier: MIT */
/* Code of files, as far as it is known: what was mapped when the process was planned, by the tracer's word, and what an unknown
 * caller led to since, by /proc/self/maps. Ranges are only added, or emptied by one store: readers need no lock. One thread at a time adds, and
 * nobody waits for it: its holder may be stopped. Most questions come from a translator's code, which asks at every call: they are
 * answered by page. */
#include "agent/texts.h"

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/own_maps.h"

#define PAGE 4096u
#define PAGES 4096u     /* that are remembered */
#define TEXTS_MAX 4096u
#define OTHERS_MAX 256u
/* Looks that cost nothing, and how much of the time all further ones may take: a translator may map its code by the page. */
#define FREE_LOOKS 512u
#define PART 50u

struct range { uint64_t start, end; };
struct ranges { uint32_t n, max; struct range *at; };

static struct range text_at[TEXTS_MAX], other_at[OTHERS_MAX];
static struct ranges texts = { .max = TEXTS_MAX, .at = text_at };
static struct ranges others = { .max = OTHERS_MAX, .at = other_at }; /* executable, and no file's */
static uint64_t pages[PAGES]; /* number of a page << 1 | is a file's */
static bool busy, doubtful;
static bool seen_again[TEXTS_MAX];
static uint64_t looks, next_look; /* how many; not before then */

static bool take(void)
{
	return !__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE);
}

static void give(void)
{
	__atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

void texts_after_fork(void)
{
	give();
}

static bool has(const struct ranges *r, uint64_t address)
{
	uint32_t n = __atomic_load_n(&r->n, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (address - r->at[i].start < r->at[i].end - r->at[i].start)
			return true;
	return false;
}

static void add(struct ranges *r, uint64_t start, uint64_t end)
{
	if (end <= start || r->n >= r->max || (has(r, start) && has(r, end - 1)))
		return;
	r->at[r->n] = (struct range){ start, end };
	__atomic_store_n(&r->n, r->n + 1, __ATOMIC_RELEASE);
}

void texts_learn(const struct patch_text *at, uint32_t n)
{
	if (!take())
		return;
	for (uint32_t i = 0; i < n; i++)
		add(&texts, at[i].address, at[i].address + at[i].bytes);
	give();
}

static void see(const struct own_map *m)
{
	for (uint32_t i = 0; m->text && i < texts.n; i++)
		if (text_at[i].start < m->end && text_at[i].end > m->start)
			seen_again[i] = true;
}

static void forget_unseen(void)
{
	for (uint32_t i = 0; i < texts.n; i++)
		if (!seen_again[i])
			__atomic_store_n(&text_at[i].end, text_at[i].start, __ATOMIC_RELEASE);
}

static void forget_others(void)
{
	__atomic_store_n(&others.n, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < PAGES; i++)
		__atomic_store_n(&pages[i], 0, __ATOMIC_RELAXED);
}

/* Everything that is a file's, and of the rest where the address is. True: that was all there is. */
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
		see(&m);
		if (m.text)
			add(&texts, m.start, m.end);
		else if (m.exec && address - m.start < m.end - m.start)
			add(&others, m.start, m.end);
	}
	own_maps_close(&maps);
	return !maps.failed;
}

static void look(uint64_t address)
{
	uint64_t now = read_tsc(), signals;
	bool doubted;

	if (agent.forbidden & (NEED_TEXTS | NEED_SIGNALS) || (looks >= FREE_LOOKS && now < next_look))
		return;
	signals = signals_block();
	if (signals != SIGNALS_UNTOUCHED && take()) {
		doubted = __atomic_exchange_n(&doubtful, false, __ATOMIC_ACQ_REL);
		if (read_maps(address) && doubted)
			forget_unseen();
		looks++;
		next_look = read_tsc() + (read_tsc() - now) * PART;
		give();
	}
	signals_restore(signals);
}

void texts_changed(bool gone)
{
	forget_others();
	if (gone)
		__atomic_store_n(&doubtful, true, __ATOMIC_RELEASE);
}

bool texts_has(uint64_t address)
{
	uint64_t page = address / PAGE, *answer = &pages[page % PAGES], seen = __atomic_load_n(answer, __ATOMIC_RELAXED);
	bool is_text;

	if (__atomic_load_n(&doubtful, __ATOMIC_ACQUIRE))
		look(address);
	else if (seen >> 1 == page)
		return seen & 1;
	is_text = has(&texts, address);
	if (!is_text && !has(&others, address)) {
		look(address);
		is_text = has(&texts, address);
		if (!is_text && !has(&others, address))
			return false;
	}
	__atomic_store_n(answer, page << 1 | is_text, __ATOMIC_RELAXED);
	return is_text;
}
