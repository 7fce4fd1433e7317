/* Boot configurations against the answers of the kernel's own tool (the file `cases`), its limits,
 * and the writes that a configuration stands for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/writes.h"

static FILE *sink;

static int to_stream(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -EIO;
}

/* The text that a printer makes, for free(). */
static char *printed(void (*print)(const struct bootconfig *c, struct out *out), const struct bootconfig *c)
{
	struct out out;
	char *text;
	size_t n;

	sink = mem_stream(&text, &n);
	out_init(&out, to_stream, sink);
	print(c, &out);
	assert_int_equal(out_flush(&out), 0);
	out_free(&out);
	fclose(sink);
	return text;
}

/* --- the file of cases --------------------------------------------------------------------- */

struct one_case {
	char name[64], *config, *listing, *fault;
	size_t n;
	FILE *config_out, *listing_out;
};

/* Undoes the escapes of a line; a newline ends it unless it ends with \c. */
static void unescape(FILE *out, const char *line)
{
	unsigned byte;

	for (; *line; line++) {
		if (line[0] == '\\' && line[1] == 'c' && !line[2])
			return;
		if (line[0] == '\\' && sscanf(line, "\\x%2x", &byte) == 1) {
			fputc((int)byte, out);
			line += 3;
		} else {
			fputc(*line, out);
		}
	}
	fputc('\n', out);
}

/* As JSON it is the same configuration; JSON that is larger than a file may be is none. */
static void check_json_again(const struct bootconfig *b, const char *listing)
{
	char *json = printed(bootconfig_json, b), *text;
	struct bootconfig again;
	struct err err;
	int e = bootconfig_parse(&again, "f", json, strlen(json), &err);

	if (e && strlen(json) <= BOOTCONFIG_BYTES_MAX)
		fail_msg("%s\n%s", json, err.text);
	if (!e) {
		text = printed(bootconfig_list, &again);
		assert_string_equal(text, listing);
		free(text);
	}
	bootconfig_free(&again);
	free(json);
}

static void check_case(struct one_case *c)
{
	struct bootconfig b;
	struct err err = { 0 };
	size_t listed;
	char *text, *fault;
	int e;

	fclose(c->config_out);
	fclose(c->listing_out);
	e = bootconfig_parse(&b, "f", c->config, c->n, &err);
	if (c->fault) {
		/* "2:5 Sentence" is told as "f:2:5: Sentence", with the caret below column 5. */
		size_t place = strcspn(c->fault, " ");

		fault = mem_printf("f:%.*s: %s", (int)place, c->fault, c->fault + place + 1);
		if (!e || strcmp(err.text, fault))
			fail_msg("%s: %s, wanted %s", c->name, e ? err.text : "accepted", fault);
		assert_int_equal(err.column + 1, atoi(strchr(c->fault, ':') + 1));
		assert_true(err.column <= strlen(err.input) || strlen(err.input) == sizeof(err.input) - 1);
		free(fault);
	} else {
		if (e)
			fail_msg("%s: %s", c->name, err.text);
		text = printed(bootconfig_list, &b);
		if (strcmp(text, c->listing))
			fail_msg("%s: listed as\n%swanted\n%s", c->name, text, c->listing);
		check_json_again(&b, c->listing);
		listed = strlen(text);
		bootconfig_free(&b);
		/* A listing is a configuration, and lists itself. */
		assert_int_equal(bootconfig_parse(&b, "f", text, listed, &err), 0);
		free(text);
		text = printed(bootconfig_list, &b);
		assert_string_equal(text, c->listing);
		free(text);
	}
	bootconfig_free(&b);
	free(c->config);
	free(c->listing);
	free(c->fault);
}

static void begin_case(struct one_case *c, const char *name)
{
	*c = (struct one_case){ .fault = NULL };
	snprintf(c->name, sizeof(c->name), "%.60s", name);
	c->config_out = mem_stream(&c->config, &c->n);
	c->listing_out = mem_stream(&c->listing, &(size_t){ 0 });
}

static void test_cases(void **state)
{
	FILE *in = fopen(CASES, "re");
	struct one_case c = { .config = NULL };
	char line[4096];
	unsigned n = 0;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "case ", 5)) {
			if (n++)
				check_case(&c);
			begin_case(&c, line + 5);
		} else if (*line == '|') {
			unescape(c.config_out, line + 1);
		} else if (*line == '=') {
			unescape(c.listing_out, line + 1);
		} else if (*line == '!') {
			c.fault = mem_strdup(line + 2);
		}
	}
	check_case(&c);
	fclose(in);
	assert_int_equal(n, CASES_N);
}

/* --- limits -------------------------------------------------------------------------------- */

static void test_sizes(void **state)
{
	char *bytes = mem_zalloc(2 * BOOTCONFIG_BYTES_MAX), *at = bytes;
	struct bootconfig c;
	struct err err;

	/* One key with a value that fills the file. */
	memset(bytes, 'x', BOOTCONFIG_BYTES_MAX + 1);
	memcpy(bytes, "a = ", 4);
	assert_int_equal(bootconfig_parse(&c, "f", bytes, BOOTCONFIG_BYTES_MAX, &err), 0);
	assert_int_equal(strlen(c.keys.at[1].values.at[0].text), BOOTCONFIG_BYTES_MAX - 4);
	bootconfig_free(&c);
	assert_int_equal(bootconfig_parse(&c, "f", bytes, BOOTCONFIG_BYTES_MAX + 1, &err), -EFBIG);
	bootconfig_free(&c);
	/* 8,192 keys, and one more. */
	for (unsigned i = 0; i < BOOTCONFIG_NODES_MAX; i++)
		at += sprintf(at, "%x\n", i);
	assert_int_equal(bootconfig_parse(&c, "f", bytes, (size_t)(at - bytes), &err), -EFBIG);
	bootconfig_free(&c);
	at = bytes;
	for (unsigned i = 0; i < BOOTCONFIG_NODES_MAX; i++, at += 3)
		sprintf(at, "%c%c\n", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[i % 64],
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[i / 64 % 64]);
	assert_int_equal(bootconfig_parse(&c, "f", bytes, (size_t)(at - bytes), &err), 0);
	assert_int_equal(c.nodes, 64 * 64);
	bootconfig_free(&c);
	for (at = bytes; at < bytes + 2 * BOOTCONFIG_NODES_MAX + 8; at += 2)
		memcpy(at, ", ", 2);
	memcpy(bytes, "a=1", 3);
	assert_int_equal(bootconfig_parse(&c, "f", bytes, 2 * BOOTCONFIG_NODES_MAX + 8, &err), -EINVAL);
	assert_non_null(strstr(err.text, "Too many nodes"));
	bootconfig_free(&c);
	free(bytes);
}

/* --- writes -------------------------------------------------------------------------------- */

/* The writes and remarks of a configuration, a line each, for free(). */
static char *writes_of(const char *text)
{
	struct config_writes w;
	struct bootconfig c;
	struct err err;
	char *lines;
	size_t n;
	FILE *out = mem_stream(&lines, &n);

	assert_int_equal(bootconfig_parse(&c, "f", text, strlen(text), &err), 0);
	config_writes(&c, &w);
	for (size_t i = 0; i < w.all.n; i++)
		fprintf(out, "%s%s%s %s %s\n", w.all.at[i].instance ? w.all.at[i].instance : "",
			w.all.at[i].instance ? "/" : "", w.all.at[i].file, w.all.at[i].append ? ">>" : ">",
			w.all.at[i].text);
	for (size_t i = 0; i < w.remarks.n; i++) {
		struct bootconfig_position place = bootconfig_position(&c, w.remarks.at[i].at);

		fprintf(out, "%zu:%zu %s\n", place.line, place.column, w.remarks.at[i].text);
	}
	fclose(out);
	config_writes_free(&w);
	bootconfig_free(&c);
	return lines;
}

/* The order is trace_boot.c's, whatever the order of the file. */
static void test_order(void **state)
{
	char *lines = writes_of("ftrace.instance.i { tracer = nop }\n"
				"ftrace { tracer = function\n ftrace.notraces = n\n ftrace.filters = a, \"b*\"\n"
				"events = x:y\n event.g.e.enable\n buffer_size = 2M\n tracing_on = 0\n"
				"options = sym-addr, nosleep-time }\nkernel.ftrace_filter = \"k1,k2\"");

	assert_string_equal(lines, "set_ftrace_filter >> k1\nset_ftrace_filter >> k2\n"
				   "trace_options >> sym-addr\ntrace_options >> nosleep-time\n"
				   "tracing_on > 0\nbuffer_size_kb > 2048\n"
				   "events/g/e/enable > 1\nset_event >> x:y\n"
				   "set_ftrace_filter >> a\nset_ftrace_filter >> b*\n"
				   "set_ftrace_notrace >> n\ncurrent_tracer > function\n"
				   "i/current_tracer > nop\n");
	free(lines);
}

/* The example of Documentation/trace/boottime-trace.rst, in our words: its hist triggers. */
static void test_hist(void **state)
{
	char *lines = writes_of(
		"ftrace.event { synthetic.lat { fields = \"u64 d\", \"int n\"\n"
		" hist { filter = \"n > 1\"\n sort = d\n values = d\n keys = n.log2, d } }\n"
		"s.begin.hist { keys = n\n var.t = common_timestamp.usecs }\n"
		"s.end.hist { 1 { keys = n\n pause }\n 2 { keys = n\n var.d = common_timestamp.usecs - $t\n"
		"  onmatch { event = s.begin\n trace = lat, $d, n } } } }");

	assert_string_equal(lines,
			    "synthetic_events >> lat u64 d; int n\n"
			    "events/synthetic/lat/trigger >> hist:keys=n.log2,d:values=d:sort=d if n > 1\n"
			    "events/s/begin/trigger >> hist:keys=n:t=common_timestamp.usecs\n"
			    "events/s/end/trigger >> hist:keys=n:pause\n"
			    "events/s/end/trigger >> hist:keys=n:d=common_timestamp.usecs - $t"
			    ":onmatch(s.begin).trace(lat,$d,n)\n");
	free(lines);
}

static void test_definitions(void **state)
{
	char *lines = writes_of("ftrace.event { kprobes.k.probes = \"f $arg1\", \"g\"\n uprobes.u.probes = \"/b:4\"\n"
				"fprobes.p.probes = \"f%return\"\n eprobes.e.probes = \"s.ev x=$n\" }\n"
				"kernel.kprobe_event = \"p:a,f,$arg1;r:b,g\"\n"
				"ftrace.file.events.s.e.trigger = traceoff");

	assert_string_equal(lines, "kprobe_events >> p:a f $arg1\nkprobe_events >> r:b g\n"
				   "events/s/e/trigger >> traceoff\n"
				   "kprobe_events >> p:kprobes/k f $arg1\nkprobe_events >> p:kprobes/k g\n"
				   "uprobe_events >> p:uprobes/u /b:4\n"
				   "dynamic_events >> f:fprobes/p f%return\n"
				   "dynamic_events >> e:eprobes/e s.ev x=$n\n");
	free(lines);
}

/* Keys without a meaning are told with their place; other subsystems' keys are not ours. */
static void test_remarks(void **state)
{
	char *lines = writes_of("ftrace.tracr = nop\nkernel.quiet\ninit.x = 1\nkernel.tp_printk\n"
				"ftrace.event.s.e.hist.values = n\nftrace.buffer_size = x\n"
				"ftrace.event.s.e.hist.onmax.var = v");

	assert_string_equal(lines, "4:8 tp_printk: a setting of a booting kernel, which has no meaning for programs\n"
				   "6:22 x is no size (4096, 512K, 4M)\n"
				   "5:18 hist needs keys\n"
				   "1:8 no setting has the key ftrace.tracr; did you mean tracer?\n");
	free(lines);
}

static void test_json(void **state)
{
	static const char text[] = "a = 1\na.b = x, 'y\"'\nc\nd =\n";
	struct bootconfig c;
	struct err err;
	char *json;

	assert_int_equal(bootconfig_parse(&c, "f", text, strlen(text), &err), 0);
	json = printed(bootconfig_json, &c);
	assert_string_equal(json, "{\"a\":{\"\":\"1\",\"b\":[\"x\",\"y\\\"\"]},\"c\":true,\"d\":\"\"}\n");
	free(json);
	bootconfig_free(&c);
}

/* Things that JSON has and a configuration has not, each with its place. */
static void test_json_faults(void **state)
{
	static const struct { const char *text, *fault; } faults[] = {
		{ "{}", "f:1:1: Invalid keyword" },
		{ "{\"a\" 1}", "f:1:6: A colon belongs here" },
		{ "{\"a\":1,}", "f:1:8: A string in double quotes belongs here" },
		{ "{\"a\":1", "f:1:7: A comma or } belongs here" },
		{ "{\"a\":[1", "f:1:8: A comma or ] belongs here" },
		{ "{\"a\":\n null}", "f:2:2: A string, a number, an array, an object or true belongs here; a key without a value is true" },
		{ "{\"a\":[[1]]}", "f:1:7: A string, a number, an array, an object or true belongs here; a key without a value is true" },
		{ "{\"a b\":1}", "f:1:3: Invalid keyword" },
		{ "{\"\":1}", "f:1:3: Invalid keyword" },
		{ "{\"a\":1,\"a\":2}", "f:1:12: Value is redefined" },
		{ "{\"a\":{\"\":{}}}", "f:1:10: The member \"\" has the key's own values" },
		{ "{\"a\":\"\\u00e9\"}", "f:1:7: Non printable value" },
		{ "{\"a\":\"\\u00\"}", "f:1:7: Non printable value" },
		{ "{\"a\":\"\\", "f:1:6: No closing quotes" },
		{ "{\"a\":\"'\\\"\"}", "f:1:7: A value has one kind of quotes at most" },
		{ "{\"a\":1} 2", "f:1:9: Nothing belongs behind the last brace" },
		{ "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{",
		  "f:1:86: Exceed max depth of braces" },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct bootconfig c;
		struct err err;

		assert_int_equal(bootconfig_parse(&c, "f", faults[i].text, strlen(faults[i].text), &err), -EINVAL);
		assert_string_equal(err.text, faults[i].fault);
		bootconfig_free(&c);
	}
}

static void test_json_input(void **state)
{
	static const char text[] = " {\"a.b\": {\"\": [\"x\", -2.5e3], \"c\": true, \"d\": [], \"e\": \"\\u0041\\n\\/\"}}\n";
	struct bootconfig c;
	struct err err;
	char *list;

	assert_int_equal(bootconfig_parse(&c, "f", text, strlen(text), &err), 0);
	list = printed(bootconfig_list, &c);
	assert_string_equal(list, "a.b = \"x\", \"-2.5e3\"\na.b.c = \"\"\na.b.d = \"\"\na.b.e = \"A\n/\"\n");
	free(list);
	bootconfig_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),	    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_order),	    cmocka_unit_test(test_hist),
		cmocka_unit_test(test_definitions), cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_json),	    cmocka_unit_test(test_json_faults),
		cmocka_unit_test(test_json_input),
	};

	return cmocka_run_group_tests_name("bootconfig", tests, NULL, NULL);
}
