/* A library that is loaded, called and unloaded again by loads.c. */
int plugin_answer(int (*back)(int), int n);
static int state;

__attribute__((constructor)) static void loaded(void) { state = 40; }

__attribute__((noinline, noclone)) static int inner(int n)
{
	__asm__ volatile("");
	return n + state;
}

int plugin_answer(int (*back)(int), int n)
{
	return back(inner(n)) + 1;
}
