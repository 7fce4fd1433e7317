/* SPDX-License-Identifier: MIT */
/* Plans use it on their own threads; lists by process belong to the control
 * (session/control_internal.h), and handlers_look() holds the process in a holder. Nothing fails: a
 * handler that cannot be probed is noted for the user. */
#include "image/handlers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "image/providers.h"
#include "collect/messages.h"
#include "image/task_points.h"
#include "shared/probe.h"
#include "tracee/holder.h"
#include "tracee/proc_status.h"

/* Numbers of signals, and the bytes of a signal set, of the kernel's rt_sigaction on this machine.
 * The kernel refuses any other size of a set (EINVAL). */
#define SIGNALS 64
#define MASK_BYTES 8
/* Lists of ended processes are dropped beyond so many. */
#define DEAD_MAX 64u

/* --- which handlers there are ----------------------------------------------------------------- */

bool handlers_wanted(const struct event_set *set)
{
	return task_points_event(set, TASK_SIGNAL) != TASK_NO_EVENT;
}

bool handlers_pending(struct event_set *set)
{
	struct err ignored;

	if (!set->catalogue)
		return false;
	providers_everybodys(set->catalogue);
	return event_set_grow(set, &ignored) == 0 && handlers_wanted(set);
}

bool handlers_have(const handler_list *l, uint64_t handler)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (l->at[i] == handler)
			return true;
	return false;
}

/* Several signals mostly share a handler: each stands in the list once. Twice would be two probes
 * at one address. */
static void add_handler(handler_list *l, uint64_t handler)
{
	if (!handlers_have(l, handler))
		*vec_add(l) = handler;
}

void handlers_join(handler_list *to, const handler_list *more)
{
	for (size_t i = 0; i < more->n; i++)
		add_handler(to, more->at[i]);
}

void handlers_read(struct tracee *t, handler_list *out)
{
	struct proc_status s;
	struct err ignored;
	uint64_t scratch, handler;

	if (proc_status_read(tracee_pid(t), &s) < 0 || !s.sig_caught ||
	    tracee_scratch(t, &scratch, &ignored) < 0)
		return;
	for (int sig = 1; sig <= SIGNALS; sig++) {
		/* rt_sigaction(sig, NULL, scratch, 8). The handler's address is the first word of
		 * the answer. */
		const uint64_t args[6] = { (uint64_t)sig, 0, scratch, MASK_BYTES };
		int64_t result;

		/* Only signals that have a handler, as /proc/PID/status tells, are asked for. */
		if (!(s.sig_caught >> (sig - 1) & 1) ||
		    tracee_syscall(t, SYS_rt_sigaction, args, &result, &ignored) < 0 ||
		    result < 0 || tracee_read(t, scratch, &handler, sizeof(handler), &ignored) < 0)
			continue;
		if (handler != (uint64_t)SIG_DFL && handler != (uint64_t)SIG_IGN)
			add_handler(out, handler);
	}
}

struct handler_look {
	pid_t pid;
	handler_list *out;
};

/* In a holder. */
static int look_there(void *of)
{
	const struct handler_look *l = of;
	struct tracee *t;
	struct err ignored;

	if (tracee_stop_unless_given_up(l->pid, &t, &ignored) == 0) {
		handlers_read(t, l->out);
		tracee_release(t);
	}
	return 0;
}

/* A holder, because ptrace obeys the thread alone that stopped the process. */
void handlers_look(pid_t pid, handler_list *out)
{
	struct handler_look l = { pid, out };
	struct err ignored;

	holder_run(look_there, &l, &ignored);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Whether the address lies between the module's first and last executable byte. */
static bool is_in(const struct module *mod, uint64_t address)
{
	return address >= mod->start && address < mod->end;
}

bool handlers_any(const struct module *mod, const struct event_set *set,
		  const handler_list *handlers)
{
	for (size_t i = 0; handlers && i < handlers->n; i++)
		if (is_in(mod, handlers->at[i]))
			return handlers_wanted(set);
	return false;
}

/* Without hooks the module's base is not known. */
void handlers_points(struct module *mod, const struct event_set *set, const handler_list *handlers)
{
	if (!mod->hooks || !handlers_any(mod, set, handlers))
		return;
	for (size_t i = 0; i < handlers->n; i++)
		if (is_in(mod, handlers->at[i]))
			probes_add_handler(mod->fd, mod->path, set, handlers->at[i] - mod->base,
					   handlers->at[i], &mod->probes);
	probes_sort(&mod->probes);
}

/* --- what became of them ---------------------------------------------------------------------- */

/* Names a handler by its function, or by the place in its file. */
static void name_it(const struct modules *m, struct handler_plan *h)
{
	for (size_t i = 0; i < m->at.n; i++) {
		const struct module *mod = &m->at.at[i];

		if (!is_in(mod, h->handler))
			continue;
		snprintf(h->name, sizeof(h->name), "%.24s+0x%llx", mod->name,
			 (unsigned long long)(h->handler - mod->base));
		for (uint32_t k = 0; mod->hooks && k < mod->hooks->n; k++)
			if (mod->hooks->functions[k].vaddr == h->handler - mod->base)
				hook_function_name(mod->hooks, k, h->name, sizeof(h->name));
		return;
	}
	snprintf(h->name, sizeof(h->name), "0x%llx", (unsigned long long)h->handler);
}

/* The handler's probe, and its module; NULL: there is none. A program of PROBE_SIGNAL is a struct
 * signal_info, by which the two are compared. */
static const struct probe_point *point_of(const struct modules *m, uint64_t handler,
					  const struct module **mod)
{
	for (size_t i = 0; i < m->at.n; i++) {
		*mod = &m->at.at[i];
		for (size_t k = 0; k < (*mod)->probes.n; k++) {
			const struct probe_point *p = &(*mod)->probes.at[k];

			if (p->kind == PROBE_SIGNAL &&
			    ((const struct signal_info *)p->program)->handler == handler)
				return p;
		}
	}
	return NULL;
}

/* Notes modules whose call of rt_sigaction cannot be hooked: their handlers come unseen. */
static void plan_hidden(const struct modules *m, struct image *im)
{
	for (size_t i = 0; i < m->at.n; i++) {
		struct handler_plan h = { .reason = (uint8_t)m->at.at[i].hidden };

		if (!h.reason)
			continue;
		snprintf(h.name, sizeof(h.name), "handlers set by %.22s", m->at.at[i].name);
		*vec_add(&im->handlers) = h;
	}
}

void handlers_plan(const struct image_request *req, const struct modules *m, struct image *im)
{
	if (!req->events || !handlers_wanted(req->events))
		return;
	plan_hidden(m, im);
	for (size_t i = 0; req->handlers && i < req->handlers->n; i++) {
		/* Not in a module's text: a translator's code, for example. */
		struct handler_plan h = { .handler = req->handlers->at[i],
					  .reason = REASON_NOT_CODE };
		const struct module *mod;
		const struct probe_point *p = point_of(m, h.handler, &mod);

		if (p)
			h.reason = p->plan.kind == HOOK_NONE ? p->plan.reason : REASON_NONE;
		if (p && !h.reason)
			h.patch = mod->base + p->plan.vaddr;
		name_it(m, &h);
		*vec_add(&im->handlers) = h;
	}
}

void handlers_tell(const struct image *im, pid_t pid, struct memory_messages *messages)
{
	for (size_t i = 0; i < im->handlers.n; i++) {
		const struct handler_plan *h = &im->handlers.at[i];
		enum hook_reason reason = h->patch ? image_patch_reason(im, h->patch) : h->reason;

		if (reason)
			messages_add_handler(messages, reason, pid, h->name);
	}
}

/* --- by process ------------------------------------------------------------------------------- */

/* Only when the list is long, because each process is asked for by a system call. Any other error
 * than ESRCH (EPERM: another user's) says that the process lives. */
static void drop_dead(struct process_handlers_list *l)
{
	size_t kept = 0;

	if (l->n < DEAD_MAX)
		return;
	for (size_t i = 0; i < l->n; i++) {
		if (kill(l->at[i].pid, 0) < 0 && errno == ESRCH)
			vec_free(&l->at[i].list);
		else
			l->at[kept++] = l->at[i];
	}
	l->n = kept;
}

handler_list *handlers_of(struct process_handlers_list *l, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].pid == pid)
			return &l->at[i].list;
	drop_dead(l);
	*vec_add(l) = (struct process_handlers){ .pid = pid };
	return &l->at[l->n - 1].list;
}

/* An exec resets all handlers, so that the list of the program before is void. */
void handlers_begin(struct process_handlers_list *l, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].pid == pid)
			l->at[i].list.n = 0;
}

void handlers_free(struct process_handlers_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		vec_free(&l->at[i].list);
	vec_free(l);
}
