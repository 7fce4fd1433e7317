#!/bin/bash
# zsh and fish complete commands, options and functions. (bash's completion: cli.sh.)
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the source tree}" "${FIXTURE_G:?is a program}"
PATH=$(dirname "$BRACE"):$PATH
"$BRACE" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort >"$T/commands"

fish_offers() { fish -N -c "source '$SOURCE/completion/brace.fish'; complete -C \"\$argv\"" "$1" 2>"$T/err" | cut -f 1; }
mkdir "$T/zsh" && cp "$SOURCE/tests/ui/complete.zsh" "$T/zsh/.zshrc"
zsh_offers() { # in columns, or a line each with a description; the line that was typed stands before them
	# shellcheck disable=SC2016
	LINE=$1 COMPLETIONS=$SOURCE/completion ZDOTDIR=$T/zsh timeout "$LIMIT" zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -i
		while zpty -r shell line; do print -rn -- "$line"; done' 2>"$T/err" |
		tr -d '\033\a\r' | sed -E "s/^ *$(printf %s "$1" | sed 's:[/.*]:.:g')//; s/ +-- .*//" | tr -s ' ' '\n' | grep -v '^$'
}

for shell in fish zsh; do
	if ! command -v "$shell" >/dev/null; then
		skip "$shell" "it is not installed"
		continue
	fi
	"${shell}_offers" 'brace ' | sort | diff "$T/commands" - >"$T/differences"
	result "$shell offers every command" $? "$T/differences"
	"${shell}_offers" 'brace rec' | sort | diff <(printf 'record\nrecover\n') - >"$T/differences"
	result "$shell offers the commands that begin so" $? "$T/differences"
	"${shell}_offers" 'brace record --thr' | diff <(echo --threshold) - >"$T/differences"
	result "$shell offers the command's options" $? "$T/differences"
	"${shell}_offers" 'brace sessions --' | sort | diff <(printf -- '--help\n--long\n') - >"$T/differences"
	result "$shell offers no option that the command lacks" $? "$T/differences"
	"${shell}_offers" 'brace stack --names ' | sort | diff <(printf 'full\nmangled\nshort\n') - >"$T/differences"
	result "$shell offers the styles of names" $? "$T/differences"
	"${shell}_offers" "brace list -f $FIXTURE_G -l alp" | diff <(echo alpha) - >"$T/differences"
	result "$shell offers a program's functions" $? "$T/differences"
	"${shell}_offers" 'brace record --mode ' | sort | diff <(printf 'block\noverwrite\nstream\n') - >"$T/differences"
	result "$shell offers an option's values" $? "$T/differences"
	"${shell}_offers" 'brace record --tracer ' | sort | diff <(printf '%s\n' function function_graph hwlat osnoise timerlat) - >"$T/differences"
	result "$shell offers the tracers" $? "$T/differences"
	"${shell}_offers" 'brace report --sort m' | sort | diff <(printf 'max\nmean\nmin\nmodule\n') - >"$T/differences"
	result "$shell offers the columns to sort by" $? "$T/differences"
done
finish
