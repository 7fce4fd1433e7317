/* Functions of one name: overloads, const and not, a static one of another kind; and one that is alone with its name. */
#include <cstdio>
#include <string>
#define TRACED __attribute__((noinline, noclone, used))

namespace ns {
volatile int sum;
TRACED void f(int) { sum = sum + 1; }
TRACED void f(double) { sum = sum + 2; }
TRACED void f(int, const char *) { sum = sum + 3; }
TRACED void alone(int) { sum = sum + 4; }
struct box {
	TRACED void get() { sum = sum + 5; }
	TRACED void get() const { sum = sum + 6; }
};
template <class T> TRACED void copy(T) { sum = sum + 7; }
template <class T> TRACED void copy(T *) { sum = sum + 8; }
struct one { TRACED operator unsigned long() { return (unsigned long)(sum = sum + 9); } };
}

int main()
{
	ns::box one;
	const ns::box other;
	int i;

	for (i = 0; i < 3; i++)
		ns::f(1);
	for (i = 0; i < 5; i++)
		ns::f(1.5);
	ns::f(1, "x");
	ns::alone(1);
	one.get();
	other.get();
	other.get();
	(void)(unsigned long)ns::one();
	ns::copy<int>(1);
	ns::copy<int>(&i);
	ns::copy<int>(&i);
	printf("%d\n", ns::sum);
	return 0;
}
