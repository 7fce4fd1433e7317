#!/bin/bash
# A Go program: entries only, its returns are not followed, and brace says so.
. "$(dirname "$0")/lib.sh"
need caddy
prepare() { printf ':8080\nrespond "hello" 200\n' >Caddyfile; }
export HOME=$T XDG_CONFIG_HOME=$T XDG_DATA_HOME=$T

hooked_share 99.4 "$(readlink -f "$(command -v caddy)")"
same "same with the executable hooked" -- caddy adapt --config Caddyfile --pretty
nothing_lost "nothing lost" 1000
same "same list of modules" -- caddy list-modules
"$BRACE" list -f "$(readlink -f "$(command -v caddy)")" --why 'main.main' >"$T/why" 2>&1
grep -qi 'go' "$T/why"
result "a Go function is listed with the word for it" $? "$T/why"
finish
