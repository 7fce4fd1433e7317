/* SPDX-License-Identifier: MIT */
/* Functions that return floating-point numbers and strings of every kind that brace shows. The
 * program tells what it called with and what came back, so that a tracer's lines can be held
 * against it one by one; and a sum of all, which tracing must not change.
 *
 *     answers SEED CALLS [THREADS]   writes `scale(x=1.5) = 3` lines to $ACCOUNT, of one thread
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__clang__)
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noipa))
#endif
#define STRING_MOST 64

extern "C" {
ALONE double scale(double x) { return x * 2; }
ALONE float half(float x) { return x / 2; }
ALONE double through(double x) { return scale(x); }
ALONE const char *name(int i)
{
	static thread_local char text[128];

	if (i % 7 == 0)
		return nullptr;
	if (i % 7 == 1)
		return (const char *)16;
	snprintf(text, sizeof(text), "x%d%.*s", i, i % 90, "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz "
		 "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz");
	return text;
}
ALONE long plain(long n) { return n + 1; }
ALONE std::string made(int i) { return i % 5 ? std::string(i % 40, 'm') : std::string(); }
ALONE const std::string &kept(int i)
{
	static const std::string all[2] = { "short", "a string that has its characters elsewhere" };

	return all[i & 1];
}
ALONE std::string_view seen(int i) { return std::string_view("one two three").substr(i % 14); }
ALONE double thrown(double x)
{
	if (x < 0)
		throw 1;
	return x;
}
}

struct teller {
	uint64_t state;
	FILE *to;
	double sum;

	uint64_t any()
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return state >> 33;
	}
	void number(double x, bool single)
	{
		char text[40];

		for (int digits = 6; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, x);
			if (single ? strtof(text, nullptr) == (float)x : strtod(text, nullptr) == x)
				break;
		}
		if (to)
			fprintf(to, "%s", text);
	}
	void of(const char *call, double x, double y, bool single)
	{
		if (to)
			fprintf(to, "%s(x=", call);
		number(x, single);
		if (to)
			fprintf(to, ") = ");
		number(y, single);
		if (to)
			fputc('\n', to);
		sum += y;
	}
	void of(const char *call, int i, std::string_view s)
	{
		if (to)
			fprintf(to, "%s(i=%d) = \"%.*s\"%s\n", call, i, (int)std::min<size_t>(s.size(), STRING_MOST), s.data(),
				s.size() > STRING_MOST ? "..." : "");
		sum += s.size();
	}
	void of(int i, const char *s)
	{
		if (s > (const char *)16)
			of("name", i, s);
		else if (to)
			fprintf(to, "name(i=%d) = %s\n", i, s ? "(fault)" : "0x0");
	}
	void round();
};

void teller::round()
{
	int i = (int)(any() % 100000);
	double x = (double)any() / 128 - 1e6;

	switch (any() % 8) {
	case 0: of("scale", x, scale(x), false); break;
	case 1: of("half", (float)x, half((float)x), true); break;
	case 2: of(i, name(i)); break;
	case 3: of("made", i, made(i)); break;
	case 4: of("kept", i, kept(i)); break;
	case 5: of("seen", i, seen(i)); break;
	case 6:
		try {
			of("thrown", x, thrown(x), false);
		} catch (int) {
			sum += 1;
		}
		break;
	case 7: {
		long n = plain(i);

		if (to)
			fprintf(to, "plain(n=%d) = %ld\n", i, n);
		sum += n;
	}
	}
}

int main(int argc, char **argv)
{
	const char *path = getenv("ACCOUNT");
	int calls = argc > 2 ? atoi(argv[2]) : 100, threads = argc > 3 ? atoi(argv[3]) : 1;
	std::vector<teller> all(threads);
	std::vector<std::thread> running;
	double sum = 0;

	for (int k = 0; k < threads; k++)
		all[k] = { (uint64_t)atoi(argv[1]) + k, k || !path ? nullptr : fopen(path, "w"), 0 };
	for (int k = 1; k < threads; k++)
		running.emplace_back([&all, k, calls] { for (int i = 0; i < calls; i++) all[k].round(); });
	for (int i = 0; i < calls; i++)
		all[0].round();
	for (auto &t : running)
		t.join();
	for (auto &t : all)
		sum += t.sum;
	sum += through(1.25);
	if (all[0].to)
		fclose(all[0].to);
	printf("%.17g\n", sum);
	return 0;
}
