/* SPDX-License-Identifier: MIT */
/* Functions that need care for reasons that no analysis of their code can see: properties of the
 * caller, of the kernel, of a table elsewhere. The planner asks by the names of symbols, dynamic
 * symbols and imports. Tables only; any thread. Nothing fails. */
#include "hook/special.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "shared/aot.h"

/* never: not hooked at all; else hooked, but its return is not followed. The macros below name the
 * reasons. TWICE: returns more than once, or on another stack. CALLER: looks at its return address,
 * or unwinds from it. NO_RETURN: was not called, so that there is none. CONVENTION: keeps other
 * registers than the ABI says. RUNTIME: its address or its return is known to others. */
struct special_entry { const char *name; uint8_t reason; bool never; };

#define TWICE(n) { n, REASON_RETURNS_TWICE, false }
#define CALLER(n) { n, REASON_READS_CALLER, false }
#define NO_RETURN(n) { n, REASON_NO_RETURN_ADDRESS, false }
#define CONVENTION(n) { n, REASON_CONVENTION, true }
#define RUNTIME(n) { n, REASON_RUNTIME, true }

/* Sorted by strcmp(), for bsearch(). */
static const struct special_entry exact[] = {
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

/* All begin with an underscore: special_function() looks no further for other names. */
static const struct special_entry prefixes[] = {
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

/* bsearch()'s order, for `exact`. */
static int compare_name(const void *key, const void *entry)
{
	return strcmp(key, ((const struct special_entry *)entry)->name);
}

/* The answer for a row; all zeros mean that the function is not special. */
static struct special special_of(const struct special_entry *e)
{
	return (struct special){ e->reason, e->never };
}

/* Called with every symbol of every function, most of which are not special: the second search is
 * left out where it cannot succeed. */
struct special special_function(const char *name)
{
	const struct special_entry *e =
		bsearch(name, exact, sizeof(exact) / sizeof(*exact), sizeof(*exact), compare_name);

	if (e)
		return special_of(e);
	if (name[0] != '_')
		return (struct special){ 0 };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i].name, strlen(prefixes[i].name)) == 0)
			return special_of(&prefixes[i]);
	return (struct special){ 0 };
}

/* A sanitizer's thread looks at the others while they stand still; Go's threads have thread
 * pointers of their own. */
bool special_starts_threads(const char *name)
{
	static const char *const names[] = { "clone", "__clone", "__sanitizer_print_stack_trace",
					     "runtime.clone", "runtime.clone.abi0" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* --- ways to leave a stack ---------------------------------------------------------------- */

/* Sorted by strcmp(). Other functions that set their stack pointer are found by their code. */
static const struct { const char *name; uint8_t kind; } leaves[] = {
	{ "_Unwind_ForcedUnwind", NONLOCAL_BY_UNWINDING },
	{ "_Unwind_RaiseException", NONLOCAL_BY_UNWINDING },
	{ "_Unwind_Resume", NONLOCAL_BY_UNWINDING },
	{ "_Unwind_Resume_or_Rethrow", NONLOCAL_BY_UNWINDING },
	{ "__getcontext", NONLOCAL_MARK },
	{ "__libc_longjmp", NONLOCAL_BY_JMP_BUF },
	{ "__libc_siglongjmp", NONLOCAL_BY_JMP_BUF },
	{ "__libc_vfork", NONLOCAL_LENDING },
	{ "__longjmp", NONLOCAL_BY_JMP_BUF },
	{ "__longjmp_chk", NONLOCAL_BY_JMP_BUF },
	{ "__setcontext", NONLOCAL_BY_CONTEXT },
	{ "__setjmp", NONLOCAL_MARK },
	{ "__sigsetjmp", NONLOCAL_MARK },
	{ "__swapcontext", NONLOCAL_BY_SECOND_CONTEXT },
	{ "__vfork", NONLOCAL_LENDING },
	{ "_longjmp", NONLOCAL_BY_JMP_BUF },
	{ "_setjmp", NONLOCAL_MARK },
	{ "co_switch", NONLOCAL_SOMEWHERE },
	{ "coro_transfer", NONLOCAL_SOMEWHERE },
	{ "coroutine_transfer", NONLOCAL_SOMEWHERE },
	{ "getcontext", NONLOCAL_MARK },
	{ "jump_fcontext", NONLOCAL_SOMEWHERE },
	{ "longjmp", NONLOCAL_BY_JMP_BUF },
	{ "ontop_fcontext", NONLOCAL_SOMEWHERE },
	{ "setcontext", NONLOCAL_BY_CONTEXT },
	{ "setjmp", NONLOCAL_MARK },
	{ "siglongjmp", NONLOCAL_BY_JMP_BUF },
	{ "sigsetjmp", NONLOCAL_MARK },
	{ "swapcontext", NONLOCAL_BY_SECOND_CONTEXT },
	{ "vfork", NONLOCAL_LENDING },
};

/* A row begins with its name, so that the row's address is that of a pointer to the name. */
static int by_leave_name(const void *key, const void *entry)
{
	return strcmp(key, *(const char *const *)entry);
}

/* shared/nonlocal.h has the meaning of each kind to the agent. */
enum nonlocal_kind special_nonlocal(const char *name)
{
	const void *found = bsearch(name, leaves, sizeof(leaves) / sizeof(*leaves), sizeof(*leaves),
				    by_leave_name);

	return found ? leaves[((const char *)found - (const char *)leaves) / sizeof(*leaves)].kind
		     : NONLOCAL_NOT;
}

/* --- runtimes ---------------------------------------------------------------- */

/* True for a symbol of GHC's runtime, which is in every program of GHC's, or of its main. */
static bool is_ghc_symbol(const char *name)
{
	return strncmp(name, "stg_ap_", 7) == 0 || strcmp(name, "ZCMain_main_info") == 0;
}

/* By symbols that only that runtime has, or by the name of the file. */
enum special_runtime special_runtime(const struct sym_module *m)
{
	if (aot_is_file(m->path))
		return RUNTIME_MONO_AOT;
	if (strncmp(path_file_name(m->path), "libHS", 5) == 0)
		return RUNTIME_GHC;
	for (size_t i = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		if (name && strncmp(name, "Builtins_", 9) == 0)
			return RUNTIME_V8;
		if (name && strcmp(name, "caml_call_gc") == 0)
			return RUNTIME_OCAML;
		if (name && is_ghc_symbol(name))
			return RUNTIME_GHC;
	}
	return RUNTIME_PLAIN;
}

/* Mangled names end with the types of their parameters: a signature is known by its end. */
static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* V8: its builtins, and functions that generated code calls with an exit frame: runtime functions
 * (int, Address *, Isolate *), callbacks of the embedder, the regexp stack check. */
static bool called_by_v8(const char *name)
{
	return strncmp(name, "Builtins_", 9) == 0 ||
	       (strncmp(name, "_Z", 2) == 0 &&
		(ends_with(name, "EiPmPNS0_7IsolateE") || strstr(name, "FunctionCallbackInfo") ||
		 strstr(name, "PropertyCallbackInfo") || strstr(name, "CheckStackGuardState")));
}

/* GHC: what its own code generator makes, by the endings of the names: entries, with arguments in
 * registers or on its own stack; and its runtime's. The stack pointer is C's meanwhile, and on top
 * of that stack stands anything: not a return address. */
static bool jumped_to_by_ghc(const char *name)
{
	return strncmp(name, "stg_", 4) == 0 || strncmp(name, "__stg_", 6) == 0 ||
	       ends_with(name, "_info") || ends_with(name, "_fast") || ends_with(name, "_slow");
}

/* True: generated code of that runtime may call the function, or the runtime may walk the stack
 * above it. */
bool special_called_by_runtime(enum special_runtime r, const char *name)
{
	switch (r) {
	case RUNTIME_V8:
		return called_by_v8(name);
	case RUNTIME_GHC:
		return jumped_to_by_ghc(name);
	case RUNTIME_OCAML: /* any function may be called from OCaml code, and collect */
		return true;
	default:
		return false;
	}
}
