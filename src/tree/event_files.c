/* SPDX-License-Identifier: MIT */
/* events/ and what names events: set_event, available_events, and per event enable, filter, trigger, format, id. Every
 * write is one change of the instance's settings. The directories follow the catalogue. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "model/units.h"
#include "tree/instance_internal.h"

#define NAME_MAX_BYTES 127u /* of set_event, as the kernel's */

static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

static void show_line(struct out *text, const char *line)
{
	out_str(text, line);
	out_char(text, '\n');
}

/* Takes the string over. */
static void show_text(struct out *text, char *string)
{
	out_str(text, string);
	free(string);
}

/* --- a change of one event, or of a system --------------------------------------------- */

struct event_change {
	const struct event_entry *event;
	const char *system;          /* NULL: all */
	const char *text;
	bool on;
	int result;                  /* of a filter that is refused: the settings change nevertheless */
	struct filter_fault fault;
	unsigned faults;
};

/* A filter's fault stands in the error_log as the kernel has it there: the filter alone, without what is around it. */
static int tell_fault(struct tree_file *f, const struct filter_fault *fault, unsigned times, struct err *err)
{
	for (unsigned i = 0; i < times; i++)
		instance_log(instance_of(f), FILTER_FAULT_LOCATION, filter_error_text[fault->error], fault->text,
			     fault->length, fault->position);
	f->told = true;
	return filter_fault_err(fault, err);
}

/* What is shown of the event may be other than the settings have it. Tools read and write the files of all events. */
static void catch_up(struct instance *in, const struct event_entry *e)
{
	bool switched;

	pthread_mutex_lock(&in->lock);
	switched = event_set_switched(&in->settings.events, e->index);
	pthread_mutex_unlock(&in->lock);
	if (switched)
		instance_catch_up(in);
}

/* --- enable ------------------------------------------------------------------------- */

static int switch_event(struct settings *next, void *arg, struct err *err)
{
	const struct event_change *c = arg;

	event_set_enable(&next->events, c->event->index, c->on);
	return 0;
}

static int switch_system(struct settings *next, void *arg, struct err *err)
{
	const struct event_change *c = arg;

	event_set_enable_system(&next->events, c->system, c->on);
	return 0;
}

/* "0" or "1", a newline behind it or not. */
static int parse_switch(const char *text, bool *on, struct err *err)
{
	size_t length = strlen(text);
	char *value = mem_strndup(text, length - (length && text[length - 1] == '\n'));
	uint64_t n;
	int e = parse_number(value, "enable", 0, UINT64_MAX, &n, err);

	free(value);
	*on = !e && n;
	return e || n > 1 ? err_at(err, e ? -e : EINVAL, text, 0, "an event is off (0) or on (1)") : 0;
}

static ssize_t write_enable(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .event = f->arg };
	int e = parse_switch(text, &c.on, err);

	if (!e)
		catch_up(instance_of(f), f->arg);
	if (!e)
		e = instance_change(instance_of(f), "events", switch_event, &c, err);
	return e ? e : (ssize_t)n;
}

static ssize_t write_enable_system(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .system = f->arg };
	int e = parse_switch(text, &c.on, err);

	if (!e)
		instance_catch_up(instance_of(f));
	if (!e)
		e = instance_change(instance_of(f), "events", switch_system, &c, err);
	return e ? e : (ssize_t)n;
}

static int show_enable(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	const struct event_entry *event = f->arg;

	catch_up(in, event);
	pthread_mutex_lock(&in->lock);
	show_line(text, event_set_read_enable(&in->settings.events, event->index));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static int show_enable_system(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	instance_catch_up(in);
	pthread_mutex_lock(&in->lock);
	show_line(text, event_set_read_system(&in->settings.events, f->arg));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static const struct tree_file_ops enable = { .show = show_enable, .write = write_enable };
static const struct tree_file_ops enable_system = { .show = show_enable_system, .write = write_enable_system };

/* --- filter ------------------------------------------------------------------------- */

static int change_filter(struct settings *next, void *arg, struct err *err)
{
	struct event_change *c = arg;

	if (c->event)
		c->result = event_set_filter(&next->events, c->event->index, c->text, &c->fault);
	else
		c->result = event_set_filter_system(&next->events, c->system, c->text, &c->fault, &c->faults);
	if (c->event)
		c->faults = c->result < 0;
	if (c->result < 0 && !c->fault.code)
		return err_set(err, -c->result, "a filter has at most %u characters", FILTER_TEXT_MAX - 1);
	return 0;
}

static ssize_t take_filter(struct tree_file *f, struct event_change *c, size_t n, struct err *err)
{
	int e = instance_change(instance_of(f), "events", change_filter, c, err);

	if (!e && c->faults)
		tell_fault(f, &c->fault, c->faults, err);
	e = e ? e : c->result;
	return e ? e : (ssize_t)n;
}

static ssize_t write_filter(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .event = f->arg, .text = text };

	return take_filter(f, &c, n, err);
}

static ssize_t write_filter_system(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .system = f->arg, .text = text };

	return take_filter(f, &c, n, err);
}

static int show_filter(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	const struct event_entry *event = f->arg;

	pthread_mutex_lock(&in->lock);
	show_text(text, event_filter_read(&event_set_get(&in->settings.events, event->index)->filter));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static int show_filter_system(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	pthread_mutex_lock(&in->lock);
	show_text(text, event_set_read_filter_system(&in->settings.events, f->arg));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static const struct tree_file_ops filter = { .show = show_filter, .write = write_filter };
static const struct tree_file_ops filter_system = { .show = show_filter_system, .write = write_filter_system };

/* --- trigger ------------------------------------------------------------------------ */

static int change_triggers(struct settings *next, void *arg, struct err *err)
{
	struct event_change *c = arg;
	int e = event_set_trigger(&next->events, c->event->index, c->text, &c->fault);

	if (!e || c->fault.code)
		return e;
	if (e == -EEXIST)
		return err_at(err, EEXIST, c->text, 0, "the event has a trigger of this kind already; ! takes it away");
	return err_at(err, -e, c->text, 0, "no trigger: one is traceon, traceoff, stacktrace or snapshot, each with [:COUNT], or "
								 "enable_event or disable_event:SYSTEM:EVENT[:COUNT]; [if FILTER] behind it");
}

/* What nobody would run is refused; taking triggers away is not. */
static int can_trigger(struct instance *in, const char *text, struct err *err)
{
	struct tree_target t = instance_hold(in);
	bool can = !t.ops->apply || t.ops->commands || text[strspn(text, " \t\n")] == '!';

	instance_release(in);
	return can ? 0 : err_at(err, EINVAL, text, 0, "triggers are not run over these processes");
}

static ssize_t write_trigger(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .event = f->arg, .text = text };
	int e = can_trigger(instance_of(f), text, err);

	if (!e)
		e = instance_change(instance_of(f), "events", change_triggers, &c, err);
	if (e && c.fault.code)
		tell_fault(f, &c.fault, 1, err);
	return e ? e : (ssize_t)n;
}

static int show_triggers(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	const struct event_entry *event = f->arg;

	catch_up(in, event);
	pthread_mutex_lock(&in->lock);
	show_text(text, trigger_read(&event_set_get(&in->settings.events, event->index)->triggers));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static const struct tree_file_ops trigger = { .show = show_triggers, .write = write_trigger };

/* --- what does not change ------------------------------------------------------------- */

static int show_format(struct tree_file *f, struct out *text, struct err *err)
{
	const struct event_entry *event = f->arg;

	out_str(text, event->text);
	return 0;
}

static int show_id(struct tree_file *f, struct out *text, struct err *err)
{
	const struct event_entry *event = f->arg;

	out_printf(text, "%u\n", event->format->id);
	return 0;
}

static int show_header(struct tree_file *f, struct out *text, struct err *err)
{
	out_str(text, f->arg);
	return 0;
}

/* A sub-buffer of trace_pipe_raw. */
static int show_header_page(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	uint32_t kb;

	pthread_mutex_lock(&in->lock);
	kb = in->settings.subbuf_kb;
	pthread_mutex_unlock(&in->lock);
	out_printf(text,
		   "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		   "\tfield: char data;\toffset:16;\tsize:%u;\tsigned:0;\n",
		   kb * 1024 - 16);
	return 0;
}

static const struct tree_file_ops header_page = { .show = show_header_page };
static const struct tree_file_ops format = { .show = show_format };
static const struct tree_file_ops id = { .show = show_id };
static const struct tree_file_ops header = { .show = show_header };

/* The 32 bits before each record of trace_pipe_raw. */
static const char header_event[] =
	"# compressed entry header\n"
	"\ttype_len    :    5 bits\n"
	"\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n"
	"\n"
	"\tpadding     : type == 29\n"
	"\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n"
	"\tdata max type_len  == 28\n";

/* --- set_event ---------------------------------------------------------------------- */

static int clear_events(struct tree_file *f, struct err *err)
{
	return instance_write(instance_of(f), "set_event", "", false, err);
}

/* One name of the text, and the blank behind it: the rest comes again. */
static ssize_t write_event(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	size_t begin = 0, end;
	char *name;
	int e;

	while (begin < n && isspace((unsigned char)text[begin]))
		begin++;
	for (end = begin; end < n && text[end] && !isspace((unsigned char)text[end]);)
		end++;
	if (end - begin > NAME_MAX_BYTES)
		return err_at(err, EINVAL, text, begin, "a name has at most %u characters", NAME_MAX_BYTES);
	if (end == begin)
		return (ssize_t)(end + (end < n));
	name = mem_strndup(text + begin, end - begin);
	e = instance_write(instance_of(f), "set_event", name, true, err);
	free(name);
	return e ? e : (ssize_t)(end + (end < n));
}

static int show_set(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	instance_catch_up(in);
	pthread_mutex_lock(&in->lock);
	show_text(text, event_set_read(&in->settings.events));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static int show_available(struct tree_file *f, struct out *text, struct err *err)
{
	struct event_catalogue *c = instance_of(f)->events;
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(c, i);

		if (events_can_enable(e))
			out_printf(text, "%s:%s\n", e->format->system, e->format->name);
	}
	return 0;
}

const struct tree_file_ops set_event_file = { .truncate = clear_events, .show = show_set, .write = write_event };
const struct tree_file_ops available_events_file = { .show = show_available };

/* --- set_event_pid and the like ------------------------------------------------------- */

static int clear_pids(struct tree_file *f, struct err *err)
{
	return instance_write(instance_of(f), f->arg, "", false, err);
}

static ssize_t write_pids(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	int e = instance_write(instance_of(f), f->arg, text, true, err);

	return e ? e : (ssize_t)n;
}

static int show_pids(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	instance_catch_up(in); /* with event-fork and function-fork threads come and go by themselves */
	pthread_mutex_lock(&in->lock);
	show_text(text, settings_read(&in->settings, f->arg));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

const struct tree_file_ops pid_list_file = { .truncate = clear_pids, .show = show_pids, .write = write_pids };

/* --- directories -------------------------------------------------------------------- */

static void fill_event(struct tree_node *dir, const struct event_entry *e)
{
	bool can = events_can_enable(e);

	if (can) {
		tree_file(dir, "enable", 0640, &enable, e);
		tree_file(dir, "filter", 0640, &filter, e);
	}
	tree_file(dir, "format", 0440, &format, e);
	tree_file(dir, "id", 0440, &id, e);
	if (can || !strcmp(e->format->name, "print"))
		tree_file(dir, "trigger", 0640, &trigger, e);
}

/* The system's directory, held; the system itself stays with the event it came with. */
static struct tree_node *system_dir(struct instance *in, const struct event_entry *e)
{
	const char *system = e->format->system;
	struct tree_node *dir = tree_lookup(in->events_dir, system);

	if (dir)
		return dir;
	dir = tree_dir_new(in->tree, system, 0755, NULL, &in->owner);
	if (events_can_enable(e)) {
		tree_file(dir, "enable", 0640, &enable_system, system);
		tree_file(dir, "filter", 0640, &filter_system, system);
	}
	return tree_attach(in->events_dir, dir) ? NULL : tree_lookup(in->events_dir, system);
}

/* Where the instance is just being removed nothing can be attached any more. */
void event_files_grow(struct instance *in)
{
	uint32_t n = events_n(in->events);

	for (; in->events_shown < n; in->events_shown++) {
		const struct event_entry *e = events_at(in->events, in->events_shown);
		struct tree_node *system = system_dir(in, e), *dir;

		if (!system)
			return;
		dir = tree_dir_new(in->tree, e->format->name, 0755, NULL, &in->owner);
		fill_event(dir, e);
		tree_attach(system, dir);
		tree_put(system);
	}
}

void event_files_fill(struct instance *in, struct tree_node *dir)
{
	in->events_dir = tree_dir(dir, "events", 0755, NULL);
	tree_file(in->events_dir, "enable", 0640, &enable_system, NULL);
	tree_file(in->events_dir, "header_event", 0440, &header, header_event);
	tree_file(in->events_dir, "header_page", 0440, &header_page, NULL);
}
