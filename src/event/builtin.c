/* ftrace's own events as far as a traced program has them, with the numbers and layouts of Linux 6.12, which
 * trace-cmd and libtraceevent look up by these names. Addresses are the traced program's. */
#include "event/format.h"

#define EVENT(id_, name_, print_, ...)                                                                \
	{ "ftrace", name_, id_, (const struct event_field[]){ __VA_ARGS__ },                          \
	  sizeof((const struct event_field[]){ __VA_ARGS__ }) / sizeof(struct event_field), print_ }
#define CALLER(i) ", (void *)REC->caller[" #i "]"

static const struct event_format builtin[] = {
	EVENT(1, "function", "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip",
	      { "unsigned long", "ip", 8, 8, false },
	      { "unsigned long", "parent_ip", 16, 8, false }),
	EVENT(11, "funcgraph_entry", "\"--> %ps (%d)\", (void *)REC->func, REC->depth",
	      { "unsigned long", "func", 8, 8, false },
	      { "int", "depth", 16, 4, true }),
	EVENT(10, "funcgraph_exit",
	      "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, "
	      "REC->calltime, REC->rettime, REC->depth",
	      { "unsigned long", "func", 8, 8, false },
	      { "int", "depth", 16, 4, true },
	      { "unsigned int", "overrun", 20, 4, false },
	      { "unsigned long long", "calltime", 24, 8, false },
	      { "unsigned long long", "rettime", 32, 8, false }),
	EVENT(5, "print", "\"%ps: %s\", (void *)REC->ip, REC->buf",
	      { "unsigned long", "ip", 8, 8, false },
	      { "char[]", "buf", 16, 0, false }),
	EVENT(12, "user_stack",
	      "\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "
	      "\"\\t=> %ps\\n\\t=> %ps\\n\"" CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) CALLER(6)
	      CALLER(7),
	      { "unsigned int", "tgid", 8, 4, false },
	      { "unsigned long[8]", "caller", 16, 64, false }),
	EVENT(18, "raw_data", "\"id:%04x %08x\", REC->id, (int)REC->buf[0]",
	      { "unsigned int", "id", 8, 4, false },
	      { "char[]", "buf", 12, 0, false }),
};

const struct event_format *event_builtin(size_t *n)
{
	*n = sizeof(builtin) / sizeof(builtin[0]);
	return builtin;
}
