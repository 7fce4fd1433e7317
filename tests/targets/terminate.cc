// Exceptions that nobody catches or that must not leave, in each way the language has to end a program for it:
// `terminate WAY`. Before that, destructors that throw and are heard. Counts are written before the end.
#include <csignal>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

#include "thrower.h"
#include "truth.h"

extern "C" { // plain names
static long sum;

TRACED static void leaf(int n) { sum += n; BARRIER(); }
TRACED static int thrower(int n) { leaf(n); throw std::runtime_error("thrown"); }
TRACED static void below(int n) { if (n) below(n - 1); else thrower(1); BARRIER(); }
TRACED static void promised() noexcept { below(2); BARRIER(); }

struct Throws {
	~Throws() noexcept(false) { below(1); }
};
TRACED static void thrown_by_destructor() { Throws t; leaf(2); }
TRACED static void thrown_by_second()
{
	try { // or nothing would be unwound
		Throws t;
		below(1);
	} catch (const std::runtime_error &) {
	}
}
TRACED static void rethrown_from_nothing() { leaf(1); throw; }
TRACED static void through_library() { library_call(4, thrower); }
TRACED static void in_thread() { std::thread(below, 3).join(); }
TRACED static void never_joined() { std::thread t(leaf, 1); while (!t.joinable()); }

// Its own last word: looks at what was thrown, calls, and ends in a way of its own.
TRACED static void last_word()
{
	try {
		if (std::exception_ptr p = std::current_exception())
			std::rethrow_exception(p);
	} catch (const std::exception &e) {
		leaf(static_cast<int>(std::strlen(e.what())));
	}
	printf("the last word: %ld\n", sum);
	fflush(stdout);
	_exit(7);
}
TRACED static void with_last_word() { std::set_terminate(last_word); promised(); }
TRACED static void library_with_last_word() { std::set_terminate(last_word); through_library(); }

// The handler of the signal that ends it is heard, on the stack that was not unwound.
TRACED static void on_abort(int) { leaf(5); }
TRACED static void with_handler() { std::signal(SIGABRT, on_abort); promised(); }
}

static const struct { const char *name; void (*end)(); int leaf, below, thrower; } ways[] = {
	{ "noexcept", promised, 1, 3, 1 },
	{ "uncaught", [] { below(5); }, 1, 6, 1 },
	{ "second", thrown_by_second, 2, 4, 2 },
	{ "nothing", rethrown_from_nothing, 1, 0, 0 },
	{ "library", through_library, 1, 0, 1 },
	{ "thread", in_thread, 1, 4, 1 },
	{ "last-word", with_last_word, 2, 3, 1 },
	{ "library-last-word", library_with_last_word, 2, 0, 1 },
	{ "handler", with_handler, 2, 3, 1 },
	{ "joinable", never_joined, -1, 0, 0 },
};

enum { HEARD = 40 };

int main(int argc, char **argv)
{
	unsigned i = 0;
	int heard = 0;

	for (int n = 0; n < HEARD; n++)
		try {
			thrown_by_destructor();
		} catch (const std::runtime_error &) {
			heard++;
		}
	printf("heard %d\n", heard);
	fflush(stdout);
	while (i < sizeof(ways) / sizeof(*ways) && strcmp(ways[i].name, argc > 1 ? argv[1] : ""))
		i++;
	require(i < sizeof(ways) / sizeof(*ways), "the argument");
	if (ways[i].leaf >= 0) // or the thread may not have come to it
		truth("leaf", 2 * HEARD + ways[i].leaf);
	truth("below", 2 * HEARD + ways[i].below);
	truth("thrower", HEARD + ways[i].thrower);
	truth("thrown_by_destructor", HEARD);
	ways[i].end();
	return 1;
}
