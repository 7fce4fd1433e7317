/* brace graph: run a program and print its graph while it runs. */
#include "ui/commands.h"
#include "ui/screen.h"
#include "report/printer.h"
#include "ui/say.h"
#include "ui/summary.h"
#include "ui/traced.h"

struct live {
	struct screen output;
	struct printer printer;
	struct attendant attendant;
	struct session *session;
	const struct invocation *inv;
	uint64_t options; /* of the trace, by enum trace_option */
	bool fresh;       /* events came since the attendant last looked */
};

/* What waits for a next record is printed when none comes for a while. */
static void print_waiting(void *arg)
{
	struct live *l = arg;

	if (!l->fresh)
		printer_flush(&l->printer);
	l->fresh = false;
	out_flush(&l->output.text);
}

/* False when nobody reads any more. */
static bool print_event(struct live *l, const struct event *e)
{
	bool wanted;

	pthread_mutex_lock(&l->attendant.lock);
	wanted = !screen_is_done(&l->output);
	if (wanted)
		printer_event(&l->printer, e);
	l->fresh = true;
	pthread_mutex_unlock(&l->attendant.lock);
	return wanted;
}

/* When nobody reads any more the program goes on, unrecorded. */
static int print_all(struct live *l, struct err *err)
{
	struct source *source = session_source(l->session);
	bool stopped = false;
	struct event e;
	int r;

	printer_begin(&l->printer, source->info, l->options, &l->output.text);
	attendant_begin(&l->attendant, l->inv, l->session, print_waiting, l);
	while ((r = source->ops->next(source, &e, err)) > 0) {
		if (stopped || print_event(l, &e))
			continue;
		session_stop(l->session);
		stopped = true;
	}
	attendant_end(&l->attendant);
	printer_close(&l->printer);
	source->ops->close(source);
	return r;
}

static int open_output(struct live *l, const struct invocation *inv)
{
	if (inv->output)
		return screen_open_file(&l->output, inv->output);
	screen_open(&l->output, inv, SCREEN_PLAIN, paint_graph);
	return 0;
}

int cmd_graph(struct invocation *inv)
{
	struct session_result result = { 0 };
	struct live l = { 0 };
	struct err err;
	int status = open_output(&l, inv), e;

	if (status)
		return status;
	status = traced_start(inv, NULL, &l.session);
	if (status)
		return screen_close(&l.output, status);
	l.options = inv->settings.options;
	l.inv = inv;
	e = print_all(&l, &err);
	session_result(l.session, &result);
	session_free(l.session);
	status = screen_close(&l.output, 0);
	if (e)
		return say_error(&err);
	if (!inv->quiet)
		summary_print(&result, NULL);
	return status ? status : traced_exit(result.wait_status);
}
