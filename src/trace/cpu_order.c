/* SPDX-License-Identifier: MIT */
/* Times that keep a thread's records in order across CPUs. buffer_raw.c (the binary pages of a
 * tree, under its lock) and export/trace_dat.c own one each. Nothing here fails. */
#include "trace/cpu_order.h"

/* No clock's step is longer. A record that is further behind came late; its time stays, since the
 * stamps are the program's, and one from the future must not draw all later ones after it. */
#define STEP_NS 16u

uint64_t cpu_order_time(struct cpu_order *o, uint32_t thread, uint32_t cpu, uint64_t ns)
{
	struct cpu_order_thread *last;

	while (o->threads.n <= thread)
		*vec_add(&o->threads) = (struct cpu_order_thread){ 0 };
	last = &o->threads.at[thread];
	if (ns <= last->ns && last->ns - ns < STEP_NS)
		ns = last->ns + (cpu != last->cpu);
	*last = (struct cpu_order_thread){ .ns = ns, .cpu = cpu };
	return ns;
}

void cpu_order_free(struct cpu_order *o)
{
	vec_free(&o->threads);
}
