// C++ exceptions through traced frames: of the program, of a library between, with destructors,
// rethrown, from a static's initialiser, across threads by exception_ptr, and none caught at all
// (with the argument "uncaught").
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "thrower.h"
#include "truth.h"

extern "C" { // plain names, so that no demangler stands between the two counts
static int destroyed;
struct Noisy {
	~Noisy() { destroyed++; }
};

TRACED static int bottom(int n)
{
	if (n % 2)
		throw std::runtime_error("odd " + std::to_string(n));
	throw n;
}

TRACED static int through(int n, int depth)
{
	Noisy a, b;
	return depth ? through(n, depth - 1) + 1 : bottom(n);
}

TRACED static int back(int) { return through(3, 5); }

TRACED static int rethrows(int n)
{
	try {
		return through(n, 3);
	} catch (int x) {
		if (x % 4)
			throw;
		return x;
	}
}

static int tries;
TRACED static int initial()
{
	if (tries++ < 2)
		throw tries;
	return 7;
}

TRACED static int once()
{
	static int value = initial();
	return value;
}

TRACED static long everything()
{
	long sum = 0;
	for (int i = 0; i < 500; i++) {
		try {
			sum += rethrows(i);
		} catch (int n) {
			sum += n * 2;
		} catch (const std::exception &e) {
			sum += std::strlen(e.what());
		}
	}
	for (int i = 0; i < 50; i++)
		try {
			library_call(i % 10, back);
		} catch (const std::runtime_error &e) {
			sum += e.what()[4];
		}
	return sum;
}

TRACED static int in_thread()
{
	std::exception_ptr p;
	std::thread t([&] {
		try {
			through(9, 20);
		} catch (...) {
			p = std::current_exception();
		}
	});
	t.join();
	try {
		std::rethrow_exception(p);
	} catch (const std::runtime_error &e) {
		return std::strlen(e.what());
	}
}

} // extern "C"

int main(int argc, char **)
{
	long sum = everything();
	int starts = 0;

	for (int i = 0; i < 5; i++)
		try {
			starts += once();
		} catch (int n) {
			starts += n * 100;
		}
	printf("%ld %d %d thread %d alive %d\n", sum, destroyed, starts, in_thread(), library_alive());
	fflush(stdout);
	truth("bottom", 500 + 50 + 1);
	truth("rethrows", 500);
	truth("initial", 3);
	truth("once", 5);
	if (argc > 1)
		through(1, 4);
	return 5;
}
