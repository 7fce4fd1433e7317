#!/bin/bash
# A traced program sees the environment it would have untraced, passes it on, and what it execs is
# traced all the same; where the agent cannot come along, nobody complains.
. "$(dirname "$0")/lib.sh"

traced_programs() { "$BRACE" info "$T/trace" | grep -c '^program'; }

same "the environment of the program itself" -- env
check_that "env was traced" [ "$(traced_programs)" -eq 1 ]
same "the environment of what it execs" -- bash -c 'env | sort; env -i env; python3 -c "import os; print(len(os.environ))"'
check_that "bash, env, sort, env, env and python were traced" [ "$(traced_programs)" -ge 6 ]
same "a variable that looks like ours" -- env BRACE_AGENTS=1 LD_PRELOADED=2 bash -c 'env | grep -E "BRACE|LD_" | sort'

export LD_PRELOAD=libm.so.6
same "somebody else's LD_PRELOAD stays" -- bash -c 'echo "$LD_PRELOAD"; env | grep LD_PRELOAD'
unset LD_PRELOAD

# Of an environment that is not there, or whose strings are not, the kernel says EFAULT.
same "an environment that cannot be read" -- python3 -c 'import ctypes
libc = ctypes.CDLL(None, use_errno=True)
argv = (ctypes.c_char_p * 2)(b"true", None)
for environment in ctypes.c_void_p(1), (ctypes.c_void_p * 3)(1, 1, 0):
    print(libc.execve(b"/bin/true", argv, environment), ctypes.get_errno())'

if [ "$(id -u)" -eq 0 ]; then
	mkdir -p "$T/root/bin"
	cp "$(command -v dash)" "$T/root/bin/sh"
	ldd /bin/dash | grep -oE '/[^ ]+' | while read -r lib; do
		mkdir -p "$T/root$(dirname "$lib")"
		cp -L "$lib" "$T/root$lib"
	done
	same "a program in a changed root" -- chroot "$T/root" /bin/sh -c 'echo inside; exit 5'
	check_that "it ended with its own status" [ "$(cat "$T/traced.status")" -eq 5 ]
else
	skip "a program in a changed root" "only root may change it"
fi
finish
