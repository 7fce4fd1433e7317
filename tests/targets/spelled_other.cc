/* The other file of spelled.cc. */
#define TRACED __attribute__((noinline, noclone, used))
extern volatile int sum;
static TRACED void begin() { sum = sum + 7; }
void begin_others();
TRACED void begin_others()
{
	for (int i = 0; i < 5; i++)
		begin();
}
