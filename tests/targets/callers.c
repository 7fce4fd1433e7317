/* Callers found in five ways: backtrace(), _Unwind_Backtrace, libunwind (where it is installed),
 * __builtin_return_address and dladdr, from deep recursion, through a library's callback, from a
 * signal handler in the middle of a call; and dlsym(RTLD_NEXT), which looks at its caller. Prints
 * every frame as function+offset, so that each must be the untraced run's; the agent's own between
 * them are left out. `callers wait FILE`: makes FILE, deep in its recursion, and stands there until
 * it is gone, for a debugger. */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <unwind.h>
#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include "truth.h"

enum { FRAMES = 200 };
static const char *wait_for;
static unsigned long looked;

/* A frame: of which function, and where in it. A return address stands behind the call. */
static void print_frame(void *pc)
{
	Dl_info about = { 0 };

	if (!dladdr(pc, &about) || !about.dli_fname) {
		printf(" ?");
		return;
	}
	if (strstr(about.dli_fname, "libbrace-agent"))
		return;
	if (about.dli_sname)
		printf(" %s+%lx", about.dli_sname, (unsigned long)((char *)pc - (char *)about.dli_saddr));
	else
		printf(" %s:%lx", strrchr(about.dli_fname, '/') + 1, (unsigned long)((char *)pc - (char *)about.dli_fbase));
}

static void print_frames(const char *by, void **frames, int n)
{
	printf("%s:", by);
	for (int i = 0; i < n; i++)
		print_frame(frames[i]);
	printf("\n");
}

struct found { void *at[FRAMES]; int n; };

static _Unwind_Reason_Code found_one(struct _Unwind_Context *context, void *arg)
{
	struct found *f = arg;

	if (f->n < FRAMES)
		f->at[f->n++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void by_libunwind(struct found *f)
{
#ifdef HAVE_LIBUNWIND
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;

	f->n = unw_backtrace(f->at, FRAMES);
	print_frames("unw_backtrace", f->at, f->n);
	f->n = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		f->at[f->n++] = (void *)pc;
	} while (f->n < FRAMES && unw_step(&cursor) > 0);
	print_frames("unw_step", f->at, f->n);
#endif
	f->n = 0;
}

/* Not static: dladdr knows what the program exports. */
TRACED void look(void)
{
	struct found f;

	looked++;
	f.n = backtrace(f.at, FRAMES);
	print_frames("backtrace", f.at, f.n);
	f.n = 0;
	_Unwind_Backtrace(found_one, &f);
	print_frames("unwind", f.at, f.n);
	by_libunwind(&f);
	if (wait_for)
		close(creat(wait_for, 0600));
	while (wait_for && !access(wait_for, F_OK))
		usleep(10000);
	BARRIER();
}

TRACED void on_signal(int signal) { look(); BARRIER(); }
TRACED int compare(const void *a, const void *b)
{
	if (*(const int *)a == 2 && *(const int *)b == 1)
		look();
	return *(const int *)a - *(const int *)b;
}

TRACED unsigned long down(int n)
{
	unsigned long r;

	if (!n)
		look();
	r = n ? down(n - 1) : 0;
	BARRIER();
	return r + 1;
}

TRACED void raises(int n)
{
	if (n)
		raises(n - 1);
	else
		raise(SIGUSR1);
	BARRIER();
}

/* Interrupted at its first instructions, too, where a frame is not yet made. */
TRACED unsigned long spins(unsigned long n) { BARRIER(); return n * 3 + 1; }

/* The caller by its address, as logs and allocators ask. */
TRACED const char *whose(void)
{
	Dl_info about;

	return dladdr(__builtin_return_address(0), &about) && about.dli_sname ? about.dli_sname : "?";
}

TRACED const char *asks(void) { const char *name = whose(); BARRIER(); return name; }
TRACED const char *asks_last(void) { return whose(); }

/* The next one after us; by a call, and by a tail call, which makes our caller dlsym's. */
TRACED void *next_of(const char *name) { void *p = dlsym(RTLD_NEXT, name); BARRIER(); return p; }
TRACED void *next_by_tail(const char *name) { return dlsym(RTLD_NEXT, name); }

/* A wrapper as LD_PRELOAD's are: its name is libc's. */
TRACED int rand(void)
{
	static int (*real)(void);

	if (!real)
		real = (int (*)(void))(unsigned long)next_of("rand");
	return real() | 1;
}

TRACED void asks_all(void)
{
	long a = (long)next_of("puts"), b = (long)next_by_tail("puts");

	printf("%s %s\n", asks(), asks_last());
	printf("%d %d %d\n", a == (long)dlsym(RTLD_DEFAULT, "puts"), a == b, rand() & 1);
	printf("%d\n", next_of("asks_all") == NULL);
}

int main(int argc, char **argv)
{
	int numbers[4] = { 2, 1, 3, 0 };
	unsigned long i, n = 1;

	if (argc > 2)
		wait_for = argv[2];
	printf("%lu\n", down(12));
	if (argc > 2)
		return 0;
	qsort(numbers, 4, sizeof(int), compare);
	signal(SIGUSR1, on_signal);
	raises(4);
	asks_all();
	for (i = 0; i < 1000; i++)
		n = spins(n);
	printf("%lu %lu\n", n, looked);
	truth("look", looked);
	truth("down", 13);
	truth("raises", 5);
	truth("asks", 1);
	truth("next_of", 3);
	return 0;
}
