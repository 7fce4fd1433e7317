/* Functions whose names are long to compilers and short to programmers, and two that have one symbol: a static one in each
 * of two files. */
#include <cstdio>
#include <map>
#include <string>
#include <vector>
#define TRACED __attribute__((noinline, noclone, used))

volatile int sum;
static TRACED void begin() { sum = sum + 1; }
void begin_others();

namespace shop {
TRACED void price(const std::string &) { sum = sum + 2; }
TRACED void price(const std::vector<int> &) { sum = sum + 3; }
TRACED void price(const std::map<std::string, std::vector<std::string>> &) { sum = sum + 4; }
template <class T> struct basket {
	TRACED void put(T) { sum = sum + 5; }
};
TRACED void a_name_that_is_much_longer_than_what_is_left_of_the_width_of_a_usual_terminal() { sum = sum + 6; }
}

int main()
{
	shop::basket<std::string> names;

	for (int i = 0; i < 3; i++)
		begin();
	begin_others();
	shop::price("apple");
	shop::price("pear");
	shop::price(std::vector<int>{ 1, 2 });
	shop::price(std::map<std::string, std::vector<std::string>>{});
	for (int i = 0; i < 4; i++)
		names.put("x");
	shop::a_name_that_is_much_longer_than_what_is_left_of_the_width_of_a_usual_terminal();
	printf("%d\n", sum);
	return 0;
}
