/* A program on libtracefs that knows nothing of brace: traces a function as it would the kernel's,
 * lets a command run meanwhile, and prints what it reads from the raw buffers: "CALLS of FUNCTION
 * by PID", and the sum of the times between.
 *
 *	tracefs FUNCTION COMMAND...	the top directory, then an instance of its own */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tracefs.h>
#include <unistd.h>

struct seen { const char *function; unsigned calls, others, back; int pid; unsigned long long last; };

static int count(struct tep_event *event, struct tep_record *record, int cpu, void *context)
{
	struct seen *s = context;
	unsigned long long ip;
	const char *name;

	if (strcmp(event->name, "function") || tep_get_field_val(NULL, event, "ip", record, &ip, 1)) {
		s->others++;
		return 0;
	}
	name = tep_find_function(event->tep, ip);
	if (!name || strcmp(name, s->function))
		s->others++;
	else
		s->calls++;
	s->back += record->ts < s->last;
	s->last = record->ts;
	s->pid = tep_data_pid(event->tep, record);
	return 0;
}

static int run(char **command)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int trace(struct tracefs_instance *instance, const char *function, char **command)
{
	struct seen s = { .function = function };
	struct tep_handle *tep;

	if (tracefs_trace_off(instance) || tracefs_function_filter(instance, function, NULL, TRACEFS_FL_RESET) ||
	    tracefs_tracer_set(instance, TRACEFS_TRACER_FUNCTION) || tracefs_trace_on(instance))
		return 1;
	if (run(command) || tracefs_trace_off(instance))
		return 1;
	tep = tracefs_local_events(NULL);
	if (!tep || tracefs_iterate_raw_events(tep, instance, NULL, 0, count, &s))
		return 1;
	printf("%u of %s by %d; %u others, %u out of order\n", s.calls, function, s.pid, s.others, s.back);
	tracefs_tracer_clear(instance);
	tep_free(tep);
	return 0;
}

int main(int argc, char **argv)
{
	struct tracefs_instance *own;
	int e = argc < 3 || trace(NULL, argv[1], argv + 2);

	own = e ? NULL : tracefs_instance_create("own");
	if (own) {
		e = trace(own, argv[1], argv + 2) || tracefs_trace_on(NULL);
		tracefs_instance_destroy(own);
		tracefs_instance_free(own);
	}
	if (e || !own)
		perror("tracefs");
	return e || !own;
}
