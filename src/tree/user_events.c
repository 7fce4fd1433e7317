/* SPDX-License-Identifier: MIT */
/* The registry of the events that programs register. FUSE's workers call for the programs, whoever
 * changes settings calls user_events_update(). u->lock is held from a request's begin to its end,
 * and taken before the top's events_lock; who writes records does not take it, because an event
 * that an open file has named stays.
 *
 * The kernel keeps a program's words with its memory: a fork copies them, an exec and an exit drop
 * them. Here a program that registers is a *registrant*. Its forks are found when a word has to
 * change (user_word.h), and become registrants when they ask for something, or when their parent is
 * gone. That a registrant is gone is found at the next request, when its file is closed for
 * instance.
 *
 * Events, registrants and words have bounds, because programs make them. */
#include "tree/user_events.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "event/user_event.h"
#include "tracee/running_memory.h"
#include "tracee/user_word.h"
#include "tree/dynamic.h"
#include "tree/instance_internal.h"

#define EVENTS_MOST 8192u  /* of one tree, those that are gone and did not come back among them */
#define REGISTRANTS_MOST 256u  /* each has a descriptor */
#define WORDS_MOST 65536u
#define BEFORE_MOST (1u << 20) /* processes in the lists `before` of all words */
#define ANCESTORS_MOST 64u /* between a fork and the registrant that it comes from */
#define LOCATION "user_events"

/* The kernel's numbers (linux/user_events.h, which not all systems have); the size that they tell
 * is that of a pointer. */
#define REGISTER _IOWR('*', 0, void *)
#define DELETE _IOW('*', 1, void *)
#define UNREGISTER _IOW('*', 2, void *)
#define PERSISTS 1u
#define MULTI 2u

/* The kernel's struct user_reg and user_unreg. */
struct user_events_register {
	uint32_t size;
	uint8_t bit, bytes;
	uint16_t flags;
	uint64_t address, line;
	uint32_t index;
} __attribute__((packed));

struct user_events_unregister {
	uint32_t size;
	uint8_t bit, zero;
	uint16_t zeros;
	uint64_t address;
} __attribute__((packed));

/* A registered event, until the tree is freed. */
struct user_event {
	const struct event_entry *entry;
	char *name, *fields;      /* as registered */
	bool multi, persists;
	unsigned users;           /* words and open files */
	/* somebody records it; written with u->lock. Who writes records reads it without, relaxed:
	 * nothing else hangs on it. */
	_Atomic bool on;
};

/* A pid comes again. */
struct process_name {
	pid_t pid;
	uint64_t start;           /* as in struct user_word_memory */
};

/* A bit of a program that says whether an event is on. */
struct user_word {
	struct user_event *event;
	uint64_t address;
	uint8_t bit;
	bool code;                /* it was registered in memory that can be executed */
	/* No other process of this exec was there at the registration, and none that has the word
	 * has unregistered it: each that began later has it, whoever its parent was. */
	bool by_all;
	uint64_t since;           /* user_word_now() of the registration */
	VEC(struct process_name) before; /* processes of this exec then; they have it not */
};

struct registrant {
	struct user_word_memory memory;
	VEC(struct user_word) words;
};

struct user_events {
	struct instance *top;
	pthread_mutex_t lock;
	VEC(struct user_event *) events;
	VEC(struct registrant *) registrants;
	size_t words;
	size_t before;            /* processes in the lists `before` of all words */
	uint64_t multi;           /* the next number of a multi-format event's name */
};

/* The events that an open user_events_data has registered, by index. */
struct user_events_file { VEC(struct user_event *) at; };

static struct user_events *registry_of(const struct tree_file *f)
{
	return dynamic_top((const struct instance *)f->owner)->user_events;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_there(const struct user_event *e)
{
	return !events_is_gone(e->entry);
}

static bool is_on(const struct user_event *e)
{
	return atomic_load_explicit(&e->on, memory_order_relaxed);
}

/* Notes in the instance, for those who remove events, whether programs have it. */
static void note_use(struct user_events *u, struct user_event *e, int by)
{
	const bool was = e->users;

	e->users += (unsigned)by;
	if (was != (e->users > 0))
		dynamic_hold(u->top, e->entry, !was);
}

/* Removes it if nobody has it and nobody records it. */
static void drop_unused(struct user_events *u, struct user_event *e)
{
	if (!e->users && !e->persists && is_there(e))
		dynamic_drop(u->top, e->entry);
}

static void release_event(struct user_events *u, struct user_event *e)
{
	note_use(u, e, -1);
	drop_unused(u, e);
}

/* The event of that name and those fields. NULL: none, or, with *taken, one with other fields,
 * where names are single. */
static struct user_event *find_event(struct user_events *u, const struct user_event_command *c,
				     bool multi, bool *taken)
{
	*taken = false;
	for (size_t i = 0; i < u->events.n; i++) {
		struct user_event *e = u->events.at[i];

		if (!is_there(e) || e->multi != multi || strcmp(e->name, c->name) != 0)
			continue;
		if (!strcmp(e->fields, c->fields))
			return e;
		*taken |= !multi;
	}
	return NULL;
}

/* Enters the event into the catalogue. NULL and *err. */
static const struct event_entry *define_entry(struct user_events *u,
					      const struct user_event_command *c, bool multi,
					      struct err *err)
{
	const char *system = multi ? USER_EVENT_MULTI_SYSTEM : USER_EVENT_SYSTEM;
	char *name = multi ? mem_printf("%s.%llx", c->name, (unsigned long long)u->multi++)
			   : mem_strdup(c->name);
	struct event_format *format = user_event_format(c, system, name, err);
	const struct event_entry *entry = NULL;

	if (format && dynamic_check_name(system, name, name, 0, err) == 0 &&
	    events_define(u->top->events, &user_event_provider, format, &entry, err) < 0)
		entry = NULL;
	event_format_free(format);
	free(name);
	return entry;
}

/* An equal event that is gone comes back: a program that is started again and again takes no more
 * of what a tree has. NULL: there is none. */
static struct user_event *restore_event(struct user_events *u, const struct user_event_command *c,
					uint16_t flags)
{
	const bool multi = flags & MULTI;

	for (size_t i = 0; i < u->events.n; i++) {
		struct user_event *e = u->events.at[i];

		if (is_there(e) || e->multi != multi || strcmp(e->name, c->name) != 0 ||
		    strcmp(e->fields, c->fields) != 0 || !dynamic_restore(u->top, e->entry))
			continue;
		e->persists = flags & PERSISTS;
		return e;
	}
	return NULL;
}

/* Takes the command's name and fields. NULL and *err. */
static struct user_event *add_event(struct user_events *u, struct user_event_command *c,
				    uint16_t flags, struct err *err)
{
	const struct event_entry *entry = NULL;
	struct user_event *e;

	if (u->events.n >= EVENTS_MOST)
		err_set(err, EMFILE, "programs have registered %u events already", EVENTS_MOST);
	else
		entry = define_entry(u, c, flags & MULTI, err);
	if (!entry)
		return NULL;
	e = mem_zalloc(sizeof(*e));
	*e = (struct user_event){ .entry = entry, .name = c->name, .fields = c->fields,
				  .multi = flags & MULTI, .persists = flags & PERSISTS };
	c->name = c->fields = NULL;
	*vec_add(&u->events) = e;
	return e;
}

/* A program's ioctl() has no other text than this for the error_log's command. */
static void quote_line(const char *line, struct err *err)
{
	struct err why = *err;

	if (!why.input[0])
		err_at(err, why.code, line, 0, "%s", why.text);
}

/* The event that a line describes, which is made if there is none. NULL and *err. */
static struct user_event *event_of_line(struct user_events *u, const char *line, uint16_t flags,
					struct err *err)
{
	struct user_event_command c;
	struct user_event *e;
	bool taken;

	if (user_event_parse(line, &c, err) < 0)
		return NULL;
	e = find_event(u, &c, flags & MULTI, &taken);
	if (!e && taken)
		err_at(err, EADDRINUSE, line, 0,
		       "the event %s is registered with other fields; with USER_EVENT_REG_MULTI_FORMAT there can be several",
		       c.name);
	else if (!e && !(e = restore_event(u, &c, flags)))
		e = add_event(u, &c, flags, err);
	user_event_command_free(&c);
	if (!e)
		quote_line(line, err);
	return e;
}

int user_events_define(struct user_events *u, const char *line, struct err *err)
{
	struct user_event *e;

	line += strspn(line, " \t");
	pthread_mutex_lock(&u->lock);
	e = event_of_line(u, line, PERSISTS, err);
	pthread_mutex_unlock(&u->lock);
	return e ? 0 : -err->code;
}

/* --- registrants ------------------------------------------------------------------------------ */

static void remove_word(struct user_events *u, struct registrant *h, size_t i)
{
	struct user_event *e = h->words.at[i].event;

	u->before -= h->words.at[i].before.n;
	vec_free(&h->words.at[i].before);
	h->words.at[i] = h->words.at[--h->words.n];
	u->words--;
	release_event(u, e);
}

static void free_registrant(struct user_events *u, struct registrant *h)
{
	while (h->words.n)
		remove_word(u, h, h->words.n - 1);
	vec_free(&h->words);
	user_word_close(&h->memory);
	free(h);
}

/* How a process comes from a registrant. */
struct descent {
	struct registrant *from;   /* NULL: from none */
	struct process_name child; /* the registrant's child on the way; or the orphan on the way */
	bool orphan;               /* its parent is not known */
};

/* Whether what comes from the registrant has the word, too: the child on the way has been forked
 * after the registration. In doubt it has not. A clock tick is long, hence the list of those that
 * were there already. */
static bool is_inherited(const struct user_word *w, const struct descent *d)
{
	if (d->orphan && !w->by_all)
		return false;
	for (size_t i = 0; i < w->before.n; i++)
		if (w->before.at[i].pid == d->child.pid && w->before.at[i].start == d->child.start)
			return false;
	return d->child.start >= w->since;
}

static struct registrant *registrant_of(struct user_events *u, const struct user_word_memory *m)
{
	for (size_t i = 0; i < u->registrants.n; i++)
		if (user_word_is_same(&u->registrants.at[i]->memory, m))
			return u->registrants.at[i];
	return NULL;
}

/* The youngest registrant from which an orphan of that age may come. */
static struct registrant *parent_of_orphan(struct user_events *u, const struct user_word_memory *m)
{
	struct registrant *best = NULL;

	for (size_t i = 0; i < u->registrants.n; i++) {
		struct registrant *h = u->registrants.at[i];

		if (user_word_is_kin(&h->memory, m) && h->memory.start <= m->start &&
		    (!best || h->memory.start > best->memory.start))
			best = h;
	}
	return best;
}

/* The nearest registrant among the ancestors of the memory's process; or, where an ancestor has
 * ended, one that is older than the orphan. Programs of one exec that are no ancestors have the
 * same mark, but none of the words. */
static struct descent descent_of(struct user_events *u, const struct user_word_memory *m)
{
	struct user_word_memory at = *m, next;
	struct descent d = { 0 };

	for (unsigned i = 0; i < ANCESTORS_MOST && !d.from; i++) {
		d.child = (struct process_name){ at.pid, at.start };
		d.orphan = user_word_open_parent(&at, &next) < 0;
		if (d.orphan) {
			d.from = parent_of_orphan(u, &at);
			break;
		}
		if (i)
			user_word_close(&at);
		at = next;
		d.from = registrant_of(u, &at);
	}
	if (at.fd != m->fd)
		user_word_close(&at);
	return d;
}

static struct user_word *add_word(struct user_events *u, struct registrant *h, struct user_event *e)
{
	struct user_word *w = vec_add(&h->words);

	*w = (struct user_word){ .event = e };
	u->words++;
	note_use(u, e, 1);
	return w;
}

/* Makes the memory a registrant, with the words that it has as a fork. Takes the memory over. NULL
 * and *err: there are too many, and the memory is not taken. */
static struct registrant *add_registrant(struct user_events *u, struct user_word_memory *m,
					 struct err *err)
{
	const struct descent d = descent_of(u, m);
	struct registrant *h;

	if (u->registrants.n >= REGISTRANTS_MOST) {
		err_set(err, EMFILE, "%u programs have registered events already", REGISTRANTS_MOST);
		return NULL;
	}
	h = mem_zalloc(sizeof(*h));
	h->memory = *m;
	for (size_t i = 0; d.from && i < d.from->words.n; i++) {
		const struct user_word *of = &d.from->words.at[i];
		struct user_word *w;

		if (!is_inherited(of, &d) || u->words >= WORDS_MOST ||
		    u->before + of->before.n > BEFORE_MOST)
			continue;
		w = add_word(u, h, of->event);
		w->address = of->address;
		w->bit = of->bit;
		w->code = of->code;
		w->by_all = of->by_all;
		w->since = of->since;
		for (size_t k = 0; k < of->before.n; k++)
			*vec_add(&w->before) = of->before.at[k];
		u->before += w->before.n;
	}
	*vec_add(&u->registrants) = h;
	return h;
}

/* Finds the forks of these n registrants that are no registrants yet. */
static void find_forks(struct user_events *u, struct registrant *const *of, size_t n,
		       user_word_memories *out)
{
	VEC(const struct user_word_memory *) memories = { 0 };
	user_word_memories found = { 0 };
	uint64_t since = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < of[i]->words.n; k++)
			if (of[i]->words.at[k].since < since)
				since = of[i]->words.at[k].since;
		*vec_add(&memories) = &of[i]->memory;
	}
	if (since != UINT64_MAX)
		user_word_find_kin(memories.at, memories.n, since, &found);
	for (size_t i = 0; i < found.n; i++) {
		const struct registrant *from = registrant_of(u, &found.at[i])
						    ? NULL
						    : descent_of(u, &found.at[i]).from;
		bool wanted = false;

		for (size_t k = 0; k < n; k++)
			wanted |= of[k] == from;
		if (wanted)
			*vec_add(out) = found.at[i];
		else
			user_word_close(&found.at[i]);
	}
	vec_free(&found);
	vec_free(&memories);
}

/* Clears what the memory has inherited: one for which there is no room must not go on to write
 * records for ever. */
static void clear_inherited(struct user_events *u, const struct user_word_memory *m)
{
	const struct descent d = descent_of(u, m);

	for (size_t i = 0; d.from && i < d.from->words.n; i++) {
		const struct user_word *w = &d.from->words.at[i];

		if (is_inherited(w, &d))
			user_word_set(m, w->address, w->bit, false, w->code);
	}
}

/* No command has failed, so the log's line names the process. */
static void tell_no_room(struct user_events *u, const struct registrant *h, unsigned forks)
{
	char *what = mem_printf("forks of process %d", (int)h->memory.pid);
	char *sentence = mem_printf("%u forks have their bits cleared for good: %u programs have registered events already",
				    forks, REGISTRANTS_MOST);

	instance_log(u->top, LOCATION, sentence, what, strlen(what), 0);
	free(sentence);
	free(what);
}

/* The registrant's forks become registrants, before its words go. */
static void settle_forks(struct user_events *u, struct registrant *h)
{
	user_word_memories forks = { 0 };
	unsigned cleared = 0;
	struct err full;

	find_forks(u, &h, 1, &forks);
	for (size_t i = 0; i < forks.n; i++) {
		if (add_registrant(u, &forks.at[i], &full))
			continue;
		clear_inherited(u, &forks.at[i]);
		user_word_close(&forks.at[i]);
		cleared++;
	}
	if (cleared)
		tell_no_room(u, h, cleared);
	vec_free(&forks);
}

/* Forgets the registrants that are gone. */
static void reap(struct user_events *u)
{
	for (size_t i = 0; i < u->registrants.n;) {
		struct registrant *h = u->registrants.at[i];

		if (user_word_is_there(&h->memory)) {
			i++;
			continue;
		}
		settle_forks(u, h);
		u->registrants.at[i] = u->registrants.at[--u->registrants.n];
		free_registrant(u, h);
	}
}

/* The registrant that the thread's process is, or becomes. NULL and *err. */
static struct registrant *asking_registrant(struct user_events *u, pid_t thread, struct err *err)
{
	struct user_word_memory m;
	struct registrant *h;

	reap(u);
	if (user_word_open(thread, &m, err) < 0)
		return NULL;
	h = registrant_of(u, &m);
	if (!h)
		h = add_registrant(u, &m, err);
	if (!h || h->memory.fd != m.fd)
		user_word_close(&m);
	return h;
}

/* --- bits ------------------------------------------------------------------------------------- */

/* In the registrant, or, with its descent, in a fork of it. */
static void set_words(const struct registrant *h, const struct user_word_memory *m,
		      const struct descent *d, const struct user_event *e)
{
	for (size_t i = 0; i < h->words.n; i++) {
		const struct user_word *w = &h->words.at[i];

		if (w->event == e && (!d || is_inherited(w, d)))
			user_word_set(m, w->address, w->bit, is_on(e), w->code);
	}
}

static bool has_word(const struct registrant *h, const struct user_event *e)
{
	for (size_t i = 0; i < h->words.n; i++)
		if (h->words.at[i].event == e)
			return true;
	return false;
}

/* In the registrants and in their forks. A program that unmapped its word keeps what it has. */
static void tell_programs(struct user_events *u, const struct user_event *e)
{
	VEC(struct registrant *) having = { 0 };
	user_word_memories forks = { 0 };

	for (size_t i = 0; i < u->registrants.n; i++) {
		if (!has_word(u->registrants.at[i], e))
			continue;
		*vec_add(&having) = u->registrants.at[i];
		set_words(u->registrants.at[i], &u->registrants.at[i]->memory, NULL, e);
	}
	find_forks(u, having.at, having.n, &forks);
	for (size_t i = 0; i < forks.n; i++) {
		const struct descent d = descent_of(u, &forks.at[i]);

		if (d.from)
			set_words(d.from, &forks.at[i], &d, e);
		user_word_close(&forks.at[i]);
	}
	vec_free(&forks);
	vec_free(&having);
}

static void set_event(struct user_events *u, struct user_event *e, bool on)
{
	if (is_on(e) == on)
		return;
	atomic_store_explicit(&e->on, on, memory_order_relaxed);
	tell_programs(u, e);
}

void user_events_update(struct user_events *u)
{
	pthread_mutex_lock(&u->lock);
	reap(u);
	for (size_t i = 0; i < u->events.n; i++) {
		struct user_event *e = u->events.at[i];

		set_event(u, e, is_there(e) && dynamic_is_recorded(u->top, e->entry));
		drop_unused(u, e);
	}
	pthread_mutex_unlock(&u->lock);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Copies a string of the program's. 0; -EFAULT; -EINVAL: it is too long. */
static int read_line(const struct registrant *h, uint64_t address, char line[USER_EVENT_LINE_MAX])
{
	const size_t n = running_memory_read(h->memory.pid, address, line, USER_EVENT_LINE_MAX);

	if (memchr(line, 0, n))
		return 0;
	return n == USER_EVENT_LINE_MAX ? -EINVAL : -EFAULT;
}

/* Copies a structure that says how long it is: what brace does not know of has to be zero. 0 or
 * -errno. */
static int read_struct(const struct registrant *h, uint64_t address, void *to, size_t n)
{
	uint8_t bytes[RUNNING_MEMORY_MOST];
	uint32_t size;

	if (running_memory_read(h->memory.pid, address, &size, sizeof(size)) != sizeof(size))
		return -EFAULT;
	if (size > sizeof(bytes))
		return -E2BIG;
	if (size < n)
		return -EINVAL;
	if (running_memory_read(h->memory.pid, address, bytes, size) != size)
		return -EFAULT;
	for (size_t i = n; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memcpy(to, bytes, n);
	return 0;
}

static struct user_word *find_word(struct registrant *h, uint64_t address, uint8_t bit)
{
	for (size_t i = 0; i < h->words.n; i++)
		if (h->words.at[i].address == address && h->words.at[i].bit == bit)
			return &h->words.at[i];
	return NULL;
}

static int check_register(const struct user_events *u, struct registrant *h,
			  const struct user_events_register *r, struct err *err)
{
	if (r->flags & ~(PERSISTS | MULTI))
		return err_set(err, EINVAL, "unknown flags 0x%x in user_reg", r->flags);
	if (r->bytes != 4 && r->bytes != 8)
		return err_set(err, EINVAL, "enable_size is %u, and not 4 or 8", r->bytes);
	if (r->address % r->bytes)
		return err_set(err, EINVAL, "enable_addr is not a multiple of enable_size");
	if (r->bit >= 8 * r->bytes)
		return err_set(err, EINVAL, "there is no bit %u in %u bytes", r->bit, r->bytes);
	if (find_word(h, r->address, r->bit))
		return err_set(err, EADDRINUSE, "the bit %u at 0x%llx is registered already",
			       r->bit, (unsigned long long)r->address);
	if (u->words >= WORDS_MOST)
		return err_set(err, EMFILE, "programs have registered %u words already",
			       WORDS_MOST);
	if (u->before >= BEFORE_MOST)
		return err_set(err, EMFILE,
			       "programs that have registered words had %u forks by then already",
			       BEFORE_MOST);
	return 0;
}

/* The event's index in the open file, which gets it. */
static uint32_t index_in(struct user_events *u, struct user_events_file *f, struct user_event *e)
{
	for (size_t i = 0; i < f->at.n; i++)
		if (f->at.at[i] == e)
			return (uint32_t)i;
	*vec_add(&f->at) = e;
	note_use(u, e, 1);
	return (uint32_t)f->at.n - 1;
}

/* Notes the processes of the registrant's exec that are there already. */
static void note_before(struct user_events *u, const struct registrant *h, struct user_word *w)
{
	const struct user_word_memory *const of = &h->memory;
	user_word_memories all = { 0 };

	user_word_find_kin(&of, 1, 0, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (!user_word_is_same(&all.at[i], of))
			*vec_add(&w->before) =
				(struct process_name){ all.at[i].pid, all.at[i].start };
		user_word_close(&all.at[i]);
	}
	vec_free(&all);
	w->by_all = !w->before.n;
	u->before += w->before.n;
}

/* A process has unregistered the word: of an orphan nobody can tell any more whether it has it. */
static void doubt_orphans(struct user_events *u, const struct registrant *h,
			  const struct user_word *gone)
{
	for (size_t i = 0; i < u->registrants.n; i++) {
		struct registrant *of = u->registrants.at[i];

		for (size_t k = 0; k < of->words.n; k++) {
			struct user_word *w = &of->words.at[k];

			if (w->address == gone->address && w->bit == gone->bit &&
			    user_word_is_kin(&of->memory, &h->memory))
				w->by_all = false;
		}
	}
}

/* Gives the event to the file, and the word to the registrant. Where the word cannot be written the
 * file keeps the event, as in the kernel. */
static int register_word(struct user_events *u, struct user_events_file *f, struct registrant *h,
			 const struct user_events_register *r, struct user_event *e,
			 uint64_t argument)
{
	const uint32_t index = index_in(u, f, e);
	int failed = user_word_set_checked(&h->memory, r->address, r->bit, is_on(e));
	struct user_word *w;

	if (failed)
		return failed;
	w = add_word(u, h, e);
	w->address = r->address;
	w->bit = r->bit;
	w->code = user_word_is_code(&h->memory, r->address);
	w->since = user_word_now();
	note_before(u, h, w);
	return user_word_write(&h->memory,
			       argument + offsetof(struct user_events_register, index), index);
}

static int run_register(struct user_events *u, struct tree_file *f, struct registrant *h,
			uint64_t argument, struct err *err)
{
	struct user_events_register r;
	struct user_event *e;
	char line[USER_EVENT_LINE_MAX];
	int failed = read_struct(h, argument, &r, sizeof(r));

	if (failed == 0)
		failed = check_register(u, h, &r, err);
	if (failed == 0)
		failed = read_line(h, r.line, line);
	if (failed)
		return failed;
	e = event_of_line(u, line, r.flags, err);
	if (!e)
		return -err->code;
	return register_word(u, f->state, h, &r, e, argument);
}

static int run_unregister(struct user_events *u, struct tree_file *f, struct registrant *h,
			  uint64_t argument, struct err *err)
{
	struct user_events_unregister r;
	struct user_word *w;
	int failed = read_struct(h, argument, &r, sizeof(r));

	(void)f;
	if (failed)
		return failed;
	if (r.zero || r.zeros)
		return err_set(err, EINVAL, "user_unreg has something in its reserved members");
	w = find_word(h, r.address, r.bit);
	if (!w)
		return err_set(err, ENOENT, "the bit %u at 0x%llx is not registered", r.bit,
			       (unsigned long long)r.address);
	settle_forks(u, h);
	user_word_set(&h->memory, r.address, r.bit, false, w->code);
	doubt_orphans(u, h, w);
	remove_word(u, h, (size_t)(w - h->words.at));
	return 0;
}

/* All events of the name go, or those before the first one in use. */
static int run_delete(struct user_events *u, struct tree_file *f, struct registrant *h,
		      uint64_t argument, struct err *err)
{
	char name[USER_EVENT_LINE_MAX];
	bool found = false;
	int failed = read_line(h, argument, name);

	(void)f;
	for (size_t i = 0; i < u->events.n && !failed; i++) {
		struct user_event *e = u->events.at[i];

		if (!is_there(e) || strcmp(e->name, name) != 0)
			continue;
		found = true;
		if (e->users || !dynamic_drop(u->top, e->entry))
			failed = err_set(err, EBUSY, "the event %s is in use", name);
	}
	return failed || found ? failed : err_set(err, ENOENT, "there is no event %.64s", name);
}

static int run_request(struct tree_file *f, unsigned command, uint64_t argument, struct err *err)
{
	static const struct {
		unsigned command;
		int (*run)(struct user_events *u, struct tree_file *f, struct registrant *h,
			   uint64_t argument, struct err *err);
	} requests[] = {
		{ REGISTER, run_register },
		{ DELETE, run_delete },
		{ UNREGISTER, run_unregister },
	};
	struct user_events *u = registry_of(f);
	struct registrant *h;
	int r = -ENOTTY;

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		if (requests[i].command != command)
			continue;
		pthread_mutex_lock(&u->lock);
		h = asking_registrant(u, f->thread, err);
		r = h ? requests[i].run(u, f, h, argument, err) : -err->code;
		pthread_mutex_unlock(&u->lock);
	}
	return r;
}

/* --- files ------------------------------------------------------------------------------------ */

static int open_data(struct tree_file *f, struct err *err)
{
	(void)err;
	f->state = mem_zalloc(sizeof(struct user_events_file));
	return 0;
}

/* The registrant may have ended with its file. */
static void release_data(struct tree_file *f)
{
	struct user_events_file *file = f->state;
	struct user_events *u = registry_of(f);

	pthread_mutex_lock(&u->lock);
	while (file->at.n)
		release_event(u, file->at.at[--file->at.n]);
	reap(u);
	pthread_mutex_unlock(&u->lock);
	vec_free(&file->at);
	free(file);
}

/* One record: the event's index in the file, and its fields. A refused one is the program's
 * business: the error_log is for those who write commands. */
static ssize_t write_data(struct tree_file *f, const char *bytes, size_t n, struct err *err)
{
	const struct user_events_file *file = f->state;
	struct instance *top = dynamic_top((struct instance *)f->owner);
	const struct user_event *e;
	struct tree_target t;
	int32_t index;
	int r;

	f->told = true;
	if (n < sizeof(index))
		return err_code(err, EFAULT);
	memcpy(&index, bytes, sizeof(index));
	if (index < 0)
		return err_code(err, EINVAL);
	if ((size_t)index >= file->at.n)
		return err_code(err, ENOENT);
	e = file->at.at[index];
	r = user_event_check(e->entry->format, bytes + sizeof(index), n - sizeof(index));
	if (r != -EINVAL && !is_on(e))
		r = -EBADF;
	if (r < 0)
		return err_code(err, -r);
	t = instance_lock(top);
	r = t.ops->user_event ? t.ops->user_event(t.arg, f->thread, e->entry,
						  bytes + sizeof(index), n - sizeof(index), err)
			      : -EBADF;
	instance_unlock(top);
	return r < 0 ? r : (ssize_t)n;
}

static int show_status(struct tree_file *f, struct out *text, struct err *err)
{
	struct user_events *u = registry_of(f);
	unsigned active = 0, busy = 0;

	(void)err;
	pthread_mutex_lock(&u->lock);
	reap(u);
	for (size_t i = 0; i < u->events.n; i++) {
		const struct user_event *e = u->events.at[i];

		if (!is_there(e))
			continue;
		active++;
		busy += is_on(e);
		out_printf(text, "%s%s\n", e->entry->format->name,
			   is_on(e) ? " # Used by ftrace" : "");
	}
	pthread_mutex_unlock(&u->lock);
	out_printf(text, "\nActive: %u\nBusy: %u\n", active, busy);
	return 0;
}

const struct tree_file_ops user_events_data_file = {
	.location = LOCATION,
	.acts_at_close = true,
	.open = open_data,
	.write = write_data,
	.ioctl = run_request,
	.release = release_data,
};

const struct tree_file_ops user_events_status_file = { .show = show_status };

/* --- the registry ----------------------------------------------------------------------------- */

struct user_events *user_events_new(struct instance *top)
{
	struct user_events *u = mem_zalloc(sizeof(*u));

	u->top = top;
	pthread_mutex_init(&u->lock, NULL);
	return u;
}

void user_events_free(struct user_events *u)
{
	for (size_t i = 0; i < u->events.n; i++)
		set_event(u, u->events.at[i], false);
	for (size_t i = 0; i < u->registrants.n; i++) {
		struct registrant *h = u->registrants.at[i];

		for (size_t k = 0; k < h->words.n; k++)
			vec_free(&h->words.at[k].before);
		vec_free(&h->words);
		user_word_close(&h->memory);
		free(h);
	}
	for (size_t i = 0; i < u->events.n; i++) {
		free(u->events.at[i]->name);
		free(u->events.at[i]->fields);
		free(u->events.at[i]);
	}
	vec_free(&u->events);
	vec_free(&u->registrants);
	pthread_mutex_destroy(&u->lock);
	free(u);
}
