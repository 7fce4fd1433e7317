/* The base library: untrusted bytes, errors with a column, names, sets. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/apart.h"
#include "base/child.h"
#include "base/cursor.h"
#include "base/demangle.h"
#include "base/demangle_schemes.h"
#include "base/demangle_short.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory_file.h"
#include "base/heap.h"
#include "base/keyed_hash.h"
#include "base/mem.h"
#include "base/new_file.h"
#include "base/number_map.h"
#include "base/string_set.h"
#include "base/table_hash.h"
#include "base/utf8.h"
#include "base/vec.h"

static void a_cursor_never_reads_past_the_end(void **state)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 5 };
	struct cursor c = cursor_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u32(&c), 0x04030201);
	assert_false(c.bad);
	assert_int_equal(cursor_u16(&c), 0);
	assert_true(c.bad);
	assert_int_equal(cursor_u8(&c), 0); /* bad stays bad, though a byte was left */
	assert_int_equal(cursor_left(&c), 0);
}

/* The copy is that of the process that is asked for, whole; a process that is not there has
 * none. */
static void maps_are_copied_apart(void **state)
{
	char line[512];
	bool found = false;
	pid_t child = fork();
	FILE *f;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	f = apart_stream(child, "maps");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && !found) {
		unsigned long start, end, at = (unsigned long)(uintptr_t)maps_are_copied_apart;

		found = sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= at && at < end;
	}
	assert_true(found);
	fclose(f);
	assert_int_equal(apart_open(child, "map_files/1-2", O_PATH), -ENOENT);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_null(apart_stream(-1, "maps"));
	assert_int_equal(errno, ENOENT);
}

/* To open a device may set it going: what is no regular file is looked at, and not opened. */
static void only_regular_files_are_opened(void **state)
{
	char dir[] = "/tmp/brace-base-XXXXXX", fifo[64], text[64], events[1024];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;
	struct err err;

	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_true(inotify_add_watch(watch, dir, IN_OPEN) >= 0);
	assert_int_equal(file_open(fifo, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "not a regular file"));
	assert_int_equal(file_open(dir, &err), -EISDIR);
	assert_int_equal(file_open("/dev/null", &err), -ENOEXEC);
	assert_int_equal(file_open(text, &err), -ENOENT);
	assert_true(read(watch, events, sizeof(events)) < 0 && errno == EAGAIN);
	fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	assert_true(read(watch, events, sizeof(events)) > 0);
	fd = file_open(text, &err);
	assert_true(fd >= 0 && read(fd, events, sizeof(events)) == 4);
	close(fd);
	close(watch);
	unlink(fifo);
	unlink(text);
	rmdir(dir);
}

/* As a traced program of the same user does it, by /proc/PID/fd. */
static void a_memory_file_stays_as_it_is(void **state)
{
	char name[32], bytes[8];
	int fd = memory_file_new("brace-test"), others;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	others = open(name, O_RDWR | O_CLOEXEC);
	assert_true(others >= 0);
	assert_true(ftruncate(others, 1) < 0 && errno == EPERM);
	assert_int_equal(memory_file_seal(fd), 0);
	assert_true(pwrite(others, "else", 4, 0) < 0 && errno == EPERM);
	assert_true(pwrite(others, "more", 4, 4) < 0 && errno == EPERM);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 4);
	assert_memory_equal(bytes, "text", 4);
	close(others);
	close(fd);
}

/* Characters, and one more for each of four bytes, which are wide here. */
static size_t columns(const char *utf8)
{
	size_t n = 0;

	for (; *utf8; utf8++)
		n += (((unsigned char)*utf8 & 0xc0) != 0x80) + ((unsigned char)*utf8 >= 0xf0);
	return n;
}

/* Characters that a terminal obeys, or that hide or turn text, and bytes that are no UTF-8 are
 * escaped; all else stays. */
static void what_is_not_printable_is_escaped(void **state)
{
	static const struct { const char *text, *line; } cases[] = {
		{ "", "" }, { "main", "main" }, { "\x1b[2J", "\\033[2J" }, { "a\nb\tc", "a\\012b\\011c" },
		{ "\x7f\x01", "\\177\\001" }, { "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
		{ "\xc2\x9b" "m", "\\302\\233m" }, { "\xc2\xa0\xc2\xad", "\xc2\xa0\\302\\255" },
		{ "\xe2\x80\xae", "\\342\\200\\256" }, { "\xe2\x81\xa6", "\\342\\201\\246" }, { "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "\xff\x80", "\\377\\200" }, { "\xe2\x82", "\\342\\202" }, { "\xc0\x9b", "\\300\\233" },
		{ "\xed\xa0\x80", "\\355\\240\\200" }, { "\xf4\x90\x80\x80", "\\364\\220\\200\\200" }, { "\\033", "\\033" },
	};
	char longer[200], *text;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		text = escape_line(cases[i].text);
		assert_string_equal(text, cases[i].line);
		assert_int_equal(escape_line_width(cases[i].text), columns(text));
		free(text);
	}
	text = escape_text("a\n\tb\r");
	assert_string_equal(text, "a\n\tb\\015");
	free(text);
	for (size_t at = 0; at < sizeof(longer) - 1; at++) { /* wherever it stands */
		memset(longer, 'x', sizeof(longer));
		longer[sizeof(longer) - 1] = '\0';
		longer[at] = '\x1b';
		assert_int_equal(escape_text_run(longer, sizeof(longer) - 1), at);
		assert_int_equal(escape_line_run(longer, sizeof(longer) - 1), at);
	}
}

/* The examples of DWARF 5, figures 22 and 23 (7.6). */
static void leb128_is_dwarfs(void **state)
{
	static const struct { uint8_t bytes[2]; size_t n; int64_t value; bool is_signed; } cases[] = {
		{ { 2 }, 1, 2, false }, { { 127 }, 1, 127, false }, { { 0x80, 1 }, 2, 128, false },
		{ { 0x81, 1 }, 2, 129, false }, { { 0x80 | 57, 100 }, 2, 12857, false },
		{ { 2 }, 1, 2, true }, { { 0x7e }, 1, -2, true }, { { 0xff, 0 }, 2, 127, true },
		{ { 0x81, 0x7f }, 2, -127, true }, { { 0x80, 0x7f }, 2, -128, true }, { { 0x80, 1 }, 2, 128, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cursor c = cursor_of(cases[i].bytes, cases[i].n);
		int64_t got = cases[i].is_signed ? cursor_sleb(&c) : (int64_t)cursor_uleb(&c);

		assert_int_equal(got, cases[i].value);
		assert_false(c.bad);
	}
}

static void leb128_without_end_is_bad(void **state)
{
	uint8_t bytes[20];
	struct cursor c;

	(void)state;
	memset(bytes, 0x80, sizeof(bytes));
	c = cursor_of(bytes, sizeof(bytes));
	cursor_uleb(&c);
	assert_true(c.bad);
	c = cursor_of(bytes, sizeof(bytes));
	cursor_sleb(&c);
	assert_true(c.bad);
}

static void strings_need_their_nul(void **state)
{
	struct cursor c = cursor_of("ab\0cd", 5);

	(void)state;
	assert_string_equal(cursor_str(&c), "ab");
	assert_null(cursor_str(&c));
	assert_true(c.bad);
}

static void errors_know_their_place(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_at(&e, EINVAL, "foo bar", 4, "\"%s\" is unknown", "bar"), -EINVAL);
	assert_string_equal(e.text, "\"bar\" is unknown");
	assert_string_equal(e.input, "foo bar");
	assert_int_equal(e.column, 4);
	assert_int_equal(err_prefix(&e, "line %d", 3), -EINVAL);
	assert_string_equal(e.text, "line 3: \"bar\" is unknown");
	assert_int_equal(err_set(NULL, ENOENT, "nobody listens"), -ENOENT);
}

/* An error keeps the part of a long input around the column, and cuts no letter. */
static void errors_quote_the_part_at_fault(void **state)
{
	char input[1001], letters[1001];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 1000; i += 2)
		memcpy(input + i, "\xc3\xa9", 2);
	input[1000] = '\0';
	memcpy(letters, input, sizeof(letters));
	for (size_t at = 0; at <= 1000; at += 2) {
		memcpy(input + at, at < 1000 ? "->" : "", at < 1000 ? 2 : 0);
		err_at_part(&e, EINVAL, input, at, "%s", letters);
		assert_string_equal(e.input + e.column, strstr(e.input, "->") ? strstr(e.input, "->") : "");
		assert_true(at == 1000 || strstr(e.input, "->"));
		assert_int_equal(strlen(e.input) % 2, 0);
		assert_int_equal(strlen(e.text) % 2, 0);
		assert_non_null(strstr(input, e.input));
		memcpy(input + at, at < 1000 ? "\xc3\xa9" : "", at < 1000 ? 2 : 0);
	}
	err_at(&e, EINVAL, letters, 900, "x"); /* columns stay those of the whole input */
	assert_int_equal(strlen(e.input), 254);
	assert_int_equal(e.column, 254);
	assert_int_equal(utf8_whole("\xe6\x97\xa5", 2), 0);
	assert_int_equal(utf8_whole("\xe6\x97\xa5", 3), 3);
	assert_int_equal(utf8_whole("\xa5\xa5\xa5\xa5", 4), 4);
	assert_int_equal(escape_line_width("\xe6\x97\xa5" "e\xcc\x81"), 3);
}

/* Ground truth: what c++filt -p says of the same names. */
static void names_demangle_as_cxxfilt_does(void **state)
{
	static const char *const names[] = {
		"_ZN4node5StartEiPPc", "_ZNKSt6vectorIiE4sizeEv", "_ZN1aC1Ev", "_ZnwmRKSt9nothrow_t",
		"_ZN1alsERKS_", "main", "_Zfoo", "_start",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char command[256], want[512], got[512];
		FILE *f;

		snprintf(command, sizeof(command), "c++filt -p %s", names[i]);
		f = popen(command, "r");
		assert_non_null(f);
		assert_non_null(fgets(want, sizeof(want), f));
		assert_int_equal(pclose(f), 0);
		want[strcspn(want, "\n")] = '\0';
		demangle(names[i], got, sizeof(got));
		assert_string_equal(got, want);
	}
}

static void copies_of_a_function_stay_distinct(void **state)
{
	char got[64];

	(void)state;
	demangle("_ZN1a1bEv.part.0", got, sizeof(got));
	assert_string_equal(got, "a::b.part.0");
}

/* Names as libiberty has them, and as programmers write them. */
static void default_arguments_of_templates_are_left_out(void **state)
{
	static const struct { const char *full, *wanted; } names[] = {
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append",
		  "std::string::append" },
		{ "f(std::vector<int, std::allocator<int> > const&)", "f(std::vector<int> const&)" },
		{ "f(std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
		  "std::vector<char*, std::allocator<char*> >, std::less<std::__cxx11::basic_string<char, "
		  "std::char_traits<char>, std::allocator<char> > >, std::allocator<std::pair<"
		  "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, "
		  "std::vector<char*, std::allocator<char*> > > > >)",
		  "f(std::map<std::string, std::vector<char*>>)" },
		{ "f(std::vector<int, mine::allocator<int> >)", "f(std::vector<int, mine::allocator<int>>)" },
		{ "f(std::set<int, std::greater<int>, std::allocator<int> >)",
		  "f(std::set<int, std::greater<int>>)" },
		{ "std::unique_ptr<shop::item, std::default_delete<shop::item> >::get() const",
		  "std::unique_ptr<shop::item>::get() const" },
		{ "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >"
		  "(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
		  "std::ostream& std::operator<< <std::char_traits<char>>(std::ostream&, char const*)" },
		{ "std::operator+<char, std::char_traits<char>, std::allocator<char> >", "std::operator+<char>" },
		{ "std::operator<< <char, std::char_traits<char> >", "std::operator<< <char>" },
		{ "std::operator< <wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >",
		  "std::operator< <wchar_t>" },
		{ "std::operator<=><char, std::char_traits<char>, std::allocator<char> >",
		  "std::operator<=><char>" },
		{ "std::operator+<char, mine::traits<char>, std::allocator<char> >",
		  "std::operator+<char, mine::traits<char>>" },
		{ "mine::operator+<std::vector<int, std::allocator<int> > >",
		  "mine::operator+<std::vector<int>>" },
		{ "std::endl<char, std::char_traits<char> >", "std::endl<char>" },
		{ "f(std::__cxx11::basic_string<char16_t, std::char_traits<char16_t>, std::allocator<char16_t> >)",
		  "f(std::u16string)" },
		{ "void g<&a::operator> >(std::vector<a, std::allocator<a> >)", NULL },
		{ "a::operator<(a const&) const", "a::operator<(a const&) const" },
		{ "a::operator->() const", "a::operator->() const" },
		{ "f(decltype ((x)->y), std::list<int, std::allocator<int> >)",
		  "f(decltype ((x)->y), std::list<int>)" },
		{ "a<(b)1, ((2)<(3))>::c", "a<(b)1, ((2)<(3))>::c" },
		{ "a<b", "a<b" }, { "a<b>>", NULL }, { "a)", "a)" }, { "", "" }, { "<<<>", NULL },
		{ "std::vector<>", "std::vector<>" }, { "std::map<a, b, std::less<>", NULL },
	};
	char deep[4 * 5000 + 1] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *got = demangle_short(names[i].full);

		if (names[i].wanted)
			assert_string_equal(got, names[i].wanted);
		assert_true(strlen(got) <= strlen(names[i].full));
		free(got);
	}
	for (size_t i = 0; i < 5000; i++)
		memcpy(deep + 2 * i, "a<", 3);
	free(demangle_short(deep));
	for (size_t i = 0; i < 5000; i++)
		memcpy(deep + 2 * (5000 + i), " >", 3);
	free(demangle_short(deep));
}

/* Of Swift the names of its own tests (test/Demangle/Inputs/manglings.txt) and of programs of
 * swiftc 6.0.3, as its swift-demangle has them; of D of libiberty's and core.demangle's, of OCaml
 * what ocamlopt 4.13 and 5.1 write, of Go its linker's escapes. */
static void other_languages_have_their_names(void **state)
{
	static const struct { const char *symbol, *plain, *whole; } names[] = {
		{ "camlStdlib__List__map_389", "Stdlib.List.map", "Stdlib.List.map" },
		{ "camlShop__price_267", "Shop.price", "Shop.price" },
		{ "camlShop__$2b$2e_80", "Shop.+.", "Shop.+." },
		{ "camlStdlib__Printf.sprintf_17", "Stdlib.Printf.sprintf", "Stdlib.Printf.sprintf" },
		{ "caml_alloc", "caml_alloc", "caml_alloc" },
		{ "camlpdf_init", "camlpdf_init", "camlpdf_init" },
		{ "_$s3foo3barC3bas3zimyAaEC_tF", "foo.bar.bas", "foo.bar.bas(zim:)" },
		{ "$s4main3add1a1bS2i_SitF", "main.add", "main.add(a:b:)" },
		{ "$s4main3fooyyF", "main.foo", "main.foo()" },
		{ "$s4main7VehicleV11vehicleName0B0ySS_tF", "main.Vehicle.vehicleName",
		  "main.Vehicle.vehicleName(Vehicle:)" },
		{ "$s4main3FooC1aACSi_tcfC", "main.Foo.init", "main.Foo.init(a:)" },
		{ "$s4main3FooCfD", "main.Foo.deinit", "main.Foo.deinit" },
		{ "$s4main3fooyySiFyyXEfU_", "closure #1 in main.foo", "closure #1 in main.foo(_:)" },
		{ "$s4shop009Gre_GkaIiyS2iF", "shop.Größe", "shop.Größe(_:)" },
		{ "$s4shop3pppoiyS2i_SitF", "shop.+++", "shop.+++(_:_:)" },
		{ "$s4shop4ItemV5centsSivM.resume.0", "shop.Item.cents.modify.resume.0",
		  "shop.Item.cents.modify.resume.0" },
		{ "$s4shop3BoxVAASiRszlE3sumSiyF", "shop.Box.sum", "shop.Box.sum()" },
		{ "$sSi4shopE7squaredSiyF", "Swift.Int.squared", "Swift.Int.squared()" },
		{ "$s4shop4ItemVyS2icig", "shop.Item.subscript.getter", "shop.Item.subscript(_:).getter" },
		{ "$s4shop4ItemVSHAASH4hash4intoys6HasherVz_tFTW",
		  "protocol witness for Swift.Hashable.hash in conformance shop.Item : Swift.Hashable",
		  "protocol witness for Swift.Hashable.hash(into:) in conformance shop.Item : Swift.Hashable" },
		{ "$s4shop11withDefault_1yS2i_SitFfA0_", "default argument 1 of shop.withDefault",
		  "default argument 1 of shop.withDefault(_:y:)" },
		{ "$s4shop5outeryS2iF5innerL_yS2iF", "inner #1 in shop.outer", "inner #1(_:) in shop.outer(_:)" },
		{ "$s4shop4ItemVwxx", "destroy value witness for shop.Item", "destroy value witness for shop.Item" },
		{ "$s4shopA99999999_", "$s4shopA99999999_", "$s4shopA99999999_" },
		{ "$sS2147483647i", "$sS2147483647i", "$sS2147483647i" },
		{ "$s4main9999fooyyF", "$s4main9999fooyyF", "$s4main9999fooyyF" },
		{ "$s4mainF", "$s4mainF", "$s4mainF" },
		{ "$s40F", "$s40F", "$s40F" }, { "$s0ZF", "$s0ZF", "$s0ZF" },
		{ "_D4shop5priceFiZi", "shop.price", "shop.price(int)" },
		{ "_Dmain", "D main", "D main" },
		{ "_D4shop4nameFAyaZi", "shop.name", "shop.name(string)" },
		{ "_D4shop5applyFDFiZiiZi", "shop.apply", "shop.apply(int delegate(int), int)" },
		{ "_D4shop5applyFPFNbiZiiZi", "shop.apply", "shop.apply(int function(int) nothrow, int)" },
		{ "_D3std9algorithm8mutation__T4moveTAiZQjFNaNbNiNfNkMKQsZQv", "std.algorithm.mutation.move!(int[]).move",
		  "std.algorithm.mutation.move!(int[]).move(scope return ref int[])" },
		{ "_D4shop6NkMapsFNkMKiZi", "shop.NkMaps", "shop.NkMaps(scope return ref int)" },
		{ "_DTi16_D4shop6Basket5totalMFZi", "shop.Basket.total.thunk", "shop.Basket.total().thunk" },
		{ "_DThn16_4shop6Basket5totalMFZi", "shop.Basket.total.thunk", "shop.Basket.total().thunk" },
		{ "_DTi16_", "_DTi16_", "_DTi16_" },
		{ "_D0", "_D0", "_D0" },
		{ "gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3.Unmarshal",
		  "gopkg.in/yaml.v3.Unmarshal" },
		{ "main.(*shop).price", "main.(*shop).price", "main.(*shop).price" },
		{ "_RNvCs1234_4shop5price", "shop::price", "shop::price" },
		{ "_ZN4shop5price17h0123456789abcdefE", "shop::price", "shop::price" },
		{ "_ZN4shop5price17h0123456789abcdefE.llvm.12", "shop::price.llvm.12",
		  "shop::price.llvm.12" },
		{ "_ZN72_$LT$alloc..vec..Vec$LT$a..shop..Item$GT$$u20$as$u20$a..shop..Priced$GT$5price"
		  "17h4e4a0a6cf9dc14eeE", "<alloc::vec::Vec<a::shop::Item> as a::shop::Priced>::price",
		  "<alloc::vec::Vec<a::shop::Item> as a::shop::Priced>::price" },
		{ "_ZN4core3ptr57drop_in_place$LT$alloc..vec..Vec$LT$a..shop..Item$GT$$GT$"
		  "17hfaf8655fc8197fc2E.part.0",
		  "core::ptr::drop_in_place<alloc::vec::Vec<a::shop::Item>>.part.0",
		  "core::ptr::drop_in_place<alloc::vec::Vec<a::shop::Item>>.part.0" },
		{ "_ZN4shop5price17h0123456789abcde", "_ZN4shop5price17h0123456789abcde",
		  "_ZN4shop5price17h0123456789abcde" },
		{ "_ZN1a17hE.17h", "_ZN1a17hE.17h", "_ZN1a17hE.17h" },
	};
	char got[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		demangle(names[i].symbol, got, sizeof(got));
		assert_string_equal(got, names[i].plain);
		demangle_whole(names[i].symbol, got, sizeof(got));
		assert_string_equal(got, names[i].whole);
	}
	demangle_full("$s4shop4ItemV5price5timesS2i_tF", got, sizeof(got));
	assert_string_equal(got, "shop.Item.price(times: Swift.Int) -> Swift.Int");
	demangle_full("$s4shop7throweryS2iKF", got, sizeof(got));
	assert_string_equal(got, "shop.thrower(Swift.Int) throws -> Swift.Int");
	demangle_full("$sSa4shopAA4ItemVRszlE10totalCentsSiyFS2i_ACtXEfU_", got, sizeof(got));
	assert_string_equal(got, "closure #1 (Swift.Int, shop.Item) -> Swift.Int in "
				 "(extension in shop):Swift.Array.totalCents() -> Swift.Int");
	demangle_full("_ZN4shop5price17h0123456789abcdefE", got, sizeof(got));
	assert_string_equal(got, "shop::price::h0123456789abcdef");
}

/* The deleting destructor, the complete object's, a base's; its constructor; others. */
static void kinds_of_destructors_are_told_apart(void **state)
{
	static const struct { const char *symbol, *text; } names[] = {
		{ "_ZN4shop4ItemD0Ev", "shop::Item::~Item().deleting" },
		{ "_ZN4shop4ItemD1Ev", "shop::Item::~Item()" },
		{ "_ZN4shop4ItemD2Ev", "shop::Item::~Item().base" },
		{ "_ZN4shop4ItemC1Ei", "shop::Item::Item(int)" },
		{ "_ZN4shop4ItemC2Ei", "shop::Item::Item(int).base" },
		{ "_ZN4shop4ItemD0Ev.cold", "shop::Item::~Item().deleting.cold" },
		{ "_ZN4shop5priceEi", "shop::price(int)" },
		{ "main", "main" },
	};
	struct demangle_spellings s;
	bool found = false;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *got = demangle_text(names[i].symbol, 3);

		assert_string_equal(got, names[i].text);
		free(got);
	}
	demangle_spell("_ZN4shop4ItemD0Ev", &s);
	for (unsigned i = 0; i < s.n; i++)
		found |= !strcmp(s.at[i], "shop::Item::~Item().deleting");
	assert_true(found);
	demangle_spellings_free(&s);
}

/* GNAT's symbols look like C's: only where a module has some that are Ada's alone. */
static void names_of_ada_are_found_by_what_users_write(void **state)
{
	struct demangle_spellings s;

	(void)state;
	demangle_spell("shop__price", &s);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.at[0], "shop.price");
	demangle_spellings_free(&s);
	demangle_spell("shop__price__2", &s);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.at[0], "shop.price");
	assert_string_equal(s.at[1], "shop.price__2");
	demangle_spellings_free(&s);
	demangle_spell("price", &s);
	assert_int_equal(s.n, 0);
	assert_true(demangle_tells_ada("_ada_main"));
	assert_true(demangle_tells_ada("shop___elabb"));
	assert_false(demangle_tells_ada("shop__price"));
}

static void a_set_finds_what_was_added(void **state)
{
	struct string_set set = { 0 };
	VEC(char *) all = { 0 };

	(void)state;
	assert_false(string_set_has(&set, "x"));
	for (int i = 0; i < 5000; i++) {
		*vec_add(&all) = mem_printf("name%d", i);
		string_set_add(&set, all.at[i]);
		string_set_add(&set, all.at[i]);
	}
	assert_int_equal(set.n, 5000);
	for (int i = 0; i < 5000; i++) {
		char absent[32];

		snprintf(absent, sizeof(absent), "name%dx", i);
		assert_true(string_set_has(&set, all.at[i]));
		assert_false(string_set_has(&set, absent));
	}
	for (int i = 0; i < 5000; i++)
		free(all.at[i]);
	string_set_free(&set);
	vec_free(&all);
}

static void bisect_finds_the_place_of_each_number(void **state)
{
	VEC(int) odd = { 0 };

	(void)state;
	for (int size = 0; size < 40; size++) {
		for (int x = -1; x <= 2 * size + 1; x++) {
			size_t want = 0;

			while (want < odd.n && odd.at[want] < x)
				want++;
			assert_int_equal(vec_bisect(&odd, i, *i < x), want);
		}
		*vec_add(&odd) = 2 * size + 1;
	}
	vec_free(&odd);
}

static inline bool is_less(const int *a, const int *b)
{
	return *a < *b;
}

/* Numbers come, go and grow as random does; the first is the least of all each time. */
static void a_heap_gives_the_least(void **state)
{
	VEC(int *) heap = { 0 };
	int numbers[300], *out[300]; /* those that are not in it */
	unsigned random = 1, out_n;

	(void)state;
	for (out_n = 0; out_n < 300; out_n++)
		out[out_n] = &numbers[out_n];
	for (int round = 0; round < 20000; round++) {
		random = random * 1664525 + 1013904223;
		if (!heap.n || (out_n && random >> 31)) {
			*out[--out_n] = (int)(random >> 8 & 1023);
			heap_push(&heap, out[out_n], is_less);
		} else if (random >> 30) {
			*heap.at[0] += (int)(random >> 8 & 255);
			heap_sift(&heap, is_less);
		} else {
			out[out_n++] = heap.at[0];
			heap_pop(&heap, is_less);
		}
		for (size_t i = 1; i < heap.n; i++)
			assert_false(is_less(heap.at[i], heap.at[0]));
	}
	for (int last = -1; heap.n;) {
		assert_true(*heap.at[0] >= last);
		last = *heap.at[0];
		heap_pop(&heap, is_less);
	}
	vec_free(&heap);
}

/* A vector of the authors' table: the bytes 0 to 15 under the key 0 to 15. */
static void a_keyed_hash_is_siphash(void **state)
{
	const struct hash_key k = { { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u } };

	(void)state;
	assert_true(keyed_hash(&k, k.at[0], k.at[1]) == 0x3f2acc7f57c29bdbu);
}

/* Keys that a multiplication puts into one bucket of all: of these the hash makes 0.63 * 65536
 * values of 16 bits, as random does, and others under another key. */
static void chosen_keys_meet_by_chance_only(void **state)
{
	const uint64_t inverse = 0xf1de83e19937733du; /* of the multiplier below, modulo 2^64 */
	const struct hash_key k = keyed_hash_key(), other = keyed_hash_key();
	static bool taken[65536];
	unsigned n = 0, same = 0;

	(void)state;
	for (uint64_t i = 0; i < 65536; i++) {
		const uint64_t key = i * inverse;
		const uint16_t h = (uint16_t)keyed_hash(&k, key, 0);

		assert_true(key * 0x9e3779b97f4a7c15u >> 24 == 0);
		n += !taken[h];
		taken[h] = true;
		same += h == (uint16_t)keyed_hash(&other, key, 0);
	}
	assert_in_range(n, 40000, 43000);
	assert_in_range(same, 0, 100);
}

static uint16_t low_fnv(uint16_t h, uint8_t byte)
{
	return (uint16_t)((h ^ byte) * 0x1b3);
}

/* Ends a text by two bytes with which the low 16 bits of its FNV-1a are 0. False: none do. */
static bool end_at_zero(uint8_t *text, size_t n)
{
	uint16_t h = 0x2325, behind;

	for (size_t i = 0; i < n; i++)
		h = low_fnv(h, text[i]);
	for (unsigned first = 1; first < 256; first++) {
		behind = low_fnv(h, (uint8_t)first);
		if (behind && behind < 256) {
			text[n] = (uint8_t)first;
			text[n + 1] = (uint8_t)behind;
			text[n + 2] = '\0';
			return true;
		}
	}
	return false;
}

/* Names that a table by FNV-1a has in one place of 65536: here they are where random ones would
 * be. */
static void chosen_names_meet_by_chance_only(void **state)
{
	static bool taken[65536];
	unsigned names = 0, places = 0;

	(void)state;
	for (unsigned i = 0; names < 65536; i++) {
		char text[16];
		const size_t n = (size_t)snprintf(text, sizeof(text), "f%x", i);
		uint16_t h = 0x2325, place;

		if (!end_at_zero((uint8_t *)text, n))
			continue;
		for (const char *s = text; *s; s++)
			h = low_fnv(h, (uint8_t)*s);
		assert_int_equal(h, 0);
		place = (uint16_t)table_hash_text(0, text);
		places += !taken[place];
		taken[place] = true;
		names++;
	}
	assert_in_range(places, 40000, 43000);
	assert_true(table_hash_text(table_hash_text(0, "ab"), "c") !=
		    table_hash_text(table_hash_text(0, "a"), "bc"));
}

/* Reads a map of n numbers, which are `step` apart. Returns the processor's time. */
static clock_t time_of_map(uint64_t step, uint64_t n)
{
	struct number_map m = { 0 };
	const clock_t began = clock();

	for (uint64_t i = 1; i <= n; i++)
		number_map_set(&m, i * step, i);
	for (uint64_t i = 1; i <= n; i++)
		assert_int_equal(number_map_get(&m, i * step), i);
	for (uint64_t i = 1; i <= n; i += 2)
		number_map_remove(&m, i * step);
	for (uint64_t i = 1; i <= n; i++)
		assert_true(number_map_get(&m, i * step) == (i % 2 ? NUMBER_NONE : i));
	assert_int_equal(m.n, n / 2);
	number_map_free(&m);
	return clock() - began;
}

/* Numbers that differ in their high bits alone, or that a known factor makes small: a program can
 * choose them. Met in one place, 30,000 of them would take a thousand times as long. */
static void chosen_numbers_do_not_slow_a_map(void **state)
{
	const uint64_t chosen[] = { UINT64_C(1) << 49, UINT64_C(1) << 32, 4096, 8,
				    UINT64_C(0xf1de83e19937733d) };
	const clock_t usual = time_of_map(1, 30000) + CLOCKS_PER_SEC / 1000;

	(void)state;
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++)
		assert_true(time_of_map(chosen[i], 30000) < 50 * usual);
}

/* Begins and ends files; every second one is kept. */
static void *make_files(void *arg)
{
	for (unsigned i = 0; i < 200; i++) {
		char *path = mem_printf("%s/%p.%u", (const char *)arg, (void *)&path, i);
		struct whole_file f;
		struct err err;

		if (new_file_begin(&f, path, "file", &err) < 0 ||
		    new_file_end(&f, i & 1, &err))
			abort();
		free(path);
	}
	return NULL;
}

/* Without memory, all that was begun goes, and what is whole stays; threads meanwhile make files of
 * their own. */
static void make_files_without_memory(char *dir)
{
	pthread_t threads[4];
	struct whole_file files[3];
	struct err err;
	char *paths[3];

	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, make_files, dir))
			abort();
	for (size_t i = 0; i < 3; i++) {
		paths[i] = mem_printf("%s/begun.%zu", dir, i);
		if (new_file_begin(&files[i], paths[i], "file", &err) < 0)
			abort();
	}
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (new_file_end(&files[1], true, &err))
		abort();
	free(mem_realloc(NULL, SIZE_MAX, 2));
}

static void unfinished_files_go_when_memory_runs_out(void **state)
{
	char dir[] = "/tmp/brace-base.XXXXXX", *begun = NULL;
	int status;
	pid_t child;

	(void)state;
	assert_non_null(mkdtemp(dir));
	child = fork();
	if (!child) {
		close(STDERR_FILENO); /* it says why it ends */
		make_files_without_memory(dir);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 125);
	begun = mem_printf("ls %s | grep -c '^begun.1$' | grep -qx 1 && "
			   "ls %s | grep -c '[.][0-9]*$' | grep -qx 401 && ls %s | grep -c . | grep -qx 401",
			   dir, dir, dir);
	assert_int_equal(system(begun), 0);
	free(begun);
	new_directory_remove(dir);
}

/* A pipe into whose other end a child, *pid, writes `text` so many times. It ends with 3; with
 * `stays` not before it is killed. */
static int read_child(const char *text, int times, bool stays, pid_t *pid)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	*pid = fork();
	assert_true(*pid >= 0);
	if (!*pid) {
		close(ends[0]);
		signal(SIGPIPE, SIG_IGN);
		while (times-- && write(ends[1], text, strlen(text)) > 0)
			;
		while (stays)
			pause();
		_exit(3);
	}
	close(ends[1]);
	return ends[0];
}

static void output_of_a_child_is_read_to_its_end(void **state)
{
	struct child_output out;
	pid_t pid;
	int fd = read_child("0123456789", 20000, false, &pid);

	out = child_read(fd, 1000000, NULL);
	assert_int_equal(out.n, 200000);
	assert_int_equal(strlen(out.text), 200000);
	assert_false(out.stopped);
	free(out.text);
	close(fd);
	child_wait(pid);
	/* More than was asked for: the caller sees that there is more. */
	fd = read_child("0123456789", 20000, false, &pid);
	out = child_read(fd, 15, NULL);
	assert_true(out.n > 15 && !out.stopped);
	free(out.text);
	close(fd);
	child_wait(pid);
}

/* The child neither writes nor ends. */
static void a_stop_ends_the_reading(void **state)
{
	struct stop stop = { SIGINT };
	struct child_output out;
	pid_t pid;
	int fd = read_child("", 0, true, &pid);

	out = child_read(fd, 100, &stop);
	assert_true(out.stopped);
	assert_int_equal(out.n, 0);
	assert_string_equal(out.text, "");
	free(out.text);
	close(fd);
	kill(pid, SIGKILL);
	assert_int_equal(WTERMSIG(child_wait(pid)), SIGKILL);
}

static void the_status_of_a_child_is_told(void **state)
{
	pid_t pid;
	int fd = read_child("", 0, false, &pid), status = child_wait(pid);

	close(fd);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	/* It has been waited for. */
	assert_int_equal(child_wait(pid), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cursor_never_reads_past_the_end),
		cmocka_unit_test(maps_are_copied_apart),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(a_memory_file_stays_as_it_is),
		cmocka_unit_test(what_is_not_printable_is_escaped),
		cmocka_unit_test(leb128_is_dwarfs),
		cmocka_unit_test(leb128_without_end_is_bad),
		cmocka_unit_test(strings_need_their_nul),
		cmocka_unit_test(errors_know_their_place),
		cmocka_unit_test(errors_quote_the_part_at_fault),
		cmocka_unit_test(names_demangle_as_cxxfilt_does),
		cmocka_unit_test(copies_of_a_function_stay_distinct),
		cmocka_unit_test(default_arguments_of_templates_are_left_out),
		cmocka_unit_test(kinds_of_destructors_are_told_apart),
		cmocka_unit_test(other_languages_have_their_names),
		cmocka_unit_test(names_of_ada_are_found_by_what_users_write),
		cmocka_unit_test(a_set_finds_what_was_added),
		cmocka_unit_test(bisect_finds_the_place_of_each_number),
		cmocka_unit_test(a_heap_gives_the_least),
		cmocka_unit_test(a_keyed_hash_is_siphash),
		cmocka_unit_test(chosen_names_meet_by_chance_only),
		cmocka_unit_test(chosen_keys_meet_by_chance_only),
		cmocka_unit_test(chosen_numbers_do_not_slow_a_map),
		cmocka_unit_test(unfinished_files_go_when_memory_runs_out),
		cmocka_unit_test(output_of_a_child_is_read_to_its_end),
		cmocka_unit_test(a_stop_ends_the_reading),
		cmocka_unit_test(the_status_of_a_child_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
