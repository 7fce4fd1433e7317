# What work/shell.bash does without forking: callgrind and the trace must agree on every call.
declare -A seen
fib() { local n=$1; if ((n < 2)); then r=$n; else fib $((n - 1)); local a=$r; fib $((n - 2)); r=$((a + r)); fi; }
fib 10; echo "fib $r"
for ((i = 0; i < 300; i++)); do k=w$((i * 7919 % 103)); seen[$k]=$((${seen[$k]:-0} + i)); done
for k in "${!seen[@]}"; do s+="$k=${seen[$k]} "; done; echo "$s"
t=${s//w/x}; [[ $t =~ x([0-9]+)=([0-9]+) ]] && echo "${BASH_REMATCH[*]} ${t:3:9} ${t%%=*} ${t^^}"
case $t in *x9*) echo case;; esac
printf -v p '%08.3f|%q' 3.25 "a b"; echo "$p"; eval "echo \${p#0}"
while read -r a b; do echo "$b-$a"; done <<END
one two
three four
END
f() { return $(($1 % 256)); }
for i in {1..200}; do f "$i"; n=$((n + $?)); done; echo "$n"
trap 'echo bye' EXIT; mapfile -t l < "$0"; [[ -d / ]] && printf '%s\n' "${#l[@]}" a{1,2}b
exit 3
