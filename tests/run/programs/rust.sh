#!/bin/bash
# Debian's ripgrep, a stripped Rust program with a pool of threads.
. "$(dirname "$0")/lib.sh"
need rg
prepare() {
	mkdir -p tree/{a,b,c}
	for d in a b c; do for i in $(seq 40); do seq "$i" 7 3000 >"tree/$d/$i"; done; done
}

program "$(readlink -f "$(command -v rg)")" 10000 rg --sort path -n '(1|2)1[37]9$' tree
same "same with four threads, counting" -- rg -j4 --no-heading --count-matches --sort path 99 tree
same "same when nothing is found" -- rg never-there tree
finish
