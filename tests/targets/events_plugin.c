/* Opened by dlopen: an event that was not there when tracing began. */
#include "brace/event.h"

BRACE_EVENT(plugin, opened, BRACE_PROTO(int n), BRACE_ARGS(n), BRACE_FIELDS(BRACE_FIELD(int, n, n)), BRACE_PRINT("n=%d", REC->n))

void emit_from_plugin(int n);

void emit_from_plugin(int n)
{
	brace_plugin_opened(n);
}
