/* Prints libtracefs's translation of a statement, as its sample sqlhist does: the `echo`s for the
 * tree at /sys/kernel/tracing.
 *
 *	sqlhist NAME STATEMENT
 *
 * Ends with 1 if libtracefs refuses the statement. */
#include <stdio.h>
#include <stdlib.h>
#include <tracefs.h>

int main(int argc, char **argv)
{
	struct tep_handle *events = argc == 3 ? tracefs_local_events(NULL) : NULL;
	struct tracefs_synth *synth;
	struct trace_seq text;
	char *why = NULL;

	if (!events)
		return 2;
	synth = tracefs_sql(events, argv[1], argv[2], &why);
	if (!synth) {
		fprintf(stderr, "%s\n", why ? why : "refused");
		return 1;
	}
	trace_seq_init(&text);
	if (tracefs_synth_complete(synth))
		tracefs_synth_echo_cmd(&text, synth);
	else
		tracefs_hist_echo_cmd(&text, NULL, tracefs_synth_get_start_hist(synth),
				      TRACEFS_HIST_CMD_START);
	trace_seq_do_printf(&text);
	trace_seq_destroy(&text);
	tracefs_synth_free(synth);
	tep_free(events);
	return 0;
}
