// SPDX-License-Identifier: MIT
// Functions that take structures, strings and pointers of C++, called with values at random. The program tells what it called
// with, so that a tracer's lines can be held against it one by one.
//
//     structures SEED CALLS    writes "price(item={name="x1", cents=4}) = 4" lines to $ACCOUNT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#if defined(__clang__)
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noipa))
#endif
#define STRING_MOST 64

enum colour { RED, GREEN = 5, BLUE = -3 };
struct item { const char *name; int cents; };
struct tiny { short a; char b; };
struct mixed { double x; long n; };
struct reversed { int n; double x; };
struct floats { float x, y, z; };
struct inner { int q; };
struct base { int b; };
struct derived : base { int d; };
struct large { long v; char tag[12]; colour c; bool on; const char *s; inner in; int last; };
struct node { node *next; unsigned n; };
struct rows { int n[3]; double d[10]; colour c[2]; const char *names[2]; int grid[2][2]; };
struct halves { int a, b; };
struct wide { long a, b, c; };

ALONE int price(item i) { return i.cents; }
ALONE int little(tiny s, int n) { return s.a + n; }
ALONE int mix(mixed m, double k, floats f) { return (int)(m.x + k + f.z) + (int)m.n; }
// Optimised, its halves are where gcc 12 has no words for: its debug information says that r is lost. The convention tells it.
ALONE int turn(double k, reversed r, int n) { return (int)(k + r.x) + r.n + n; }
ALONE int much(int a, large l, int z) { return a + (int)l.v + z; }
// The structure finds no two registers; what comes behind it still has one.
ALONE int crowded(int a, int b, int c, int d, int e, item i, int f) { return a + b + c + d + e + i.cents + f; }
ALONE int follow(const item *i, const node &n) { return (i ? 1 : 0) + (int)n.n; }
ALONE int kin(derived d) { return d.b + d.d; }
ALONE int text(const std::string &a, std::string b, std::string_view v, std::unique_ptr<int> u, const std::string *p)
{
	return (int)(a.size() + b.size() + v.size() + (p ? p->size() : 0)) + *u;
}
ALONE int sum(const rows *r) { return r->n[0] + (int)r->d[9] + r->grid[1][1]; }
// What they return is in several registers, or not in rax.
ALONE halves halved(int n) { return { n / 2, n - n / 2 }; }
ALONE long double precise(int n) { return n / 4.0L + 0.0625L; }
ALONE __int128 squared(int n) { return (__int128)n * n; }
ALONE wide widened(int n) { return { n, n + 1, n + 2 }; }
ALONE int odd(long double x, int n) { return (int)x + n; }

static uint64_t state;
static FILE *account;

static unsigned any()
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33);
}

static int number() { return (int)any() / 3; }

static std::string any_string()
{
	std::string s(any() % 80, 'a');

	for (char &c : s)
		c = (char)('a' + any() % 26);
	return s;
}

static std::string shown(std::string_view s)
{
	return '"' + std::string(s.substr(0, STRING_MOST)) + (s.size() > STRING_MOST ? "\"..." : "\"");
}

static const char *colour_name(colour c)
{
	return c == RED ? "RED" : c == GREEN ? "GREEN" : "BLUE";
}

static std::string shown(const item &i) { return "{name=" + shown(i.name) + ", cents=" + std::to_string(i.cents) + "}"; }

static void do_items()
{
	std::string name = any_string();
	item i = { name.c_str(), number() };
	int n[6] = { number() % 9, number() % 9, number() % 9, number() % 9, number() % 9, number() % 9 };
	node first = { nullptr, any() }, second = { &first, any() };
	int back = price(i);

	fprintf(account, "price(i=%s) = %d\n", shown(i).c_str(), back);
	i.cents %= 99;
	back = crowded(n[0], n[1], n[2], n[3], n[4], i, n[5]);
	fprintf(account, "crowded(a=%d, b=%d, c=%d, d=%d, e=%d, i=%s, f=%d) = %d\n", n[0], n[1], n[2], n[3], n[4], shown(i).c_str(), n[5], back);
	back = follow(&i, second);
	fprintf(account, "follow(i=&%s, n=&{next=0x%lx, n=0x%x}) = %d\n", shown(i).c_str(), (long)&first, second.n, back);
	back = follow(nullptr, first);
	fprintf(account, "follow(i=0x0, n=&{next=0x0, n=0x%x}) = %d\n", first.n, back);
}

static void do_numbers()
{
	tiny t = { (short)any(), (char)('a' + any() % 26) };
	mixed m = { (int)any() % 64 / 8.0, number() };
	floats f = { (float)(any() % 64) / 8, (float)(any() % 64) / 8, (float)(any() % 64) / 8 };
	reversed r = { number() % 99, (int)any() % 64 / 8.0 };
	derived d;
	double k = any() % 64 / 8.0;
	int n = number(), back = little(t, n % 9);

	fprintf(account, "little(s={a=%d, b='%c'}, n=%d) = %d\n", t.a, t.b, n % 9, back);
	m.n %= 99;
	back = mix(m, k, f);
	fprintf(account, "mix(m={x=%g, n=%ld}, k=%g, f={x=%g, y=%g, z=%g}) = %d\n", m.x, m.n, k, f.x, f.y, f.z, back);
	back = turn(k, r, n % 9);
	fprintf(account, "turn(k=%g, r={n=%d, x=%g}, n=%d) = %d\n", k, r.n, r.x, n % 9, back);
	d.b = number() % 99;
	d.d = number() % 99;
	back = kin(d);
	fprintf(account, "kin(d={d=%d, ...}) = %d\n", d.d, back);
	rows w = { { n, 2, -3 }, { k, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { GREEN, BLUE }, { nullptr, nullptr }, { { 1, 2 }, { 3, 4 } } };
	back = sum(&w);
	fprintf(account, "sum(r=&{n={%d, 2, -3}, d={%g, 1, 2, 3, 4, 5, 6, 7, ...}, c={GREEN, BLUE}, names={0x0, 0x0}, grid=?}) = %d\n", n, k, back);
	halved(n);
	precise(n);
	squared(n);
	fprintf(account, "halved(n=%d) = {a=%d, b=%d}\nprecise(n=%d) = %.16Lg\nsquared(n=%d) = %lld\n", n, n / 2, n - n / 2, n, n / 4.0L + 0.0625L, n,
		(long long)n * n);
	widened(n);
	back = odd(n % 9, 2);
	fprintf(account, "odd(x=%d, n=2) = %d\n", n % 9, back);
}

static void do_large()
{
	static const colour colours[] = { RED, GREEN, BLUE };
	std::string s = any_string();
	large l = { number() % 99, "", colours[any() % 3], any() % 2 == 0, s.c_str(), { 1 }, number() };
	int back;

	memcpy(l.tag, "0123456789ab", any() % 13);
	back = much(1, l, 2);
	fprintf(account, "much(a=1, l={v=%ld, tag=\"%.12s\", c=%s, on=%s, s=%s, in=?, last=%d}, z=2) = %d\n", l.v, l.tag, colour_name(l.c),
		l.on ? "true" : "false", shown(s).c_str(), l.last, back);
}

static void do_text()
{
	std::string a = any_string(), b = any_string(), p = any_string(), whole = any_string();
	std::string_view v = std::string_view(whole).substr(0, any() % 80);
	std::unique_ptr<int> u = std::make_unique<int>(3);
	bool has = any() % 2;
	long at = (long)u.get();
	int back = text(a, b, v, std::move(u), has ? &p : nullptr);

	fprintf(account, "text(a=%s, b=%s, v=%s, u=0x%lx, p=%s) = %d\n", shown(a).c_str(), shown(b).c_str(), shown(v).c_str(), at,
		has ? shown(p).c_str() : "(fault)", back);
}

int main(int argc, char **argv)
{
	static void (*const all[])() = { do_items, do_numbers, do_large, do_text };
	long calls = argc == 3 ? atol(argv[2]) : 0;

	if (argc != 3)
		return 2;
	state = strtoull(argv[1], nullptr, 10);
	account = fopen(getenv("ACCOUNT"), "w");
	if (!account)
		return 2;
	for (long i = 0; i < calls; i++)
		all[i % 4]();
	return fclose(account) != 0;
}
