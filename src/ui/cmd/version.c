#include "ui/commands.h"
#include "ui/output.h"

int cmd_version(struct invocation *inv)
{
	struct output o;

	output_open(&o, inv, OUTPUT_PLAIN);
	out_printf(&o.text, "brace %s\n", BRACE_VERSION);
	return output_close(&o, 0);
}
