/* SPDX-License-Identifier: MIT */
/* What no analysis can see, because it is a property of the caller, of the kernel or of a table
 * somewhere else. Names are those of symbols, dynamic symbols and imports. */
#include "hook/special.h"

#include <stdlib.h>
#include <string.h>

struct entry { const char *name; uint8_t reason; bool never; };

#define TWICE(n) { n, REASON_RETURNS_TWICE, false }
#define CALLER(n) { n, REASON_READS_CALLER, false }
#define NO_RETURN(n) { n, REASON_NO_RETURN_ADDRESS, false }
#define CONVENTION(n) { n, REASON_CONVENTION, true }
#define RUNTIME(n) { n, REASON_RUNTIME, true }

/* Sorted as strcmp does. */
static const struct entry exact[] = {
	CALLER("_Unwind_Backtrace"),
	CALLER("_Unwind_FindEnclosingFunction"),
	CALLER("_Unwind_ForcedUnwind"),
	RUNTIME("_Unwind_GetCFA"),
	CALLER("_Unwind_RaiseException"),
	CALLER("_Unwind_Resume"),
	CALLER("_Unwind_Resume_or_Rethrow"),
	CALLER("__backtrace"),
	TWICE("__clone"),
	TWICE("__clone3"),
	TWICE("__clone_internal"),
	CONVENTION("__cyg_profile_func_enter"),
	CONVENTION("__cyg_profile_func_exit"),
	CALLER("__dlopen"),
	CALLER("__dlsym"),
	CALLER("__dlvsym"),
	CONVENTION("__fentry__"),
	TWICE("__getcontext"),
	CALLER("__libc_dlopen_mode"),
	CALLER("__libc_dlsym"),
	CALLER("__libc_dlvsym"),
	TWICE("__makecontext"),
	TWICE("__morestack"),
	RUNTIME("__restore"),
	RUNTIME("__restore_rt"),
	CONVENTION("__return__"),
	TWICE("__setcontext"),
	TWICE("__setjmp"),
	TWICE("__sigreturn"),
	TWICE("__sigsetjmp"),
	NO_RETURN("__start_context"),
	CONVENTION("__tls_get_addr"),
	CONVENTION("__tls_get_addr_slow"),
	CALLER("_dl_mcount"),
	CALLER("_dl_mcount_wrapper"),
	CALLER("_dl_mcount_wrapper_check"),
	NO_RETURN("_dl_start"),
	NO_RETURN("_dl_start_user"),
	CONVENTION("_mcount"),
	TWICE("_setjmp"),
	NO_RETURN("_start"),
	CALLER("backtrace"),
	TWICE("clone"),
	TWICE("clone3"),
	CALLER("dl_iterate_phdr"),
	CALLER("dladdr"),
	CALLER("dladdr1"),
	CALLER("dlinfo"),
	CALLER("dlmopen"),
	CALLER("dlopen"),
	CALLER("dlsym"),
	CALLER("dlvsym"),
	TWICE("getcontext"),
	TWICE("makecontext"),
	CONVENTION("mcount"),
	TWICE("rt_sigreturn"),
	RUNTIME("runtime.goexit"),
	RUNTIME("runtime.goexit.abi0"),
	RUNTIME("runtime.sigreturn"),
	RUNTIME("runtime.sigreturn.abi0"),
	RUNTIME("runtime.sigreturn__sigaction"),
	RUNTIME("runtime.sigreturn__sigaction.abi0"),
	TWICE("savectx"),
	TWICE("setcontext"),
	TWICE("setjmp"),
	TWICE("sigreturn"),
	TWICE("sigsetjmp"),
};

static const struct entry prefixes[] = {
	CALLER("_Unwind_"),
	CALLER("__asan_"),
	CALLER("__hwasan_"),
	CALLER("__lsan_"),
	CALLER("__msan_"),
	CALLER("__sanitizer_"),
	CALLER("__tsan_"),
	CALLER("__ubsan_"),
	CONVENTION("__tls_desc"),
	CONVENTION("_dl_runtime_profile"),
	CONVENTION("_dl_runtime_resolve"),
	CONVENTION("_dl_tlsdesc_"),
	CONVENTION("__xray_"),
};

static int by_name(const void *key, const void *entry)
{
	return strcmp(key, ((const struct entry *)entry)->name);
}

static struct special special_of(const struct entry *e)
{
	return (struct special){ e->reason, e->never };
}

struct special special_function(const char *name)
{
	const struct entry *e =
		bsearch(name, exact, sizeof(exact) / sizeof(*exact), sizeof(*exact), by_name);

	if (e)
		return special_of(e);
	if (name[0] != '_')
		return (struct special){ 0 };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i].name, strlen(prefixes[i].name)) == 0)
			return special_of(&prefixes[i]);
	return (struct special){ 0 };
}

/* A sanitizer starts one to look at the others while they stand still; Go's have thread pointers of their own. */
bool special_starts_threads(const char *name)
{
	static const char *const names[] = { "clone", "__clone", "__sanitizer_print_stack_trace", "runtime.clone",
					     "runtime.clone.abi0" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* --- ways to leave a stack ---------------------------------------------------------------- */

/* Sorted as strcmp does. What else sets its stack pointer is seen in its code. */
static const struct { const char *name; uint8_t kind; } leaves[] = {
	{ "_Unwind_ForcedUnwind", LEAVE_BY_UNWINDING },
	{ "_Unwind_RaiseException", LEAVE_BY_UNWINDING },
	{ "_Unwind_Resume", LEAVE_BY_UNWINDING },
	{ "_Unwind_Resume_or_Rethrow", LEAVE_BY_UNWINDING },
	{ "__getcontext", LEAVE_MARK },
	{ "__libc_longjmp", LEAVE_BY_JMP_BUF },
	{ "__libc_siglongjmp", LEAVE_BY_JMP_BUF },
	{ "__libc_vfork", LEAVE_LENDING },
	{ "__longjmp", LEAVE_BY_JMP_BUF },
	{ "__longjmp_chk", LEAVE_BY_JMP_BUF },
	{ "__setcontext", LEAVE_BY_CONTEXT },
	{ "__setjmp", LEAVE_MARK },
	{ "__sigsetjmp", LEAVE_MARK },
	{ "__swapcontext", LEAVE_BY_SECOND_CONTEXT },
	{ "__vfork", LEAVE_LENDING },
	{ "_longjmp", LEAVE_BY_JMP_BUF },
	{ "_setjmp", LEAVE_MARK },
	{ "co_switch", LEAVE_SOMEWHERE },
	{ "coro_transfer", LEAVE_SOMEWHERE },
	{ "coroutine_transfer", LEAVE_SOMEWHERE },
	{ "getcontext", LEAVE_MARK },
	{ "jump_fcontext", LEAVE_SOMEWHERE },
	{ "longjmp", LEAVE_BY_JMP_BUF },
	{ "ontop_fcontext", LEAVE_SOMEWHERE },
	{ "setcontext", LEAVE_BY_CONTEXT },
	{ "setjmp", LEAVE_MARK },
	{ "siglongjmp", LEAVE_BY_JMP_BUF },
	{ "sigsetjmp", LEAVE_MARK },
	{ "swapcontext", LEAVE_BY_SECOND_CONTEXT },
	{ "vfork", LEAVE_LENDING },
};

static int by_leave_name(const void *key, const void *entry)
{
	return strcmp(key, *(const char *const *)entry);
}

enum leave_kind special_leave(const char *name)
{
	const void *found = bsearch(name, leaves, sizeof(leaves) / sizeof(*leaves), sizeof(*leaves), by_leave_name);

	return found ? leaves[((const char *)found - (const char *)leaves) / sizeof(*leaves)].kind : LEAVE_NOT;
}

/* --- runtimes ---------------------------------------------------------------- */

enum special_runtime special_runtime(const struct sym_module *m)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		if (name && strncmp(name, "Builtins_", 9) == 0)
			return RUNTIME_V8;
		if (name && strcmp(name, "caml_call_gc") == 0)
			return RUNTIME_OCAML;
	}
	return RUNTIME_PLAIN;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* V8: its builtins, and what generated code calls with an exit frame: runtime functions
 * (int, Address *, Isolate *), callbacks of the embedder, the regexp stack check. */
static bool called_by_v8(const char *name)
{
	return strncmp(name, "Builtins_", 9) == 0 ||
	       (strncmp(name, "_Z", 2) == 0 &&
		(ends_with(name, "EiPmPNS0_7IsolateE") || strstr(name, "FunctionCallbackInfo") ||
		 strstr(name, "PropertyCallbackInfo") || strstr(name, "CheckStackGuardState")));
}

bool special_called_by_runtime(enum special_runtime r, const char *name)
{
	switch (r) {
	case RUNTIME_V8:
		return called_by_v8(name);
	case RUNTIME_OCAML: /* any function may be called from OCaml code, and collect */
		return true;
	default:
		return false;
	}
}
