/* The same of C++: names in namespaces, references, templates, members. */
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define FUNCTION __attribute__((noinline, used))

namespace shop {
enum class kind { book, pen };
struct item { std::string name; kind of; };
namespace { FUNCTION int hidden(item *) { return 1; } }
inline namespace v2 { FUNCTION int newer(const item &one, item &&two) { return one.of == two.of; } }
FUNCTION double price(const item &of, unsigned n) { return of.name.size() * n; }
FUNCTION double price(const std::vector<item> &all) { return all.size(); }
FUNCTION std::unique_ptr<item> make(std::string name, kind of) { return std::unique_ptr<item>(new item{ std::move(name), of }); }
template <typename T> FUNCTION T twice(T x) { return x + x; }
template int twice<int>(int);
class counter {
public:
	FUNCTION counter(int from) : n(from) {}
	FUNCTION int add(int by) { return n += by; }
	FUNCTION int now() const { return n; }
	FUNCTION static counter *of(int x);
	int n;
};
counter *counter::of(int x) { return new counter(x); }
}

int main()
{
	shop::item one{ "a", shop::kind::pen };
	return shop::hidden(&one) + (int)shop::price(one, 1) + (int)shop::price({ one }) + shop::twice(1) + shop::make("x", one.of)->name.size() +
	       shop::counter::of(1)->add(2) + shop::counter(1).now() + shop::newer(one, { "b", one.of });
}
