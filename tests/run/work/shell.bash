# Functions, pipes, subshells, traps, arrays, arithmetic, here-documents, jobs.
set -o pipefail
trap 'echo "bye $?"' EXIT
trap 'echo usr1' USR1
fib() { local n=$1; if ((n < 2)); then echo "$n"; else echo $(($(fib $((n - 1))) + $(fib $((n - 2))))); fi; }
declare -A seen
words() { local i; for ((i = 0; i < 400; i++)); do echo "w$((i * 7919 % 103)) $i"; done; }
echo "fib $(fib 8)"
while read -r word n; do seen[$word]=$((${seen[$word]:-0} + n)); done < <(words)
for k in "${!seen[@]}"; do echo "$k=${seen[$k]}"; done | sort | cksum
text=$(words | sort -r | head -n 20 | tr a-z A-Z | sed 's/W/x/g')
[[ $text =~ x([0-9]+) ]] && echo "match ${BASH_REMATCH[1]} ${text:3:7} ${text//x/y}" | cksum
(cd / && pwd; exit 7); echo "sub $?"
cat <<END | while read -r a b; do printf '%s|%q\n' "$b" "$a"; done
one two
three  fo'ur
END
sleep 0.05 & wait $!; echo "job $?"
kill -USR1 $$
false | true; echo "pipe $?"
case $text in *x9*) echo case;; esac
f() { return $(($1 % 256)); }
for i in {1..300}; do f "$i"; s=$((s + $?)); done; echo "s $s"
printf -v p '%08.3f' 3.14159; echo "$p" ; eval "echo \${p#0000}"
mapfile -t lines < <(words); echo "${#lines[@]} ${lines[-1]}"
nothere 2>/dev/null || echo "missing $?"
echo "to standard error" >&2
exit 9
