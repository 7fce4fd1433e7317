/* SPDX-License-Identifier: MIT */
/* Keeps the last few files with everything that was planned in them: reading a file's instructions
 * takes up to 0.1 s, and processes come and go with the same files. Planners and other threads
 * call; `lock` protects the kept files, and is held while one is read. A file that cannot be read
 * has no places. */
#include "image/probes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/code.h"
#include "base/file.h"
#include "event/usdt.h"
#include "image/call_points.h"
#include "image/task_points.h"
#include "shared/probe.h"
#include "sym/usdt.h"

/* Files whose markers, prober and calls stay in memory: more than a program maps, mostly. */
#define KEPT 64

/* --- files ---------------------------------------------------------------------------------- */

struct marked { /* one file, and its markers */
	struct stat is;
	uint64_t used;                /* the larger, the later */
	struct elf_file notes;        /* holds the markers' names */
	usdt_markers markers;
	enum { CALLS_UNKNOWN, CALLS_NONE, CALLS_POSSIBLE } possible;
	struct hook_prober *prober;   /* NULL: not opened yet, or it cannot be */
	hook_syscall_list calls;      /* the prober's, if calls_known */
	bool calls_known;
};

/* `used` of an empty place is 0, so that empty places are taken first. Plans and pointers that a
 * marked file gives out are valid only with the lock held: the next file may take its place. So
 * places of events are copies. */
static struct marked kept[KEPT];
static uint64_t clock_of_use;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Leaves an empty place. */
static void drop_marked(struct marked *m)
{
	vec_free(&m->calls);
	hook_prober_close(m->prober);
	vec_free(&m->markers);
	elf_file_free(&m->notes);
	*m = (struct marked){ 0 };
}

/* A file that cannot be read has no markers, which is no error: any mapped file is asked. */
static void read_markers(struct marked *m, int fd, const char *path)
{
	if (elf_file_read(fd, path, ELF_NOTES, &m->notes, NULL) == 0)
		sym_usdt_bytes(m->notes.bytes, m->notes.n, &m->markers);
}

/* Lock held. NULL: the file cannot be read. A file is known by its struct stat, not by its path: a
 * library that was replaced is another file. */
static struct marked *marked_file(int fd, const char *path)
{
	struct marked *m = &kept[0];
	struct stat is;

	if (fd < 0 || file_stat(fd, &is) < 0)
		return NULL;
	for (size_t i = 0; i < KEPT; i++) {
		if (kept[i].used && file_is_same(&kept[i].is, &is)) {
			m = &kept[i];
			break;
		}
		/* Else the one that was used least recently. */
		if (kept[i].used < m->used)
			m = &kept[i];
	}
	if (!m->used || !file_is_same(&m->is, &is)) {
		drop_marked(m);
		m->is = is;
		read_markers(m, fd, path);
	}
	m->used = ++clock_of_use;
	return m;
}

/* --- events --------------------------------------------------------------------------------- */

/* The file may have several copies of a marker, where the compiler inlined a function. */
static bool is_same_marker(const struct usdt_marker *a, const struct usdt_marker *b)
{
	return strcmp(a->provider, b->provider) == 0 && strcmp(a->name, b->name) == 0;
}

/* Whether no earlier marker has the same name: a marker with several sites is listed once. */
static bool is_first(const usdt_markers *all, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_same_marker(&all->at[k], &all->at[i]))
			return false;
	return true;
}

/* The group that perf gives to markers, sdt_PROVIDER. The caller frees the text. */
static char *system_of(const struct usdt_marker *m)
{
	return mem_printf("sdt_%s", m->provider);
}

/* All sites of a marker are one event, with the widest arguments. */
static void add_marker_event(const usdt_markers *all, size_t i, struct event_catalogue *c)
{
	struct usdt_fields fields = { 0 };
	const struct event_entry *ignored;
	struct fetch_build b;
	struct err err;

	for (size_t k = i; k < all->n; k++)
		if (is_same_marker(&all->at[k], &all->at[i]))
			usdt_fields_meet(&fields, all->at[k].arguments);
	if (usdt_build(&b, &fields, "", NULL, &err) == 0) {
		char *text = fetch_format(&b, all->at[i].name), *system = system_of(&all->at[i]);

		events_add(c, &usdt_provider, system, text, strlen(text), &ignored, &err);
		free(system);
		free(text);
	}
	fetch_free(&b);
}

/* event_provider.of_file: adds each name of the file's markers to the catalogue, once. */
static void add_markers(int fd, const char *path, struct event_catalogue *c)
{
	struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	for (size_t i = 0; m && i < m->markers.n; i++)
		if (is_first(&m->markers, i))
			add_marker_event(&m->markers, i, c);
	pthread_mutex_unlock(&lock);
}

const struct event_provider usdt_provider = {
	.name = "marker", .can_enable = true, .of_file = add_markers
};

/* --- places --------------------------------------------------------------------------------- */

/* The event may come from another file, where the arguments were wider. Field 0 is __probe_ip,
 * which is no argument. */
static struct usdt_fields fields_of(const struct event_format *e)
{
	struct usdt_fields f = { 0 };

	for (size_t i = 1; i < e->n && f.n < USDT_ARGUMENTS_MAX; i++, f.n++) {
		f.size[f.n] = (uint8_t)e->fields[i].size;
		f.is_signed[f.n] = e->fields[i].is_signed;
	}
	return f;
}

/* Callback of usdt_build(): a marker's argument may be relative to a variable. */
static bool find_object(void *module, const char *name, size_t n, uint64_t *vaddr)
{
	return sym_object(module, name, n, vaddr);
}

/* A copy: the set may be gone before the filter is used. */
static struct filter_program *filter_of(const struct event_set *set, uint32_t event)
{
	const struct filter_program *from = event_set_program(set, event);
	struct filter_program *copy = from ? mem_zalloc(from->bytes) : NULL;

	if (copy)
		memcpy(copy, from, from->bytes);
	return copy;
}

/* Adds a marker's place; none if its arguments cannot be fetched. */
static void add_point(struct marked *m, const struct usdt_marker *marker,
		      const struct event_set *set, const struct event_entry *e, probe_points *out)
{
	const struct operand_names names = { find_object, (void *)hook_prober_module(m->prober) };
	const struct usdt_fields fields = fields_of(e->format);
	struct probe_point p = { .event = e->index, .semaphore = marker->semaphore };
	struct fetch_build b;
	struct err ignored;

	if (usdt_build(&b, &fields, marker->arguments, &names, &ignored) == 0)
		p.program = fetch_finish(&b, &p.program_bytes);
	fetch_free(&b);
	if (!p.program)
		return;
	p.filter = filter_of(set, e->index);
	p.stacked = event_set_stacked(set, e->index);
	p.scopes = event_set_scopes(set, e->index);
	p.plan = *hook_probe_plan(m->prober, marker->vaddr);
	*vec_add(out) = p;
}

/* The marker's event in the session, if it is armed; NULL: its site stays as it is. */
static const struct event_entry *armed_event(const struct event_set *set,
					     const struct usdt_marker *m)
{
	char *system = system_of(m);
	const struct event_entry *e = events_find(set->catalogue, system, m->name);

	free(system);
	return e && e->provider == &usdt_provider && event_set_armed(set, e->index) ? e : NULL;
}

/* Events at one address are ordered by their numbers: a plan of the same file is always the
 * same. What a function's entry keeps comes first: its return may be the same instruction. */
static int by_address(const void *a, const void *b)
{
	const struct probe_point *x = a, *y = b;

	if (x->plan.vaddr != y->plan.vaddr)
		return x->plan.vaddr < y->plan.vaddr ? -1 : 1;
	if ((x->kind == PROBE_ENTRY) != (y->kind == PROBE_ENTRY))
		return x->kind == PROBE_ENTRY ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* Most files make no system call, and reading their instructions takes long: so first a search for
 * the bytes. The answer is kept with the file, for each process that maps it asks again. */
static bool may_call(struct marked *m, int fd, const char *path)
{
	struct elf_file file;

	if (!m->possible && elf_file_read(fd, path, ELF_CONTENTS, &file, NULL) == 0) {
		m->possible =
			call_points_possible(file.bytes, file.n) ? CALLS_POSSIBLE : CALLS_NONE;
		elf_file_free(&file);
	}
	return m->possible == CALLS_POSSIBLE;
}

/* Opens the file's prober, once. */
static bool has_prober(struct marked *m, int fd, const char *path)
{
	struct err ignored;

	return m->prober || hook_prober_open_fd(fd, path, &m->prober, &ignored) == 0;
}

/* Lock held. Adds the file's system calls, which are found once. */
static void add_calls(struct marked *m, int fd, const char *path, const struct event_set *set,
		      probe_points *out)
{
	if (!call_points_wanted(set) || !may_call(m, fd, path) || !has_prober(m, fd, path))
		return;
	if (!m->calls_known)
		hook_syscalls_find(m->prober, &m->calls);
	m->calls_known = true;
	call_points_add(&m->calls, set, out);
}

/* A traced function has its own hook behind endbr64: a probe at the same place can share it. Two
 * patches at the two places would overlap, and one of them be refused. */
static uint64_t entry_of(const struct sym_module *m, uint64_t vaddr)
{
	const uint8_t *p = sym_bytes(m, vaddr, CODE_LANDING_BYTES);

	return p ? vaddr + code_landing(p, CODE_LANDING_BYTES) : vaddr;
}

/* --- defined events ------------------------------------------------------------------------- */

/* Lock held. The plan of a probe at the offset; NULL: there is no code. Behind endbr64 it shares
 * the place with the function's own hook: *behind bytes. */
static const struct hook_probe *plan_at(struct marked *m, uint64_t offset, int64_t *behind)
{
	const struct sym_module *mod = hook_prober_module(m->prober);
	uint64_t vaddr, at;

	if (!sym_code_vaddr(mod, offset, &vaddr))
		return NULL;
	at = entry_of(mod, vaddr);
	*behind = (int64_t)(at - vaddr);
	return hook_probe_plan(m->prober, at);
}

enum hook_reason probes_reason(int fd, const char *path, uint64_t offset)
{
	enum hook_reason reason = REASON_NOT_CODE;
	const struct hook_probe *plan = NULL;
	struct marked *m;
	int64_t ignored;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	if (m && has_prober(m, fd, path))
		plan = plan_at(m, offset, &ignored);
	if (plan && plan->kind != HOOK_NONE)
		reason = REASON_NONE;
	else if (plan && plan->reason)
		reason = plan->reason;
	pthread_mutex_unlock(&lock);
	return reason;
}

/* Lock held. NULL: the offset is in no function. */
static const struct sym_function *function_at(const struct marked *m, uint64_t offset)
{
	const struct sym_module *mod = hook_prober_module(m->prober);
	uint64_t vaddr;

	return sym_code_vaddr(mod, offset, &vaddr) ? sym_around(mod, vaddr) : NULL;
}

bool probes_together(int fd, const char *path, uint64_t a, uint64_t b)
{
	const struct sym_function *of_a = NULL, *of_b = NULL;
	struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	if (m && has_prober(m, fd, path)) {
		of_a = function_at(m, a);
		of_b = function_at(m, b);
	}
	pthread_mutex_unlock(&lock);
	return of_a && of_a == of_b;
}

/* Lock held. Finds the returns of the function at the offset; hook_returns_free(). */
static void returns_at(struct marked *m, uint64_t offset, uint64_t *entry,
		       struct hook_returns *out)
{
	*out = (struct hook_returns){ .bar = RETURN_BAR_NO_FUNCTION };
	if (sym_code_vaddr(hook_prober_module(m->prober), offset, entry))
		hook_returns_find(m->prober, *entry, out);
}

/* Lock held. */
static enum hook_reason entry_reason(struct marked *m, uint64_t offset)
{
	struct hook_returns found = { 0 };
	enum hook_reason reason = REASON_NONE;
	const struct hook_probe *plan;
	int64_t behind;
	uint64_t entry;

	plan = plan_at(m, offset, &behind);
	if (!plan)
		return REASON_NOT_CODE;
	if (plan->kind == HOOK_NONE)
		return plan->reason ? plan->reason : REASON_NOT_CODE;
	returns_at(m, offset, &entry, &found);
	/* A return that is the first instruction shares its probe with it. */
	for (size_t i = 0; i < found.at.n; i++)
		if (found.at.at[i]->vaddr != plan->vaddr &&
		    hook_probes_overlap(plan, found.at.at[i]))
			reason = REASON_TAKEN;
	hook_returns_free(&found);
	return reason;
}

enum hook_reason probes_entry_reason(int fd, const char *path, uint64_t offset)
{
	enum hook_reason reason = REASON_NOT_CODE;
	struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	if (m && has_prober(m, fd, path))
		reason = entry_reason(m, offset);
	pthread_mutex_unlock(&lock);
	return reason;
}

/* The lock guards the list of files whose notes are known, and is held while one is read. */
struct probe_returns probes_returns(int fd, const char *path, uint64_t offset)
{
	struct probe_returns out = { .bar = RETURN_BAR_NO_FUNCTION };
	struct hook_returns found = { 0 };
	struct marked *m;
	uint64_t entry;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	if (m && has_prober(m, fd, path)) {
		returns_at(m, offset, &entry, &found);
		out.bar = found.bar;
		out.reason = found.reason;
		if (found.where)
			sym_code_offset(hook_prober_module(m->prober), found.where, &out.where);
	}
	pthread_mutex_unlock(&lock);
	hook_returns_free(&found);
	return out;
}

/* Adds one place of the event, where d is. The program is a copy, since the definition may be
 * removed while the plan is used; of d->entry it matters only whether there is one. */
static void add_place(const struct hook_probe *plan, int64_t behind, const struct event_set *set,
		      const struct event_entry *e, const struct probe_definition *d,
		      probe_points *out)
{
	struct probe_point p = { .plan = *plan, .behind = behind, .event = e->index,
				 .program_bytes = d->program_bytes };

	p.program = mem_zalloc(d->program_bytes);
	memcpy(p.program, d->program, d->program_bytes);
	p.filter = filter_of(set, e->index);
	p.stacked = event_set_stacked(set, e->index);
	p.scopes = event_set_scopes(set, e->index);
	p.kept = d->entry;
	p.generation = events_generation(e);
	*vec_add(out) = p;
}

/* Lock held. Adds the place where a call's arguments are kept for its return. Nothing is recorded
 * there: it has no filter, no stack and no scopes. */
static void add_entry(struct marked *m, const struct event_entry *e,
		      const struct probe_definition *d, probe_points *out)
{
	int64_t behind;
	const struct hook_probe *plan = plan_at(m, d->offset, &behind);
	struct probe_point p = { .kind = PROBE_ENTRY, .event = e->index, .behind = behind,
				 .generation = events_generation(e),
				 .program_bytes = d->entry_bytes };

	if (!plan)
		return;
	p.plan = *plan;
	p.program = mem_zalloc(d->entry_bytes);
	memcpy(p.program, d->entry, d->entry_bytes);
	*vec_add(out) = p;
}

/* Lock held. Each return tells the function's begin as its place. */
static void add_returns(struct marked *m, const struct event_set *set, const struct event_entry *e,
			const struct probe_definition *d, probe_points *out)
{
	struct hook_returns found;
	uint64_t entry;

	returns_at(m, d->offset, &entry, &found);
	for (size_t i = 0; i < found.at.n; i++)
		add_place(found.at.at[i], (int64_t)(found.at.at[i]->vaddr - entry), set, e, d, out);
	hook_returns_free(&found);
}

/* Lock held. Adds what one definition of the event says, if it is in this file. */
static void add_defined(struct marked *m, int fd, const char *path, const struct event_set *set,
			const struct event_entry *e, const struct probe_definition *d,
			probe_points *out)
{
	const struct hook_probe *plan;
	int64_t behind;

	if (d->device != m->is.st_dev || d->inode != m->is.st_ino || !has_prober(m, fd, path))
		return;
	if (d->returns) {
		if (d->entry)
			add_entry(m, e, d, out);
		add_returns(m, set, e, d, out);
		return;
	}
	plan = plan_at(m, d->offset, &behind);
	if (plan)
		add_place(plan, behind, set, e, d, out);
}

/* Lock held. */
static void add_all_defined(struct marked *m, int fd, const char *path,
			    const struct event_set *set, probe_points *out)
{
	uint32_t n = events_n(set->catalogue);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);
		const struct probe_definition *d = NULL;

		if (e->probe && event_set_armed(set, i))
			d = probe_definition_first(e->probe);
		for (; d; d = probe_definition_next(d))
			add_defined(m, fd, path, set, e, d, out);
	}
}

/* --- all of a file -------------------------------------------------------------------------- */

/* Appends the places of all events that are armed in set; programs and filters are the caller's
 * to free (probes_free()). */
void probes_find(int fd, const char *path, const struct event_set *set, probe_points *out)
{
	struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	for (size_t i = 0; m && i < m->markers.n; i++) {
		const struct event_entry *e = armed_event(set, &m->markers.at[i]);

		if (e && has_prober(m, fd, path))
			add_point(m, &m->markers.at[i], set, e, out);
	}
	if (m) {
		add_all_defined(m, fd, path, set, out);
		add_calls(m, fd, path, set, out);
	}
	pthread_mutex_unlock(&lock);
	probes_sort(out);
}

void probes_sort(probe_points *p)
{
	if (p->n)
		qsort(p->at, p->n, sizeof(p->at[0]), by_address);
}

/* Lock held. Adds a place at the handler's entry. A plan that would move bytes before it is
 * refused. */
static void add_handler(struct marked *m, const struct event_set *set, uint64_t vaddr,
			uint64_t address, probe_points *out)
{
	struct probe_point p = { .kind = PROBE_SIGNAL,
				 .event = task_points_event(set, TASK_SIGNAL) };
	struct signal_info *about;

	p.plan = *hook_probe_plan(m->prober, entry_of(hook_prober_module(m->prober), vaddr));
	if (p.plan.kind != HOOK_NONE && p.plan.before) {
		/* a caller jumps to the entry, and not through the bytes before it */
		p.plan.kind = HOOK_NONE;
		p.plan.reason = REASON_TOO_SHORT;
	}
	p.program_bytes = (uint32_t)offsetof(struct signal_info, tasks) + task_points_bytes(set);
	p.program = about = mem_zalloc(p.program_bytes);
	about->handler = address;
	task_points_write(set, &about->tasks, true);
	*vec_add(out) = p;
}

/* Uses what probes_find has found, which is kept. If another file has taken the place meanwhile,
 * its calls are not known, and no reason is told. */
enum hook_reason probes_hidden_handlers(int fd)
{
	enum hook_reason reason = REASON_NONE;
	const struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, "");
	for (size_t i = 0; m && m->calls_known && i < m->calls.n; i++) {
		const struct hook_syscall *c = &m->calls.at[i];

		if (c->number == SYS_rt_sigaction && c->before->kind == HOOK_NONE)
			reason = c->before->reason ? c->before->reason : REASON_NOT_CODE;
	}
	pthread_mutex_unlock(&lock);
	return reason;
}

/* vaddr is that in the file, address that in the process. */
void probes_add_handler(int fd, const char *path, const struct event_set *set, uint64_t vaddr,
			uint64_t address, probe_points *out)
{
	struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	if (m && has_prober(m, fd, path))
		add_handler(m, set, vaddr, address, out);
	pthread_mutex_unlock(&lock);
}

/* Lock held. Counts the places of the marker that is first at index `first`. */
static void count_sites(struct marked *m, size_t first, struct probe_marker *out)
{
	for (size_t i = first; i < m->markers.n; i++) {
		const struct hook_probe *plan;

		if (!is_same_marker(&m->markers.at[i], &m->markers.at[first]))
			continue;
		plan = hook_probe_plan(m->prober, m->markers.at[i].vaddr);
		out->sites++;
		if (plan->kind == HOOK_NONE && !out->refused++)
			out->reason = plan->reason;
	}
}

/* Shows nothing of a file whose instructions cannot be read. */
void probes_list(int fd, const char *path, void (*f)(void *context, const struct probe_marker *m),
		 void *context)
{
	struct marked *m;

	pthread_mutex_lock(&lock);
	m = marked_file(fd, path);
	for (size_t i = 0; m && i < m->markers.n; i++) {
		struct probe_marker out = { .name = m->markers.at[i].name };
		char *system = system_of(&m->markers.at[i]);

		out.system = system;
		if (is_first(&m->markers, i) && has_prober(m, fd, path)) {
			count_sites(m, i, &out);
			f(context, &out);
		}
		free(system);
	}
	pthread_mutex_unlock(&lock);
}

void probes_free(probe_points *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->at[i].program);
		free(p->at[i].filter);
	}
	vec_free(p);
}
