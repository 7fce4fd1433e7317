/* SPDX-License-Identifier: MIT */
#include "ui/trace_file.h"

#include <inttypes.h>

#include "ui/say.h"

int trace_file_open(const struct invocation *inv, struct store_reader **out)
{
	const char *path = inv->n_operands ? inv->operands[0] : "trace.brace";
	uint64_t lost;
	struct err err;

	if (store_open(path, out, &err))
		return say_error(&err);
	store_info(*out)->charge_handlers = inv->charge_handlers;
	if (store_was_cut(*out, &lost))
		say_warning("%s ends early; this is what was written before the cut (%" PRIu64
			    " bytes behind it cannot be read)", path, lost);
	return 0;
}
