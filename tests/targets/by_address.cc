/* SPDX-License-Identifier: MIT */
/* Classes that C++ passes and returns by address, because copying them is more than their bytes, and
 * classes that it passes by value. Prints what each function returns, in the order of its lines. */
#include <memory>
#include <string>
#include <cstdio>
#include <utility>
struct Bt { int v; ~Bt() { v = 0; } };
struct Cc { int v; Cc(int x) : v(x) {} Cc(const Cc &o) : v(o.v) {} };
struct St { int v; std::string s; };
struct Mo { int v; Mo(int x) : v(x) {} Mo(const Mo &) = delete; Mo(Mo &&) = default; };
struct Pl { int v; int swap(Pl &) { return 0; } ~Pl() = default; Pl(int x) : v(x) {} };
__attribute__((noinline)) int fb(Bt n) { return n.v; }
__attribute__((noinline)) int fc(Cc n) { return n.v; }
__attribute__((noinline)) int fs(St n) { return n.v; }
__attribute__((noinline)) int fm(Mo n) { return n.v; }
__attribute__((noinline)) int fp(Pl n) { return n.v; }
__attribute__((noinline)) std::unique_ptr<int> mku(int a, const char *s) { return std::make_unique<int>(a + *s); }
__attribute__((noinline)) Bt mkb(int a) { return Bt{a}; }
int main() { printf("%d %d %d %d %d %d %d\n", fb(Bt{12}), fc(Cc(13)), fs(St{14, "x"}), fm(Mo(15)), fp(Pl(16)), *mku(1, "one"), mkb(17).v); }
