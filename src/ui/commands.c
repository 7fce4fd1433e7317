/* SPDX-License-Identifier: MIT */
/* The tables: every command and every option of brace. The parser, --help and the completion's test
 * read them. */
#include "ui/commands.h"

#include <string.h>

#include "base/nearest.h"
#include "ui/beside.h"

/* Parts of a row: the field of struct invocation that set_flag and set_text fill, or the settings
 * file that the option writes, at once or added to a list. */
#define TO(field) .offset = offsetof(struct invocation, field)
#define WRITES(name) .set = set_setting, .file = name
#define ADDS_TO(name) .set = set_setting, .file = name, .append = true
/* A row without a setter ends a table. Titles and help texts are what --help prints, and what
 * tests/ui/cli.sh compares with the manual pages and the completions. */
#define END { 0 }

/* Letters are trace-cmd's where the job is the same. SETTINGS are the options of any session,
 * before it begins or while it runs. */
/* The scope of events, in all commands that record any. */
#define WITHIN                                                                                     \
	{ 0, "within", "FUNCTION[:DEPTH]",                                                         \
	  "record events only while a call of FUNCTION is open on their thread, and only "         \
	  "DEPTH levels of calls down (1: in FUNCTION itself); several: in any of them",           \
	  .set = set_scope, .file = "set_event_scope", .append = true }
#define SETTINGS event_options, trigger_options, trace_options, format_options

/* Attaching, in all commands that trace. A name can stand for several processes: all of them are
 * attached to at once, or none is. */
static const struct option process_options[] = {
	{ 'p', "pid", "PID[,PID]...", "attach to running processes instead of starting a program; a NAME: to all of that name",
	  .set = set_pids },
	END
};

/* Most of these write a file of the tree; the others have setters of their own (invocation.c). */
static const struct option trace_options[] = {
	{ 't', "tracer", "TRACER", "function_graph (the default), function, or another of available_tracers; -p takes "
	  "these names too, as trace-cmd's", WRITES("current_tracer") },
	{ 'l', "filter", "GLOB", "trace only functions that match; may be given several times; \"GLOB if ARGUMENT > 3\": only such calls",
	  ADDS_TO("set_ftrace_filter") },
	{ 'n', "notrace", "GLOB", "do not trace functions that match, even if -l names them",
	  ADDS_TO("set_ftrace_notrace") },
	{ 'g', "graph-function", "GLOB", "trace only these functions and what they call; \"GLOB if ARGUMENT > 3\": only such calls begin a graph",
	  ADDS_TO("set_graph_function") },
	{ 0, "max-graph-depth", "N", "follow calls N levels deep (0: no limit)",
	  WRITES("max_graph_depth") },
	{ 0, "threshold", "TIME", "record only calls that last TIME or longer (10us, 2ms; a bare number: us)",
	  WRITES("tracing_thresh") },
	{ 'L', "library", "MODULE", "trace the functions of this library too ('*': of all); without "
	  "it calls into libraries are leaves", ADDS_TO("set_ftrace_module") },
	{ 0, "args", "GLOB", "record what functions that match are called with (all: no GLOB), as far as "
	  "debug information tells their parameters", .set = set_args, .append = true, .optional = true },
	{ 0, "args-depth", "N", "1: of structures that --args finds behind pointers show the members, too",
	  WRITES("set_ftrace_args_depth") },
	{ 0, "retval", "GLOB", "record what functions that match return (all: no GLOB), by their types",
	  .set = set_retval, .append = true, .optional = true },
	{ 'b', "buffer-size", "SIZE", "buffer of each thread (512K, 4M); a bare number is kilobytes",
	  WRITES("buffer_size_kb") },
	{ 0, "mode", "MODE", "stream (the default), overwrite (keep only the latest), or block "
	  "(the program waits, nothing is lost)", .set = set_mode },
	{ 0, "causal-order", NULL, "records of threads that hand over within nanoseconds come in the order of cause and effect; each "
	  "call costs two thirds more", .set = set_causal_order },
	{ 0, "config", "FILE", "settings, events and histograms from a boot configuration, as the kernel takes it, or a profile's name (also the "
	  "variable BRACE_CONFIG); options are stronger", set_text, TO(config) },
	{ 0, "strict", NULL, "a key of --config that cannot be carried out is an error, not a warning", set_flag, TO(strict) },
	{ 'v', "verbose", NULL, "print each write to a settings file", set_flag, TO(verbose) },
	END
};

/* cmd_config(). */
static const struct option config_options[] = {
	{ 'l', "list", NULL, "list the keys with their values, one a line, as the kernel's bootconfig does", set_flag, TO(of_config.list) },
	{ 0, "explain", NULL, "print the writes to ftrace's files that it stands for", set_flag, TO(explain) },
	{ 0, "apply", NULL, "carry it out in the session in the background", set_flag, TO(of_config.apply) },
	{ 0, "save", NULL, "print the settings of the session in the background as a configuration", set_flag, TO(of_config.save) },
	{ 'a', "attach", "FILE", "attach FILE to a program: `brace record --config PROGRAM` then obeys it, and --list, --json and --explain take the program, too", set_text, TO(of_config.attach) },
	{ 'd', "detach", NULL, "remove the configuration from a program", set_flag, TO(of_config.detach) },
	{ 0, "profiles", NULL, "list the configurations that --config takes by name: ~/.config/brace/NAME.bconf", set_flag, TO(of_config.profiles) },
	{ 0, "strict", NULL, "a key that cannot be carried out is an error, not a warning", set_flag, TO(strict) },
	END
};

/* For commands that stay until the program ends. */
static const struct option run_options[] = {
	{ 0, "duration", "TIME", "stop recording after TIME (10s, 500ms; a bare number: seconds); the program goes on",
	  .set = set_duration },
	{ 'q', "quiet", NULL, "no closing summary", set_flag, TO(quiet) },
	END
};

/* The order of options on the command line counts here: -f and -R are of the -e before them. */
static const struct option event_options[] = {
	{ 'e', "event", "SYSTEM:EVENT", "record the program's events of this name (globs; may be given several times), or "
	  "an event that is defined here (\"p:NAME FUNCTION size=%si:u64\", r: its return, f: many functions, t: a tracepoint, e: another event's fields); no functions unless they are asked for too", ADDS_TO("set_event") },
	{ 'f', "event-filter", "FILTER", "of the events of the -e before it, only those that pass (\"size > 100 && name ~ \"a*\"\")",
	  .set = set_of_event, .file = "filter" },
	WITHIN,
	{ 0, "syscall-bytes", "N", "copy at most N bytes of each string and buffer that a system call is given (default 63, at most "
	  "165; 0: none)", WRITES("syscall_user_buf_size") },
	END
};

static const struct option trigger_options[] = {
	{ 'R', "trigger", "TRIGGER", "of the event of the -e before it: what shall happen when it does (traceoff, \"stacktrace:3 if "
	  "size > 100\", enable_event:SYSTEM:EVENT, notify:unix=PATH, exec:COMMAND, ...)", .set = set_of_event, .file = "trigger" },
	END
};

/* For commands that begin a session: what triggers in its tree may reach. */
static const struct option outside_options[] = {
	{ 0, "allow-exec", "COMMAND", "a trigger exec:COMMAND may be written into the tree while programs run (what -R says is allowed anyway; may be given several times)",
	  .set = set_allow_exec },
	{ 0, "allow-fd", "N", "a trigger notify:fd=N may be written into the tree: N is a descriptor that brace was given",
	  .set = set_allow_fd },
	END
};

/* The default of --last depends on the mode (cmd/record.c). */
static const struct option record_options[] = {
	{ 'o', "output", "FILE", "write the trace to FILE (default: trace.brace)", set_text,
	  TO(output) },
	{ 0, "max-size", "SIZE", "the file gets no larger (10M; a bare number is kilobytes): what comes after that is lost, and counted",
	  .set = set_max_size },
	{ 0, "rotate", "SIZE|TIME", "go on in a new file when this one has SIZE (100M) or TIME (10s, 1h); FILE is the newest, FILE.1, FILE.2, ... are those before it",
	  .set = set_rotate },
	{ 0, "keep", "N", "keep the newest N of the files that are written so (of snapshots 10, if not said), and remove the others",
	  .set = set_keep },
	{ 0, "compress", "LEVEL", "compress the file better, 1 (the default, as fast as the records come) to 19: 6 a fifth smaller, 12 a third; "
	  "a program that calls faster than that loses records, or waits (--mode block)", .set = set_compress },
	{ 0, "counters", NULL, "the calls' CPU time, context switches and page faults, too, for brace report --counters", .set = set_counters, .append = true },
	{ 0, "snapshot-on", "REASON", "the flight recorder: keep the newest records in memory, and write them to FILE.1, FILE.2, ... "
	  "when a call lasts longer (\"handle > 10ms\"), or on SIGUSR1 or SIGUSR2 to brace (may be given several times)", .set = set_snapshot_on },
	{ 0, "ring", "FILE", "keep the records in FILE while the program runs, which outlives program and brace both (brace recover --ring; "
	  "mode overwrite, if --mode says nothing); removed when the trace is written", set_text, TO(ring) },
	{ 0, "ring-size", "SIZE", "room for records in it (default: 128M); all is taken at once", .set = set_ring_size },
	{ 0, "last", "N", "when a signal ends the program, print the last N calls of each thread "
	  "(default: 10 with --mode overwrite, otherwise 0)", set_last },
	END
};

#define SPOOL(use) { 0, "spool", "DIR", use " (default: ~/.local/state/brace/spool)", set_text, TO(of_push.spool) }
#define LOGIN                                                                                                     \
	{ 0, "auth", "FILE", "USER:KEY, from a file that only you may read (default: $BRACE_CLICKHOUSE_USER and _KEY)", set_text, TO(of_push.auth) }, \
	{ 0, "ca", "FILE", "trust the certificates in FILE instead of the system's", set_text, TO(of_push.ca) },   \
	{ 0, "insecure", NULL, "do not check the server's certificate", set_flag, TO(of_push.insecure) }
#define LABEL { 0, "label", "KEY=VALUE", "a label of the run, such as version=1.2; may be given several times", .set = set_label }
#define NO_COMMAND { 0, "no-command", NULL, "do not send the program's command line", set_flag, TO(of_push.no_command) }

/* Options of record that do brace push's work when the recording ends. */
static const struct option record_push_options[] = {
	{ 0, "push", "URL[,URL]...", "send the trace to a fleet's ClickHouse servers when it is written, each file of --rotate at once (brace help push)",
	  set_text, TO(of_push.to) },
	{ 0, "push-calls", NULL, "each call is a row there, too, not only the sums by function and minute", set_flag, TO(of_push.calls) },
	SPOOL("traces wait here while a server is away"),
	{ 0, "spool-max", "SIZE", "the spool gets no larger (default: 1G)", .set = set_spool_max },
	{ 0, "retry", "TIME", "how long a server may be away at the end (default 5s; a bare number: seconds)", .set = set_retry },
	LABEL,
	NO_COMMAND,
	LOGIN,
	END
};

/* Options of commands that print a trace which may be of programs and the kernel. */
#define SIDES                                                                              \
	{ 0, "kernel-only", NULL, "of a trace of a program and the kernel (-k), the kernel's part, as the kernel prints it", \
	  set_flag, TO(kernel_only) },                                                     \
	{ 0, "user-only", NULL, "of a trace of a program and the kernel (-k), the program's part", \
	  set_flag, TO(user_only) }

static const struct option graph_options[] = {
	SIDES,
	{ 'o', "output", "FILE", "print the graph into FILE, apart from the program's own output",
	  set_text, TO(output) },
	END
};

/* cmd_import(). */
static const struct option import_options[] = {
	{ 'o', "output", "FILE", "write the trace to FILE (default: imported.brace)", set_text,
	  TO(output) },
	{ 'q', "quiet", NULL, "say nothing of what was read", set_flag, TO(quiet) },
	END
};

/* One process only (set_pid), unlike the -p of process_options. */
static const struct option recover_options[] = {
	{ 'p', "pid", "PID", "read also what the memory shared with this process holds, if its tracer died",
	  set_pid },
	{ 0, "ring", "RING", "read also what the session left in RING (record --ring), whoever is dead", set_text,
	  TO(ring) },
	{ 'o', "output", "FILE", "write the whole trace to FILE (default: recovered.brace)", set_text,
	  TO(output) },
	END
};

/* For commands that record. What is recorded beside programs has its options in ui/beside.c. */
static const struct option kernel_run_options[] = {
	{ 'K', "kernel-alone", NULL, "trace the kernel, not programs; with PROGRAM or -p only what it does for them (root)",
	  set_flag, TO(kernel_alone) },
	END
};

/* For commands that do something else for the kernel than for programs. */
static const struct option kernel_options[] = {
	{ 'k', "kernel", NULL, "of the kernel (root)", set_flag, TO(kernel) },
	END
};

/* For commands about the session that brace start -k begins. */
static const struct option session_kernel_options[] = {
	{ 'k', "kernel", NULL, "the kernel's session, of brace start -k (root)", set_flag, TO(kernel) },
	END
};

/* start and set: as with -K, options are the kernel's. */
static const struct option settings_kernel_options[] = {
	{ 'k', "kernel", NULL, "the kernel's own tracing, which goes on without brace (root)", set_flag, TO(kernel_alone) },
	END
};

static const struct option reset_kernel_options[] = {
	{ 'k', "kernel", NULL, "end the session of brace start -k, and remove what a brace that died has left in the kernel's tracing (root)",
	  set_flag, TO(kernel) },
	END
};

/* cmd_mount(). */
static const struct option mount_options[] = {
	{ 0, "foreground", NULL, "stay until the tree is unmounted, instead of serving it from the background",
	  set_flag, TO(foreground) },
	END
};

/* cmd_umount(); the letter is umount(8)'s. */
static const struct option umount_options[] = {
	{ 'l', "lazy", NULL, "even if it is in use: who has files open sees their end",
	  set_flag, TO(lazy) },
	END
};

/* At most one of the three (cmd_shell). */
static const struct option shell_options[] = {
	{ 'p', "pid", "PID[,PID]...", "the files are over these processes, which run already", .set = set_pids },
	{ 0, "run", "PROGRAM", "the files are over this program, which is started: its name and arguments in one word, as in a shell",
	  set_text, TO(run) },
	{ 0, "session", "NAME", "the files are those of this session in the background (without any of these options, of the session "
	  "default if there is one)", .set = set_session },
	END
};

/* For commands about a session in the background. */
static const struct option session_options[] = {
	{ 0, "session", "NAME", "the session in the background (default: default)", .set = set_session },
	END
};

/* For programs that start brace, libbrace among them. GnuPG has the option's name. */
static const struct option start_options[] = {
	{ 0, "ring", "FILE", "keep the newest records in FILE and FILE.trace too, which outlive program and session; the next start with it "
	  "makes FILE.last of what was left", set_text, TO(ring) },
	{ 0, "ring-size", "SIZE", "room for records in it, and for each of two trace files beside it (default: 128M)", .set = set_ring_size },
	{ 0, "logger-fd", "N", "write errors and warnings to descriptor N instead of standard error, which is then the traced "
	  "program's alone", .set = set_logger },
	END
};

/* cmd/session.c: extract. */
static const struct option extract_options[] = {
	{ 'o', "output", "FILE", "write the trace to FILE (default: trace.brace)", set_text, TO(output) },
	{ 'q', "quiet", NULL, "do not say so", set_flag, TO(quiet) },
	END
};

/* At most one of the three (cmd_snapshot); without any the snapshot is printed. */
static const struct option snapshot_options[] = {
	{ 's', "take", NULL, "what is in the buffer becomes the snapshot, and the buffer begins anew", set_flag, TO(of_snapshot.take) },
	{ 'r', "clear", NULL, "empty the snapshot", set_flag, TO(of_snapshot.clear) },
	{ 'f', "free", NULL, "give its memory back", set_flag, TO(of_snapshot.free) },
	END
};

/* A part of SETTINGS, and replay's only settings: how records are printed is chosen by trace
 * options. */
static const struct option format_options[] = {
	{ 'O', "option", "NAME", "turn a trace option on, or off with noNAME (funcgraph-proc, "
	  "nosleep-time, ...)", WRITES("trace_options") },
	END
};

/* The part of a trace file that is read (excerpt/spec.h), in all commands that read one. Names and
 * letters are those of recording where the meaning is. */
static const struct option excerpt_options[] = {
	{ 'l', "filter", "GLOB", "only functions that match, or file.c:120, or 'src/*'; may be given several times", .set = set_excerpt },
	{ 'n', "notrace", "GLOB", "no functions that match, even if -l names them", .set = set_excerpt },
	{ 'g', "graph-function", "GLOB", "only these functions and what they call", .set = set_excerpt },
	{ 'L', "library", "MODULE", "only functions of the program and of this library", .set = set_excerpt },
	END
};

/* Options of a finished trace that mean nothing at recording. */
static const struct option part_options[] = {
	{ 0, "callers-of", "GLOB", "only calls that led to one of these functions, and these", .set = set_excerpt },
	{ 0, "max-graph-depth", "N", "calls N levels deep (0: no limit)", .set = set_excerpt },
	{ 0, "min-duration", "TIME", "only calls that last TIME or longer (10us, 2ms; a bare number: us)", .set = set_excerpt },
	{ 0, "min-size", "BYTES", "only functions of so many bytes or more", .set = set_excerpt },
	{ 0, "from", "WHEN", "from here on: a time as printed, +1.5s after the beginning, -200ms before the end, or 25%", .set = set_excerpt },
	{ 0, "to", "WHEN", "to here, this time included", .set = set_excerpt },
	{ 0, "thread", "NAME|TID", "only this thread; may be given several times", .set = set_excerpt },
	{ 0, "process", "NAME|PID", "only this process; may be given several times", .set = set_excerpt },
	{ 0, "cpu", "LIST", "only calls that began on these CPUs (0-3,8)", .set = set_excerpt },
	END
};

#define CHARGE_HANDLERS                                                                                           \
	{ 0, "charge-handlers", NULL, "the time of signal handlers is that of the functions they interrupted, too",     \
	  set_flag, TO(charge_handlers) }

#define NET                                                                                                       \
	{ 0, "net", NULL, "without what recording the calls cost, as brace measured it before the program began",    \
	  set_flag, TO(net) }

/* cmd_replay(). */
static const struct option replay_options[] = {
	SIDES,
	{ 0, "source", NULL, "the file and line of each call's function, and of where it was called, by debug information",
	  set_flag, TO(source_lines) },
	CHARGE_HANDLERS,
	END
};

/* cmd_report(). What each of the views takes is checked there (views[]). */
static const struct option report_options[] = {
	{ 'k', "kernel", NULL, "of a trace of a program and the kernel, the kernel's own functions",
	  set_flag, TO(kernel) },
	{ 0, "by", "WHAT", "a row for each function (the default), thread, process or module, or file or line of the source", set_text, TO(by) },
	{ 0, "callers", "GLOB", "a row for each function that calls one of these", set_text, TO(callers) },
	{ 0, "callees", "GLOB", "a row for each function that one of these calls", set_text, TO(callees) },
	{ 0, "tree", NULL, "which calls lie in which, added up, with their parts of the time", set_flag, TO(call_tree) },
	{ 0, "histogram", "GLOB", "how long the calls of these functions lasted, by powers of two", set_text, TO(histogram) },
	{ 's', "sort", "COLUMN", "calls, total, self (the default), min, mean, p50, p99, max, name, "
	  "module, or, of a trace with the kernel, kernel or blocked", set_text, TO(sort) },
	{ 'r', "reverse", NULL, "the smallest first", set_flag, TO(reverse) },
	{ 0, "counters", NULL, "of a trace of record --counters: of each function's total the time on a processor and asleep, context switches, page faults; -s takes these: cpu, asleep, switches, faults",
	  set_flag, TO(counters) },
	NET,
	CHARGE_HANDLERS,
	{ 0, "limit", "N", "print the first N rows only", set_limit },
	END
};

/* cmd_diff(): those of report that compare two traces as well. */
static const struct option diff_options[] = {
	{ 0, "by", "WHAT", "a row for each function (the default) or module, or file or line of the source", set_text, TO(by) },
	{ 0, "callers", "GLOB", "a row for each function that calls one of these", set_text, TO(callers) },
	{ 0, "callees", "GLOB", "a row for each function that one of these calls", set_text, TO(callees) },
	{ 's', "sort", "COLUMN", "compare calls, total, self (the default), min, mean, p50, p99 or max: the greatest change first", set_text, TO(sort) },
	{ 'r', "reverse", NULL, "the smallest change first", set_flag, TO(reverse) },
	{ 0, "flamegraph", "OUT", "write a flame graph of B (SVG), coloured by what has changed since A: of calls with -s calls, otherwise of time", set_text, TO(of_diff.flamegraph) },
	{ 0, "fail-over", "PERCENT", "exit with 1 if B has more by so much, in all, or in one row by that part of all", .set = set_fail_over },
	NET,
	CHARGE_HANDLERS,
	{ 0, "limit", "N", "print the first N rows only", set_limit },
	END
};

/* cmd_query(); JSON is json_options'. */
static const struct option query_options[] = {
	{ 0, "csv", NULL, "comma-separated values, with a heading", set_flag, TO(csv) },
	END
};

/* cmd_export(). */
static const struct option export_options[] = {
	{ 0, "to", "FORMAT", "the format: `brace export --list` names them (a time: the end of the part, as below)", .set = set_export_to },
	{ 'o', "output", "OUT", "write to this file, or this directory if the format is one", set_text, TO(output) },
	{ 0, "weight", "WHAT", "of folded and flamegraph: self (the default; time in the function itself), total (with what it called) or calls",
	  set_text, TO(of_export.weight) },
	{ 0, "list", NULL, "list the formats", set_flag, TO(of_export.formats) },
	CHARGE_HANDLERS,
	END
};

#define SERVERS "the ClickHouse servers, http[s]://HOST[:PORT][/DATABASE] (default: $BRACE_FLEET)"

/* cmd_fleet(). */
static const struct option fleet_options[] = {
	{ 0, "to", "URL[,URL]...", SERVERS, set_text, TO(of_push.to) },
	LOGIN,
	{ 0, "since", "TIME", "only the last TIME (2h, 7d, 30min; a bare number: seconds)", .set = set_since },
	{ 0, "host", "NAME", "only runs of this host", set_text, TO(of_push.host) },
	{ 0, "label", "KEY=VALUE", "only runs with this label", .set = set_label },
	{ 's', "sort", "COLUMN", "of diff: compare calls, total, self (the default), min, mean, p50, p99 or max", set_text, TO(sort) },
	{ 0, "older", "TIME", "of prune: runs that began longer ago go (30d; a bare number: seconds)", .set = set_older },
	{ 'n', "dry-run", NULL, "of prune: list the runs that would go", set_flag, TO(of_push.dry_run) },
	{ 0, "then", "STATEMENT", "of query: a statement of SQLite's for the rows of all servers, the table `answer`", set_text, TO(of_push.then) },
	{ 0, "limit", "N", "print the first N rows only", set_limit },
	{ 0, "csv", NULL, "comma-separated values, with a heading", set_flag, TO(csv) },
	{ 'H', "hosts", "HOST[,HOST]...", "of record: the hosts, as ssh takes them, or @FILE with one a line; before `record`", set_text, TO(of_hosts.hosts) },
	{ 0, "html", NULL, "one page for a browser, with a table that sorts, and bars", set_flag, TO(html) },
	{ 'o', "output", "OUT", "of --html and fetch: write to this file; of record: put each host's trace into this folder (default: fleet.traces)",
	  set_text, TO(output) },
	{ 0, "ssh", "COMMAND", "of record: what connects, with its options (default: ssh)", set_text, TO(of_hosts.ssh) },
	{ 0, "silence", "TIME", "of record: how long a host's answer may take, and 64 KiB of a file (default: 30s; a bare number: seconds)", .set = set_silence },
	{ 0, "trace-max", "SIZE", "of record: a larger trace is left on its host, which removes it (default: 16G)", .set = set_trace_max },
	END
};

/* cmd_push(). */
static const struct option push_options[] = {
	{ 0, "to", "URL[,URL]...", SERVERS "; each run is on one of them (a time: the end of the part, as below)",
	  .set = set_push_to },
	LOGIN,
	{ 0, "calls", NULL, "each call is a row, too, not only the sums by function and minute", set_flag, TO(of_push.calls) },
	{ 0, "trace", NULL, "the trace file itself, too, which brace fleet fetch gives back", set_flag, TO(of_push.trace) },
	{ 0, "create", NULL, "make the database and its tables where they are missing; without FILE only that", set_flag, TO(of_push.create) },
	{ 0, "verify", NULL, "send nothing: tell how many of the batches are there", set_flag, TO(of_push.verify) },
	{ 0, "retry", "TIME", "how long a server may be away (default 30s; a bare number: seconds)", .set = set_retry },
	LABEL,
	NO_COMMAND,
	{ 0, "spooled", NULL, "send what record --push left in the spool for these servers, instead of FILE", set_flag, TO(of_push.spooled) },
	SPOOL("the spool"),
	{ 'q', "quiet", NULL, "do not say what was sent", set_flag, TO(quiet) },
	END
};

/* cmd_html(). */
static const struct option html_options[] = {
	{ 'o', "output", "PAGE", "write to this file (default: the trace's name with .html, here)", set_text, TO(output) },
	{ 0, "open", NULL, "open the page in a browser", set_flag, TO(open) },
	{ 'q', "quiet", NULL, "do not say what was written", set_flag, TO(quiet) },
	CHARGE_HANDLERS,
	END
};

/* cmd_tui(). */
static const struct option tui_options[] = {
	CHARGE_HANDLERS,
	{ 'o', "output", "FILE", "of a program: keep the trace in FILE", set_text, TO(output) },
	{ 'l', "filter", "GLOB", "only functions that match, or file.c:120, or 'src/*'; of a program no others are traced; may be given several times",
	  ADDS_TO("set_ftrace_filter") },
	{ 'g', "graph-function", "GLOB", "only these functions and what they call",
	  ADDS_TO("set_graph_function") },
	{ 'n', "notrace", "GLOB", "no functions that match", ADDS_TO("set_ftrace_notrace") },
	{ 'L', "library", "MODULE", "of a file: only functions of the program and of this library; of a program: trace this library's functions too ('*': of all)",
	  ADDS_TO("set_ftrace_module") },
	END
};

/* cmd_syscalls(): a program is run, or a process attached to, or a file is read. */
static const struct option syscalls_options[] = {
	{ 0, "by", "WHAT", "a row for each call (the default), thread or file, or error of a call", set_text, TO(by) },
	{ 's', "sort", "COLUMN", "calls, errors, total (the default), min, mean, p50, p99, max or name",
	  set_text, TO(sort) },
	{ 'r', "reverse", NULL, "the smallest first", set_flag, TO(reverse) },
	{ 0, "lines", NULL, "print each call instead, with its arguments and its result, as strace does", set_flag, TO(call_lines) },
	{ 0, "limit", "N", "print the first N rows only", set_limit },
	{ 'o', "output", "FILE", "print the table into FILE, apart from the program's own output", set_text, TO(output) },
	{ 0, "duration", "TIME", "stop recording after TIME (10s, 500ms; a bare number: seconds); the program goes on",
	  .set = set_duration },
	END
};

/* cmd_wakeup(). */
static const struct option wakeup_options[] = {
	{ 0, "by", "WHAT", "a row for each thread that is woken and way of waking (the default: thread), for each way, with its waker, or "
	  "by the functions of both: way, waker, function", set_text, TO(by) },
	{ 's', "sort", "COLUMN", "count, mean, p50, p99, max (the default) or name", set_text, TO(sort) },
	{ 'r', "reverse", NULL, "the smallest first", set_flag, TO(reverse) },
	{ 0, "limit", "N", "print the first N rows only", set_limit },
	{ 'l', "filter", "GLOB", "record functions that match, to see in which ones threads wake and are woken; may be given several times",
	  ADDS_TO("set_ftrace_filter") },
	{ 'L', "library", "MODULE", "record the functions of this library too ('*': of all)", ADDS_TO("set_ftrace_module") },
	END
};

/* cmd_locks(). */
static const struct option locks_options[] = {
	{ 0, "by", "WHAT", "a row for each lock (the default), or for each place that takes one: site", set_text, TO(by) },
	{ 's', "sort", "COLUMN", "acquired, contended, wait (the default), wait_mean, wait_max, hold, hold_mean or hold_max: the largest first",
	  set_text, TO(sort) },
	{ 0, "limit", "N", "print the first N rows only", set_limit },
	{ 0, "now", NULL, "with -p: print who waits for whom now, and deadlocks, and end; nothing is recorded", set_flag, TO(now) },
	END
};

/* cmd_sessions(). */
static const struct option sessions_options[] = {
	{ 'l', "long", NULL, "of each: whether it records, its tracer, and the processes that it traces", set_flag, TO(long_rows) },
	END
};

/* cmd_stack(). */
static const struct option stack_options[] = {
	{ 'o', "output", "FILE", "print into FILE", set_text, TO(output) },
	END
};

/* cmd_rv(). */
static const struct option rv_options[] = {
	{ 0, "model", "FILE", "the model: an automaton in DOT, as the kernel's rvgen takes it (docs/monitors.md)", set_model, TO(model) },
	{ 0, "limit", "N", "print the first N faults only", set_limit },
	END
};

/* For commands that record, and have no other settings. */
static const struct option buffer_options[] = {
	{ 'b', "buffer-size", "SIZE", "buffer of each thread (512K, 4M); a bare number is kilobytes",
	  WRITES("buffer_size_kb") },
	{ 0, "mode", "MODE", "stream (the default), overwrite (keep only the latest), or block "
	  "(the program waits, nothing is lost)", .set = set_mode },
	END
};

/* cmd_top(); -n, -d are top(1)'s. */
static const struct option top_options[] = {
	{ 0, "by", "WHAT", "a row for each function (the default), thread or module", set_text, TO(by) },
	{ 's', "sort", "COLUMN", "calls, self (the default), total, mean, p99, max or name", set_text, TO(sort) },
	{ 'd', "delay", "TIME", "a turn lasts so long (default: 1s; a bare number: seconds)", .set = set_delay },
	{ 'n', "count", "N", "end after N turns", .set = set_count },
	{ 0, "batch", NULL, "print the turns one after another; so they are where there is no terminal", set_flag, TO(of_top.batch) },
	{ 0, "all", NULL, "show what there was since the beginning, not in the last turn", set_flag, TO(of_top.since_start) },
	{ 0, "limit", "N", "with --batch and --json: the first N rows only", set_limit },
	{ 'l', "filter", "GLOB", "trace only functions that match; may be given several times",
	  ADDS_TO("set_ftrace_filter") },
	{ 'g', "graph-function", "GLOB", "trace only these functions and what they call",
	  ADDS_TO("set_graph_function") },
	{ 0, "notrace", "GLOB", "do not trace functions that match", ADDS_TO("set_ftrace_notrace") },
	{ 'L', "library", "MODULE", "trace the functions of this library too ('*': of all); without "
	  "it calls into libraries are leaves", ADDS_TO("set_ftrace_module") },
	END
};

/* cmd_noise(). */
static const struct option noise_options[] = {
	{ 'l', "filter", "GLOB", "record functions that match, and tell in which the time was taken; may be given several times",
	  ADDS_TO("set_ftrace_filter") },
	{ 'g', "graph-function", "GLOB", "record these functions and what they call",
	  ADDS_TO("set_graph_function") },
	{ 'L', "library", "MODULE", "record the functions of this library too ('*': of all)",
	  ADDS_TO("set_ftrace_module") },
	{ 0, "limit", "N", "print the first N threads and functions only", set_limit },
	END
};

/* cmd_hist(). */
static const struct option hist_options[] = {
	{ 'd', "durations", "GLOB", "how long the calls of these functions last, each by powers of two", set_text,
	  TO(durations) },
	{ 'K', "kernel-alone", NULL, "count in the kernel, its events and functions (root); with PROGRAM or -p only theirs, otherwise all until Ctrl-C",
	  set_flag, TO(kernel_alone) },
	{ 0, "top", NULL, "show the histogram, or the durations, once a second while they grow", set_flag, TO(top) },
	{ 0, "limit", "N", "with -d: print the first N functions only", set_limit },
	{ 'L', "library", "MODULE", "with -d: of the program and this library only (without it: of all)",
	  ADDS_TO("set_ftrace_module") },
	END
};

/* cmd_sql(); the letters are sqlhist's. */
static const struct option sql_options[] = {
	{ 'f', "file", "FILE", "the statement is in FILE", set_text, TO(of_sql.file) },
	{ 'm', "max", "VALUE", "make the event, or -s, -S, when this selected value is larger than ever", set_text, TO(of_sql.max) },
	{ 'c', "change", "VALUE", "... when it is another one than before", set_text, TO(of_sql.change) },
	{ 's', "save", "FIELD[,FIELD]...", "with -m or -c: keep these fields beside the value", set_text, TO(of_sql.save) },
	{ 'T', "trace", NULL, "with -m or -c, and -s or -S: make the event too", set_flag, TO(of_sql.trace) },
	{ 'S', "snapshot", NULL, "with -m or -c: take a snapshot", set_flag, TO(of_sql.snapshot) },
	{ 'K', "kernel-alone", NULL, "ask the kernel's own events (root): of PROGRAM and what it starts, or of all tasks until Ctrl-C",
	  set_flag, TO(kernel_alone) },
	END
};

/* cmd_latency(). */
static const struct option latency_options[] = {
	{ 0, "within", "FUNCTION[:DEPTH]", "only while a call of FUNCTION is open on the thread, and only DEPTH levels of calls down (1: in FUNCTION itself)",
	  set_scope, TO(of_sql.within) },
	END
};

/* For commands that record events, and have no other settings. */
static const struct option scope_options[] = {
	WITHIN,
	END
};

/* cmd_follow(). */
static const struct option follow_options[] = {
	{ 0, "by", "WHAT", "which calls belong to an object: identity (the default; from the first that passes the condition on, by its "
	  "address, to its end), or field (those that pass)", set_text, TO(by) },
	{ 0, "end", "FUNCTION", "an object ends in this function; may be given several times", .set = set_follow_end },
	{ 0, "show", "FIELD[,FIELD]...", "show these fields of the object at each call (skb.len,skb->dev->name)", set_text, TO(of_follow.show) },
	{ 'l', "filter", "GLOB", "watch only functions that match; may be given several times", ADDS_TO("set_ftrace_filter") },
	{ 'n', "notrace", "GLOB", "do not watch functions that match, even if -l names them", ADDS_TO("set_ftrace_notrace") },
	{ 'L', "library", "MODULE", "watch functions of this module only; may be given several times", ADDS_TO("set_ftrace_module") },
	{ 0, "max-depth", "N", "print calls N levels deep (0: no limit)", WRITES("max_graph_depth") },
	{ 0, "attach", "WAY", "attach to functions in this way: kprobe.session, kprobe.multi or kprobe (default: the first that the kernel has)",
	  set_text, TO(of_follow.attach) },
	{ 0, "limit", "N", "watch at most N functions where the kernel attaches to one after another (200)", set_limit },
	{ 'o', "output", "FILE", "print into FILE, apart from the program's own output", set_text, TO(output) },
	END
};

static const struct option follow_kernel_options[] = {
	{ 'k', "kernel", NULL, "objects of the kernel (root); with -p those that these processes meet first", set_flag, TO(kernel) },
	{ 0, "into", "OBJECT", "follow a program's object into the kernel (root), where it is OBJECT: fd:17, or as with -k; or the name of "
	  "the field that is its descriptor, or buffer, if it is an address. The kernel's -l, -n and -L begin with k:", set_text, TO(of_follow.into) },
	END
};

/* For statement_run(). */
static const struct option statement_options[] = {
	{ 'n', "name", "NAME", "the name of the synthetic event", set_text, TO(of_sql.name) },
	{ 0, "explain", NULL, "print the writes to ftrace's files that the question stands for, and do nothing", set_flag, TO(explain) },
	{ 'e', "execute", NULL, "carry them out in the tree of -t", set_flag, TO(of_sql.execute) },
	{ 't', "tree", "DIRECTORY", "the tree (default: /sys/kernel/tracing)", set_text, TO(of_sql.tree) },
	{ 'B', "instance", "NAME", "with -e: in this instance of it", set_text, TO(of_sql.instance) },
	END
};

/* Commands whose answer a session gives. */
static const struct option answer_options[] = {
	{ 'o', "output", "FILE", "print the answer into FILE, apart from the program's own output", set_text, TO(output) },
	{ 0, "duration", "TIME", "stop recording after TIME (10s, 500ms; a bare number: seconds); the program goes on",
	  .set = set_duration },
	{ 'v', "verbose", NULL, "print each write to a settings file", set_flag, TO(verbose) },
	END
};

/* cmd_probe(): perf probe's letters. */
static const struct option probe_options[] = {
	{ 'x', "exec", "FILE", "probes are in this program or library", set_text, TO(binary) },
	{ 'F', "list", NULL, "list the functions that can be probed: those that match the GLOBs", set_flag, TO(list_events) },
	{ 'V', "vars", "PLACE", "list the variables that can be seen at PLACE, and which can be fetched there", set_text, TO(of_probe.variables) },
	{ 'L', "lines", "FUNCTION|FILE[:FROM[-TO]]", "print the source, with the numbers of lines that can be probed", set_text, TO(of_probe.lines) },
	{ 's', "source", "DIRECTORY", "with -L: where the source files are", set_text, TO(of_probe.source) },
	{ 'a', "add", "DEFINITION", "a probe, [NAME=]PLACE [ARGUMENT]... or as in uprobe_events; may be given several times", .set = set_probe },
	{ 'f', "filter", "FILTER", "of the probe of the -a before it, only hits that pass (\"size > 100\")", .set = set_probe_filter },
	{ 'n', "dry-run", NULL, "print the lines of uprobe_events that define the probes, and do nothing else", set_flag, TO(of_probe.dry_run) },
	{ 'o', "output", "FILE", "print the hits into FILE, apart from the program's own output", set_text, TO(output) },
	END
};

/* For every command whose answer programs read: the first line names the schema. */
static const struct option json_options[] = {
	{ 0, "json", NULL, "one JSON object a line", set_flag, TO(json) },
	END
};

/* conflicting_options() of cmd/list.c says which of these go together. */
static const struct option list_options[] = {
	{ 'f', "file", "BINARY", "of this program or library; without -f, of a session in the background", set_text, TO(binary) },
	{ 'p', "pid", "PID", "with -e: of what this process has mapped", set_pid },
	{ 0, "why", NULL, "with -f or -k: say of each function how it would be hooked, or why it cannot be",
	  set_flag, TO(of_list.why) },
	{ 0, "signatures", NULL, "with -f: say of each function what it takes and returns",
	  set_flag, TO(of_list.signatures) },
	{ 'e', "events", NULL, "list events, not functions", set_flag, TO(list_events) },
	END
};

/* The letters of trace-cmd list. */
static const struct option list_session_options[] = {
	{ 'F', "format", NULL, "with -e: the fields of each", set_flag, TO(of_list.format) },
	{ 0, "full", NULL, "with -e: the same, and how they are printed", set_flag, TO(of_list.full) },
	{ 'l', "filters", NULL, "with -e: those that have a filter, and the filter", set_flag, TO(of_list.filters) },
	{ 'R', "triggers", NULL, "with -e: those that have triggers, and the triggers", set_flag, TO(of_list.triggers) },
	{ 's', "systems", NULL, "list the systems of events", set_flag, TO(of_list.systems) },
	{ 't', "tracers", NULL, "list the tracers", set_flag, TO(of_list.tracers) },
	{ 'o', "options", NULL, "list the trace options, and how they are set", set_flag, TO(of_list.options) },
	{ 'B', "buffers", NULL, "list the instances", set_flag, TO(of_list.buffers) },
	{ 'C', "clocks", NULL, "list the clocks", set_flag, TO(of_list.clocks) },
	END
};

/* For commands whose output a person reads (screen.c). */
static const struct option screen_options[] = {
	{ 0, "color", "WHEN", "auto (the default), always or never", .set = set_colour },
	{ 0, "no-pager", NULL, "do not show long output in $PAGER", set_flag, TO(no_pager) },
	END
};

/* For commands that print names of functions (base/demangle.h). */
static const struct option names_options[] = {
	{ 0, "names", "STYLE", "functions' names: short (the default: as programmers write them, with parameters where two would have one name), "
	  "full (as the compiler has them) or mangled (the symbols)", .set = set_names },
	END
};

/* cmd_help(). */
static const struct option search_options[] = {
	{ 0, "search", NULL, "find commands, options and pages of the manual by words: `brace help --search slow calls`; without "
	  "words: questions, and the command for each", set_flag, TO(search) },
	END
};

/* The last table of every command. */
static const struct option help_options[] = {
	{ 'h', "help", NULL, "print this help", set_flag, TO(help) },
	END
};

/* The tables of one command, in the order in which --help prints them. */
#define TABLES(...) (const struct option *const[]) { __VA_ARGS__, help_options, NULL }

#define PROGRAM "PROGRAM [ARGUMENT]... | -p PID"

/* In the order of `brace help`. The two numbers are the least and the greatest number of operands;
 * `true` before them: the first operand ends the options, so that a program's own options are not
 * taken for brace's. */
const struct command commands[] = {
	{ "record", PROGRAM, "Run a program, or attach to one, and write its trace to a file",
	  TABLES(record_options, record_push_options, beside_options, kernel_run_options,
		 process_options, run_options, SETTINGS, outside_options), true,
	  1, -1, cmd_record, true },
	{ "graph", PROGRAM,
	  "Run a program, or attach to one, and print its function graph as it runs",
	  TABLES(graph_options, beside_options, kernel_run_options, process_options, run_options,
		 SETTINGS, outside_options, names_options, screen_options), true,
	  1, -1, cmd_graph, true },
	{ "replay", "[FILE]", "Print the function graph of a trace file",
	  TABLES(format_options, replay_options, excerpt_options, part_options, names_options,
		 screen_options),
	  false, 0, 1, cmd_replay },
	{ "report", "[FILE [GLOB]...]", "Print calls and times of each function of a trace file",
	  TABLES(report_options, excerpt_options, part_options, names_options, json_options,
		 screen_options),
	  false, 0, -1, cmd_report },
	{ "diff", "A B", "Compare two trace files, or two groups of them: A1 A2 A3 -- B1 B2 B3",
	  TABLES(diff_options, excerpt_options, part_options, names_options, json_options,
		 screen_options), false,
	  2, -1, cmd_diff },
	{ "query", "[FILE] [STATEMENT]", "Ask a trace file in SQL",
	  TABLES(query_options, json_options, screen_options), false, 0, 2, cmd_query },
	{ "export", "[FILE] --to FORMAT", "Write a trace file in another tool's format",
	  TABLES(export_options, excerpt_options, part_options, names_options), false, 0, 1,
	  cmd_export },
	{ "push", "[FILE] --to URL", "Send a trace file's sums, or its calls, to a fleet's database",
	  TABLES(push_options, excerpt_options, part_options, names_options), false, 0, 1,
	  cmd_push },
	{ "fleet", "QUESTION [WORD]... | -H HOSTS record PROGRAM",
	  "Ask what was pushed: top, history, outliers, diff, query; record on many hosts",
	  TABLES(fleet_options, json_options, screen_options), false, 1, -1, cmd_fleet,
	  .stops_at = "record" },
	{ "html", "[FILE]", "Write a trace file as one page, to be looked at in a browser",
	  TABLES(html_options, excerpt_options, part_options, names_options), false, 0, 1,
	  cmd_html },
	{ "tui", "[FILE | -- PROGRAM [ARGUMENT]... | -p PID]",
	  "Look at a trace, or a running program, on screens: tables, flame graph, ...",
	  TABLES(tui_options, part_options, session_options, buffer_options, process_options,
		 names_options, screen_options),
	  false, 0, -1, cmd_tui, true },
	{ "syscalls", "[FILE | -- PROGRAM [ARGUMENT]... | -p PID]",
	  "Print calls, errors and times of each system call of a program or a trace file",
	  TABLES(syscalls_options, buffer_options, process_options, json_options, screen_options),
	  false, 0, -1, cmd_syscalls, true },
	{ "wakeup", "[FILE | -- PROGRAM [ARGUMENT]... | -p PID]",
	  "Print who wakes a program's threads, and how long that takes",
	  TABLES(wakeup_options, answer_options, buffer_options, process_options, json_options,
		 screen_options),
	  false, 0, -1, cmd_wakeup, true },
	{ "locks", "[FILE | -- PROGRAM [ARGUMENT]... | -p PID]",
	  "Print waits for locks and holds of them, orders, and deadlocks",
	  TABLES(locks_options, answer_options, buffer_options, process_options, json_options,
		 screen_options),
	  false, 0, -1, cmd_locks, true },
	{ "stack", "-p PID[,PID]...", "Print the open calls of a running process's threads",
	  TABLES(stack_options, process_options, names_options, json_options, screen_options),
	  false, 0, 0, cmd_stack, true },
	{ "rv", "--model FILE [FILE | -- PROGRAM... | -p PID]",
	  "Tell what a trace or a program does that a model does not allow",
	  TABLES(rv_options, answer_options, buffer_options, process_options, json_options,
		 screen_options),
	  false, 0, -1, cmd_rv, true },
	{ "hist", "QUESTION... [-- PROGRAM [ARGUMENT]... | -p PID]",
	  "Count an event's records or a function's calls by keys, or calls' times",
	  TABLES(hist_options, scope_options, answer_options, buffer_options, process_options,
		 json_options,
		 screen_options),
	  false, 0, -1, cmd_hist, true, true },
	{ "top", PROGRAM, "Show what a program calls and where its time goes, refreshed while it runs",
	  TABLES(top_options, answer_options, buffer_options, process_options, names_options,
		 json_options, screen_options), true, 1, -1, cmd_top, true },
	{ "noise", PROGRAM, "Show what takes time from a program's threads: waits, switches, faults",
	  TABLES(noise_options, answer_options, buffer_options, process_options, json_options,
		 screen_options), true, 1, -1, cmd_noise, true },
	{ "sql", "STATEMENT [-- PROGRAM [ARGUMENT]... | -p PID]",
	  "Ask a program's events in sqlhist's SQL",
	  TABLES(sql_options, scope_options, statement_options, answer_options, buffer_options,
		 process_options, json_options, screen_options), false, 0, 1, cmd_sql, true, true },
	{ "latency", "A B [by KEY] | A~~B [-- PROGRAM... | -p PID]",
	  "Count the times between two events or functions",
	  TABLES(latency_options, statement_options, answer_options, buffer_options,
		 process_options, json_options, screen_options),
	  false, 1, 4, cmd_latency, true, true },
	{ "follow", "OBJECT [-- PROGRAM [ARGUMENT]... | -p PID]",
	  "Follow one object through all functions that take it",
	  TABLES(follow_kernel_options, follow_options, buffer_options, process_options,
		 run_options, json_options, screen_options),
	  false, 1, 1, cmd_follow, true, true },
	{ "probe", "[PROBE]... [-- PROGRAM [ARGUMENT]... | -p PID]",
	  "Probe a program by the words of its source, or list what can be probed",
	  TABLES(probe_options, scope_options, process_options, run_options, buffer_options,
		 screen_options),
	  false, 0, -1, cmd_probe, true, true },
	{ "list", "[GLOB]...", "List functions or events of a binary, or what a session has",
	  TABLES(list_options, kernel_options, list_session_options, session_options, names_options,
		 json_options, screen_options),
	  false, 0, -1, cmd_list },
	{ "config", "[FILE]", "Check, list or apply a boot configuration of settings",
	  TABLES(config_options, session_options, json_options, screen_options), false, 0, 1,
	  cmd_config },
	{ "info", "[FILE]", "Tell what a trace file holds and where it comes from",
	  TABLES(json_options, screen_options), false, 0, 1, cmd_info },
	{ "import", "DIRECTORY | FILE", "Make a trace file of what uftrace, perf, trace-cmd or LTTng recorded",
	  TABLES(import_options), false, 1, 1, cmd_import },
	{ "recover", "[FILE]", "Make a whole trace file of what a tracer that died left",
	  TABLES(recover_options), false, 0, 1, cmd_recover },
	{ "mount", "DIRECTORY [-- PROGRAM [ARGUMENT]...]",
	  "Mount ftrace's files over processes, for cat and echo",
	  TABLES(mount_options, process_options, SETTINGS, outside_options), false, 1, -1,
	  cmd_mount },
	{ "umount", "DIRECTORY", "Unmount what brace mount has mounted", TABLES(umount_options),
	  false, 1, 1, cmd_umount },
	{ "shell", "[COMMAND [ARGUMENT]...]",
	  "Run a command that finds ftrace's files where the kernel's are",
	  TABLES(shell_options, SETTINGS, outside_options), true, 0, -1, cmd_shell },
	{ "start", "[PROGRAM [ARGUMENT]... | -p PID]",
	  "Trace in the background; without PROGRAM, set options and go on",
	  TABLES(settings_kernel_options, session_options, process_options, SETTINGS, start_options,
		 outside_options), true, 0, -1, cmd_start, true },
	{ "stop", "", "Stop recording; what was recorded stays, and so does the session",
	  TABLES(session_kernel_options, session_options), false, 0, 0, cmd_stop },
	{ "restart", "", "Record again", TABLES(session_kernel_options, session_options), false, 0, 0,
	  cmd_restart },
	{ "show", "[FILE]", "Print what was recorded, or another of ftrace's files",
	  TABLES(session_kernel_options, session_options, screen_options), false, 0, 1, cmd_show },
	{ "stream", "", "Print what is recorded as it comes, and take it away",
	  TABLES(session_options, screen_options), false, 0, 0, cmd_stream },
	{ "extract", "", "Write what was recorded to a trace file",
	  TABLES(extract_options, session_options), false, 0, 0, cmd_extract },
	{ "snapshot", "", "Put what was recorded aside, or print what was",
	  TABLES(snapshot_options, session_options, screen_options), false, 0, 0, cmd_snapshot },
	{ "clear", "", "Throw away what was recorded", TABLES(session_kernel_options, session_options),
	  false, 0, 0, cmd_clear },
	{ "set", "", "Change settings while programs run",
	  TABLES(settings_kernel_options, session_options, SETTINGS), false, 0, 0, cmd_set },
	{ "stat", "", "Tell how a session is set",
	  TABLES(session_kernel_options, session_options, screen_options), false, 0, 0, cmd_stat },
	{ "reset", "", "End a session: programs are as they were",
	  TABLES(session_options, reset_kernel_options), false, 0, 0, cmd_reset },
	{ "sessions", "", "List the sessions in the background",
	  TABLES(sessions_options), false, 0, 0, cmd_sessions },
	{ "help", "[COMMAND | --search [WORD]...]", "Print the commands or a command's options, or search them",
	  TABLES(search_options, screen_options), false, 0, -1, cmd_help },
	{ "version", "", "Print brace's version",
	  (const struct option *const[]){ help_options, NULL }, false, 0, 0, cmd_version },
	{ 0 }
};

/* NULL: there is no such command. Abbreviations are none: scripts that use one would break when a
 * command comes. */
const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* NULL: no command is near enough to be meant. */
const char *command_nearest(const char *name)
{
	struct nearest n = { name, NULL, 0 };

	for (const struct command *c = commands; c->name; c++)
		nearest_offer(&n, c->name);
	return n.best;
}
