/* SPDX-License-Identifier: MIT */
/* brace stack: the stacks of a running process's threads, which is what a process that hangs is
 * asked for. main() calls it, on brace's only thread. Nothing is written into the process. A
 * failure is said, and is EXIT_BRACE. */
#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "base/json.h"
#include "base/path.h"
#include "event/syscalls.h"
#include "image/thread_stacks.h"
#include "tracee/proc_status.h"
#include "ui/commands.h"
#include "ui/say.h"
#include "ui/screen.h"

/* Bytes of a demangled name; a longer one, of C++ templates mostly, is cut by demangle(). */
#define NAME_MOST 1024

/* A frame, as it is printed. name "": its file has no symbol for it. */
struct stack_place {
	const char *path, *source; /* source: its source file; NULL: not known */
	char name[NAME_MOST];
	uint64_t behind;
	uint32_t line;
};

/* The paths are those of `s`, and valid as long as it is. */
static struct stack_place place_of(struct thread_stacks *s, const struct stack_frame *f)
{
	struct stack_place p = { .path = thread_stacks_path(s, f) };
	const char *symbol = thread_stacks_symbol(s, f, &p.behind);

	if (symbol)
		demangle(symbol, p.name, sizeof(p.name));
	p.source = thread_stacks_source(s, f, &p.line);
	return p;
}

/* The kernel's name of a system call; NULL: the thread is in none, or in one without a name. */
static const char *call_name(const struct standing_stack *t)
{
	const struct syscall_info *call =
		t->call < 0 ? NULL : syscall_by_number((uint32_t)t->call);

	return call ? call->name : NULL;
}

/* Why the stack ends where it does; NULL: it is whole. */
static const char *end_of(const struct standing_stack *t)
{
	switch (t->end) {
	case STACK_NO_TABLE: return "no unwind table says who called this";
	case STACK_LONG: return "more calls are open";
	default: return NULL;
	}
}

/* --- text ------------------------------------------------------------------------------------ */

/* The name is read now, after the walk: a thread that has ended meanwhile is "?". `call` < 0: the
 * thread was in no system call when it was stopped. */
static void print_head(const struct standing_stack *t, struct out *o)
{
	const char *call = call_name(t);
	/* TASK_COMM_LEN of the kernel, with the NUL. */
	char comm[16];

	proc_name(t->tid, comm);
	out_printf(o, "thread %d (", (int)t->tid);
	out_name(o, comm, sizeof(comm));
	if (call)
		out_printf(o, "), in the system call %s\n", call);
	else
		out_printf(o, t->call < 0 ? "), runs\n" : "), in system call %" PRId64 "\n", t->call);
}

/* As the trace names functions without a symbol: by where they are in the file. */
static void print_frame(struct thread_stacks *s, const struct stack_frame *f, size_t i,
			struct out *o)
{
	struct stack_place p = place_of(s, f);

	out_printf(o, "  #%-3zu 0x%016" PRIx64 " ", i, f->pc);
	if (f->signal) {
		out_str(o, "<a signal interrupted>\n");
		return;
	}
	if (*p.name) {
		out_foreign(o, p.name, sizeof(p.name));
		out_printf(o, "+0x%" PRIx64, p.behind);
	} else {
		out_str(o, "??");
	}
	if (p.path) {
		const char *file = path_file_name(p.path);

		out_str(o, " [");
		out_foreign(o, file, strlen(file));
		/* A caller's `vaddr` is one byte before the return address (frame_at() of
		 * image/thread_stacks.c): a call that never returns may be the last instruction of
		 * its function. What is printed is the return address, as in pc. */
		if (!*p.name)
			out_printf(o, "+0x%" PRIx64,
				   (f->placed ? f->vaddr : f->offset) + f->returns);
		out_char(o, ']');
	}
	if (p.source) {
		const char *file = path_file_name(p.source);

		out_str(o, " at ");
		out_foreign(o, file, strlen(file));
		out_printf(o, ":%" PRIu32, p.line);
	}
	/* Said, because a function without a frame pointer makes such a chain skip callers or name
	 * wrong ones. */
	if (f->by_frame)
		out_str(o, " (by the frame pointer)");
	out_char(o, '\n');
}

/* Numbers of frames begin at 0 in each thread, as gdb's do. An incomplete stack says so: its last
 * frame would else look like the thread's first function. */
static void print_text(struct thread_stacks *s, struct out *o)
{
	for (size_t i = 0; i < thread_stacks_count(s); i++) {
		const struct standing_stack *t = thread_stacks_at(s, i);
		const char *end = end_of(t);

		if (i)
			out_char(o, '\n');
		print_head(t, o);
		for (size_t k = 0; k < t->frames.n; k++)
			print_frame(s, &t->frames.at[k], k, o);
		if (end)
			out_printf(o, "  (%s)\n", end);
	}
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* Addresses are texts: 64 bits would not be exact in every reader. */
static void print_json_frame(struct thread_stacks *s, const struct stack_frame *f, struct out *o)
{
	struct stack_place p = place_of(s, f);

	out_printf(o, "{\"pc\":\"0x%" PRIx64 "\",\"function\":", f->pc);
	json_string(o, *p.name ? p.name : NULL);
	out_str(o, ",\"offset\":");
	if (*p.name)
		out_printf(o, "%" PRIu64, p.behind);
	else
		out_str(o, "null");
	out_str(o, ",\"file\":");
	json_string(o, p.path);
	out_str(o, ",\"source\":");
	json_string(o, p.source);
	out_str(o, ",\"line\":");
	if (p.source)
		out_printf(o, "%" PRIu32, p.line);
	else
		out_str(o, "null");
	out_printf(o, ",\"signal\":%s,\"by_frame_pointer\":%s}", f->signal ? "true" : "false",
		   f->by_frame ? "true" : "false");
}

/* One object a line for each thread, so that a reader need not hold the whole answer. */
static void print_json_thread(pid_t pid, struct thread_stacks *s, const struct standing_stack *t,
			      struct out *o)
{
	char comm[16];

	proc_name(t->tid, comm);
	out_printf(o, "{\"pid\":%d,\"tid\":%d,\"comm\":", (int)pid, (int)t->tid);
	json_string(o, comm);
	out_str(o, ",\"syscall\":");
	json_string(o, call_name(t));
	out_printf(o, ",\"whole\":%s,\"frames\":[", t->end == STACK_WHOLE ? "true" : "false");
	for (size_t k = 0; k < t->frames.n; k++) {
		if (k)
			out_char(o, ',');
		print_json_frame(s, &t->frames.at[k], o);
	}
	out_str(o, "]}\n");
}

/* stopped_ns is the longest time that a thread stood still for the look: the price of the command
 * in production. */
static void print_json(pid_t pid, struct thread_stacks *s, struct out *o)
{
	out_printf(o, "{\"schema\":\"brace-stack\",\"version\":1,\"pid\":%d,\"threads\":%zu,\"stopped_ns\":%" PRIu64 "}\n",
		   (int)pid, thread_stacks_count(s), thread_stacks_stood(s));
	for (size_t i = 0; i < thread_stacks_count(s); i++)
		print_json_thread(pid, s, thread_stacks_at(s, i), o);
}

/* --- the command ----------------------------------------------------------------------------- */

/* One process after the other; ends at the first that cannot be looked at. */
int cmd_stack(struct invocation *inv)
{
	struct screen o;
	int status = 0;

	if (!inv->pids.n) {
		say("brace: stack looks at a process: name it with -p\n");
		return EXIT_BRACE;
	}
	if (screen_open_output(&o, inv, SCREEN_PAGED, NULL))
		return EXIT_BRACE;
	for (size_t i = 0; i < inv->pids.n && !status; i++) {
		struct thread_stacks *s;
		struct err err;

		if (thread_stacks_take(inv->pids.at[i], &s, &err)) {
			status = say_error(&err);
			break;
		}
		/* The process runs on already: debug information is read from files, which may take
		 * seconds. */
		thread_stacks_read_sources(s);
		if (i && !inv->json)
			out_char(&o.text, '\n');
		if (inv->json)
			print_json(inv->pids.at[i], s, &o.text);
		else
			print_text(s, &o.text);
		thread_stacks_free(s);
	}
	return screen_close(&o, status);
}
