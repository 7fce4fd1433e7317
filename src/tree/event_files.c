/* SPDX-License-Identifier: MIT */
/* events/ and the files that name events: set_event, available_events, show_event_filters,
 * show_event_triggers, and per event enable, filter, trigger, format, id. Every write is one change
 * of the instance's settings (instance_change). The directories follow the catalogue, which modules
 * of a running program may extend.
 *
 * Operations run on FUSE's worker threads or a command's thread; settings are read under in->lock.
 * A write that is wrong is -errno, with the kernel's sentence in error_log. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "hist/hist.h"
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

/* Prints the string and frees it. */
static void show_text(struct out *text, char *string)
{
	out_str(text, string);
	free(string);
}

/* --- a change of one event, or of a system --------------------------------------------- */

/* One write, as instance_change's callback sees it. */
struct event_change {
	const struct event_entry *event;
	const char *system;          /* NULL: all systems */
	const char *text;
	bool on;
	/* of a filter that is refused: the settings change all the same, because the kernel clears
	 * the old filter */
	int result;
	struct filter_fault fault;
	unsigned faults;
};

/* Logs a filter's error as the kernel does: the filter alone, without the text around it, once per
 * event it was refused for. A trigger's own error is logged with the event it was for. */
static int tell_fault(struct tree_file *f, const struct filter_fault *fault, unsigned times,
		      struct err *err)
{
	const struct event_entry *e = f->arg;
	char *location = fault->kind ? mem_printf("%s:%s:%s", fault->kind, e->format->system,
						  e->format->name)
				     : mem_strdup(FILTER_FAULT_LOCATION);

	for (unsigned i = 0; i < times; i++)
		instance_log(instance_of(f), location, filter_fault_sentence(fault), fault->text,
			     fault->length, fault->position);
	free(location);
	f->told = true;
	return filter_fault_err(fault, err);
}

/* Brings the settings up to date for an event that triggers may have switched. Asked first, because
 * tools read and write the files of hundreds of events, and catching up waits for the pump. */
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

/* Callbacks of instance_change(): they edit the copy that the target is asked to apply. c->event
 * may be of a module that has been unloaded; its entry stays in the catalogue. */
static int switch_event(struct settings *next, void *arg, struct err *err)
{
	const struct event_change *c = arg;

	event_set_enable(&next->events, c->event->index, c->on);
	return 0;
}

/* Without a system (events/enable) all events are switched. */
static int switch_system(struct settings *next, void *arg, struct err *err)
{
	const struct event_change *c = arg;

	event_set_enable_system(&next->events, c->system, c->on);
	return 0;
}

/* Parses "0" or "1", with or without a newline. */
static int parse_switch(const char *text, bool *on, struct err *err)
{
	size_t length = strlen(text);
	char *value = mem_strndup(text, length - (length && text[length - 1] == '\n'));
	uint64_t n;
	int e = units_parse_number(value, "enable", 0, UINT64_MAX, &n, err);

	free(value);
	*on = !e && n;
	/* 2 and more are refused like in the kernel, unlike other switches. */
	return e || n > 1 ? err_at(err, e ? -e : EINVAL, text, 0, "an event is off (0) or on (1)")
			  : 0;
}

/* Triggers that wait for older records are run first, else they would undo the write afterwards. */
static ssize_t write_enable(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .event = f->arg };
	int e = parse_switch(text, &c.on, err);

	if (!e)
		catch_up(instance_of(f), f->arg);
	if (!e)
		e = instance_change(instance_of(f), "set_event", switch_event, &c, err);
	return e ? e : (ssize_t)n;
}

/* Programs may have brought events of this system since the last look: they are meant as well. */
static ssize_t write_enable_system(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .system = f->arg };
	int e = parse_switch(text, &c.on, err);

	if (!e)
		instance_catch_up(instance_of(f));
	if (!e)
		e = instance_change(instance_of(f), "set_event", switch_system, &c, err);
	return e ? e : (ssize_t)n;
}

/* The text is "0" or "1", with a '*' behind it where triggers or commands concern the event. */
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

/* The text is "0", "1", "X" when the system's events differ, or "?" when it has none. */
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
static const struct tree_file_ops enable_system = { .show = show_enable_system,
						    .write = write_enable_system };

/* --- filter ------------------------------------------------------------------------- */

/* Never fails for a wrong filter: c->result has the error, and the change goes on. */
static int change_filter(struct settings *next, void *arg, struct err *err)
{
	struct event_change *c = arg;

	if (c->event)
		c->result = event_set_filter(&next->events, c->event->index, c->text, &c->fault);
	else
		c->result = event_set_filter_system(&next->events, c->system, c->text, &c->fault,
						    &c->faults);
	if (c->event)
		c->faults = c->result < 0;
	if (c->result < 0 && !c->fault.code)
		return err_set(err, -c->result, "a filter has at most %u characters",
			       FILTER_TEXT_MAX - 1);
	return 0;
}

/* Two results can fail: the change as a whole (the target refused it), and the filter alone, which
 * leaves the event without a filter. */
static ssize_t take_filter(struct tree_file *f, struct event_change *c, size_t n, struct err *err)
{
	int e = instance_change(instance_of(f), "set_event", change_filter, c, err);

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

/* Triggers never change a filter, so that there is nothing to catch up with. */
static int show_filter(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	const struct event_entry *event = f->arg;

	pthread_mutex_lock(&in->lock);
	show_text(text,
		  event_filter_read(&event_set_get(&in->settings.events, event->index)->filter));
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
static const struct tree_file_ops filter_system = { .show = show_filter_system,
						    .write = write_filter_system };

/* --- trigger ------------------------------------------------------------------------ */

/* Sets or removes triggers. The catalogue's sentence is chosen here, where the whole command is
 * known. */
static int change_triggers(struct settings *next, void *arg, struct err *err)
{
	struct event_change *c = arg;
	int e = event_set_trigger(&next->events, c->event->index, c->text, &c->fault);

	if (!e || c->fault.code)
		return e;
	if (e == -EEXIST)
		return err_at(err, EEXIST, c->text, 0,
			      "the event has a trigger of this kind already; ! takes it away");
	return err_at(
		err, -e, c->text, 0,
		"no trigger: one is traceon, traceoff, stacktrace or snapshot, each with [:COUNT], or "
		"enable_event or disable_event:SYSTEM:EVENT[:COUNT], or hist:keys=FIELD; [if FILTER] "
		"behind it");
}

/* Refuses triggers that nobody would run. Removing triggers is always possible. */
static int check_triggers_run(struct instance *in, const char *text, struct err *err)
{
	struct tree_target t = instance_lock(in);
	bool can = !t.ops->apply || t.ops->commands || text[strspn(text, " \t\n")] == '!';

	instance_unlock(in);
	return can ? 0 : err_at(err, EINVAL, text, 0, "triggers are not run over these processes");
}

/* A wrong filter within the command is logged as the filter alone, like the kernel does. */
static ssize_t write_trigger(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct event_change c = { .event = f->arg, .text = text };
	int e = check_triggers_run(instance_of(f), text, err);

	if (!e)
		e = instance_change(instance_of(f), "set_event", change_triggers, &c, err);
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
	show_text(text, event_set_read_triggers(&in->settings.events, event->index));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static int wipe_triggers(struct settings *next, void *arg, struct err *err)
{
	const struct event_change *c = arg;

	event_set_wipe_triggers(&next->events, c->event->index);
	return 0;
}

/* `>` removes histograms, and enable_hist and disable_hist, as in the kernel. */
static int truncate_triggers(struct tree_file *f, struct err *err)
{
	struct event_change c = { .event = f->arg };

	return instance_change(instance_of(f), "events", wipe_triggers, &c, err);
}

static const struct tree_file_ops trigger = { .truncate = truncate_triggers,
					      .show = show_triggers,
					      .write = write_trigger };

/* --- hist --------------------------------------------------------------------------- */

/* The settings are copied, because the target takes its own locks. */
void instance_hist(struct instance *in, const struct event_entry *event,
		   const struct hist_printer *printer, struct out *text)
{
	const struct trigger_list *l;
	struct hist_printer own = *printer;
	struct tree_target t;
	struct settings s;

	catch_up(in, event);
	instance_settings(in, &s);
	own.arg = own.arg ? own.arg : &s.events;
	l = &event_set_get(&s.events, event->index)->triggers;
	t = instance_lock(in);
	if (t.ops->hist)
		t.ops->hist(t.arg, l, &own, text);
	else
		own.print(own.arg, l, NULL, text);
	instance_unlock(in);
	settings_free(&s);
}

static int show_hist(struct tree_file *f, struct out *text, struct err *err)
{
	instance_hist(instance_of(f), f->arg, &hist_text_printer, text);
	return 0;
}

/* The lines as they were understood; kernels have it that are built for it. */
static int show_hist_debug(struct tree_file *f, struct out *text, struct err *err)
{
	instance_hist(instance_of(f), f->arg, &hist_debug_printer, text);
	return 0;
}

static const struct tree_file_ops hist = { .show = show_hist };
static const struct tree_file_ops hist_debug = { .show = show_hist_debug };

/* --- what does not change ------------------------------------------------------------- */

/* The catalogue has the text ready, with the event's number in it. */
static int show_format(struct tree_file *f, struct out *text, struct err *err)
{
	const struct event_entry *event = f->arg;

	out_str(text, event->text);
	return 0;
}

/* Records of trace_pipe_raw begin with this number. */
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

/* Describes a sub-buffer of trace_pipe_raw. */
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

/* Describes the 32 bits before each record of trace_pipe_raw. */
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

/* `> set_event` disables all events before the first name is written, as in the kernel. */
static int clear_events(struct tree_file *f, struct err *err)
{
	return instance_write(instance_of(f), "set_event", "", false, err);
}

/* Takes one name of the text and the blank behind it; the caller writes the rest again, as with the
 * kernel's file. */
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
		return err_at(err, EINVAL, text, begin, "a name has at most %u characters",
			      NAME_MAX_BYTES);
	if (end == begin)
		return (ssize_t)(end + (end < n));
	name = mem_strndup(text + begin, end - begin);
	e = instance_write(instance_of(f), "set_event", name, true, err);
	free(name);
	return e ? e : (ssize_t)(end + (end < n));
}

/* Only events that are enabled now: triggers may have switched some since they were written
 * here. */
static int show_set(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	instance_catch_up(in);
	pthread_mutex_lock(&in->lock);
	show_text(text, event_set_read(&in->settings.events));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

/* Reads the catalogue without in->lock: entries do not move. */
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

/* --- show_event_filters, show_event_triggers -------------------------------------------- */

#define NAME_COLUMN 32 /* width of the name, as in Linux 7.0 */

/* Takes of_event over. */
static void show_row(struct out *text, const struct event_entry *e, char *of_event)
{
	size_t n = strlen(e->format->system) + 1 + strlen(e->format->name);

	out_printf(text, "%s:%s%*s", e->format->system, e->format->name,
		   n < NAME_COLUMN ? (int)(NAME_COLUMN - n) : 1, "");
	show_text(text, of_event);
}

/* Rows come in the catalogue's order, in which events joined it. */
static int show_all_filters(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	pthread_mutex_lock(&in->lock);
	for (uint32_t i = 0, n = events_n(in->events); i < n; i++) {
		const struct event_filter *of_event =
			&event_set_get(&in->settings.events, i)->filter;

		if (of_event->text && !events_is_gone(events_at(in->events, i)))
			show_row(text, events_at(in->events, i), event_filter_read(of_event));
	}
	pthread_mutex_unlock(&in->lock);
	return 0;
}

static int show_all_triggers(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	instance_catch_up(in);
	pthread_mutex_lock(&in->lock);
	for (uint32_t i = 0, n = events_n(in->events); i < n; i++) {
		const struct trigger_list *of_event =
			&event_set_get(&in->settings.events, i)->triggers;

		/* Newest first. */
		for (size_t k = of_event->at.n; k-- > 0;)
			show_row(text, events_at(in->events, i), trigger_line(of_event->at.at[k]));
	}
	pthread_mutex_unlock(&in->lock);
	return 0;
}

const struct tree_file_ops all_filters_file = { .show = show_all_filters };
const struct tree_file_ops all_triggers_file = { .show = show_all_triggers };
const struct tree_file_ops set_event_file = { .truncate = clear_events,
					      .show = show_set,
					      .write = write_event };
const struct tree_file_ops available_events_file = { .show = show_available };

/* --- set_event_pid and the like ------------------------------------------------------- */

/* f->arg is the file's name, which is also the setting's. */
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

	/* With event-fork and function-fork threads come and go by themselves. */
	instance_catch_up(in);
	pthread_mutex_lock(&in->lock);
	show_text(text, settings_read(&in->settings, f->arg));
	pthread_mutex_unlock(&in->lock);
	return 0;
}

const struct tree_file_ops pid_list_file = { .truncate = clear_pids,
					     .show = show_pids,
					     .write = write_pids };

/* --- directories -------------------------------------------------------------------- */

/* Events that cannot be enabled (ftrace's own) have a format and an id only; `print` can have
 * triggers. */
static void fill_event(struct tree_node *dir, const struct event_entry *e)
{
	bool can = events_can_enable(e);

	if (can) {
		tree_file(dir, "enable", 0640, &enable, e);
		tree_file(dir, "filter", 0640, &filter, e);
	}
	tree_file(dir, "format", 0440, &format, e);
	tree_file(dir, "hist", 0440, &hist, e);
	tree_file(dir, "hist_debug", 0440, &hist_debug, e);
	tree_file(dir, "id", 0440, &id, e);
	if (events_can_trigger(e))
		tree_file(dir, "trigger", 0640, &trigger, e);
}

/* Returns the directory of the event's system, held, making it at its first event. Its name belongs
 * to that event's catalogue entry, which lives as long. */
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
	/* Attached when it is complete; another thread may have been faster. */
	return tree_attach(in->events_dir, dir) ? NULL : tree_lookup(in->events_dir, system);
}

/* A file has the name already: the event is there, without a directory. Providers name events as
 * they like; definitions are refused (dynamic_files.c). */
bool event_files_have(const char *system, const char *event)
{
	return !strcmp(system, "enable") || !strcmp(system, "header_event") ||
	       !strcmp(system, "header_page") || !strcmp(event, "enable") ||
	       !strcmp(event, "filter");
}

/* False: the instance is just being removed, and nothing can be attached. */
static bool show_event(struct instance *in, const struct event_entry *e)
{
	struct tree_node *system, *dir;

	if (events_is_gone(e) || event_files_have(e->format->system, e->format->name))
		return true;
	system = system_dir(in, e);
	if (!system)
		return false;
	tree_detach(system, e->format->name); /* of one that has yielded to it */
	dir = tree_dir_new(in->tree, e->format->name, 0755, NULL, &in->owner);
	fill_event(dir, e);
	tree_attach(system, dir);
	tree_put(system);
	return true;
}

/* Makes the directories of events that joined the catalogue. */
void event_files_grow(struct instance *in)
{
	uint32_t n = events_n(in->events);

	while (in->events_shown < n && show_event(in, events_at(in->events, in->events_shown)))
		in->events_shown++;
}

/* One that event_files_grow() has yet to come to is its. */
void event_files_restore(struct instance *in, const struct event_entry *e)
{
	if (e->index < in->events_shown)
		show_event(in, e);
}

/* Whether the system has an event that is there. */
static bool has_events(struct event_catalogue *c, const char *system)
{
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(c, i);

		if (!events_is_gone(e) && !strcmp(e->format->system, system))
			return true;
	}
	return false;
}

/* A reader that has one of the files open keeps its node; it is only no longer found by name. */
void event_files_remove(struct instance *in, const struct event_entry *e)
{
	struct tree_node *system = tree_lookup(in->events_dir, e->format->system);

	if (!system)
		return;
	tree_detach(system, e->format->name);
	tree_put(system);
	if (!has_events(in->events, e->format->system))
		tree_detach(in->events_dir, e->format->system);
}

/* Makes events/ with the files that do not depend on any event; event_files_grow() adds the
 * rest. */
void event_files_fill(struct instance *in, struct tree_node *dir)
{
	in->events_dir = tree_dir(dir, "events", 0755, NULL);
	tree_file(in->events_dir, "enable", 0640, &enable_system, NULL);
	tree_file(in->events_dir, "header_event", 0440, &header, header_event);
	tree_file(in->events_dir, "header_page", 0440, &header_page, NULL);
}
