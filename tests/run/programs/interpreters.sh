#!/bin/bash
# Interpreters and translators that change stacks, walk them, collect by faults or make code: PyPy, Ruby, PHP, SBCL, SWI-Prolog. Each
# computes the same, launched in every way of following calls and attached; one that is not installed is left out.
. "$(dirname "$0")/../attach-lib.sh"

cat >"$T/prog.py" <<'end'
import sys, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def deep(n): return deep(n + 1)
s = 0
for i in range(2000):
    try:
        if i % 3 == 0: raise ValueError(i)
        s += i
    except ValueError as e: s += e.args[0] % 7
sums = []
threads = [threading.Thread(target=lambda: sums.append(fib(14))) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
try: deep(0)
except RecursionError: s += 1
print(s, sum(sums), flush=True)
if sys.argv[1:]:
    for line in sys.stdin: print(fib(15), flush=True)
end
cat >"$T/prog.rb" <<'end'
$stdout.sync = true
def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
def deep(n) deep(n + 1) end
fiber = Fiber.new { 100.times { |i| Fiber.yield i }; :done }
s = 0
101.times { x = fiber.resume; s += x if x.is_a?(Integer) }
1000.times { |i| begin; raise "odd" if i % 2 == 0; s += 1; rescue; s += 2; end }
s += 4.times.map { Thread.new { fib(13) } }.sum(&:value)
begin; deep(0); rescue SystemStackError; s += 1; end
GC.start
puts s
if ARGV[0] then puts fib(14) while STDIN.gets end
end
cat >"$T/prog.php" <<'end'
<?php function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function all() { for ($i = 0; $i < 500; $i++) yield $i; }
$s = 0;
foreach (all() as $v) $s += $v;
for ($i = 0; $i < 1000; $i++) try { if ($i % 2) throw new Exception("odd"); } catch (Exception $e) { $s++; }
$f = new Fiber(function () { for ($i = 0; $i < 50; $i++) Fiber::suspend($i); });
$f->start();
while (!$f->isTerminated()) $s += (int)$f->resume();
preg_match_all('/a+b/', str_repeat('aab', 1000), $m);
echo $s + count($m[0]), " ", fib(15), "\n";
if (isset($argv[1])) while (fgets(STDIN) !== false) echo fib(16), "\n";
end
cat >"$T/prog.lisp" <<'end'
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(let ((s 0))
  (dotimes (i 200) (incf s (length (make-array 20000))) (handler-case (error "odd") (error () (incf s))))
  (gc :full t)
  (format t "~a ~a~%" s (fib 20)) (finish-output))
(when (cdr sb-ext:*posix-argv*)
  (loop while (read-line *standard-input* nil) do (format t "~a~%" (fib 20)) (finish-output)))
end
cat >"$T/prog.pl" <<'end'
fib(0, 0). fib(1, 1).
fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.
deep(N) :- M is N + 1, deep(M), true.
:- set_prolog_flag(stack_limit, 4000000).
:- initialization(main).
main :- fib(9, F), catch(throw(odd), odd, true), numlist(1, 4, L), concurrent_maplist([_, R] >> fib(6, R), L, Rs), sum_list(Rs, S),
	catch(deep(0), error(resource_error(_), _), true), format("~w ~w~n", [F, S]), flush_output,
	current_prolog_flag(argv, A), (last(A, on) -> again ; true), halt.
again :- read_term(user_input, T, []), (T == end_of_file -> true ; fib(9, F), format("~w~n", [F]), flush_output, again).
end

# interpreter NAME LINE COMMAND...: launched; attached, while each LINE of input asks for more.
interpreter() {
	local name=$1 line=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$name" "$1 is not installed"
		return
	fi
	set -f
	for mode in '-b 8M' '--mode block -L *' '--max-graph-depth 4' '-O funcgraph-retval' '-p function'; do
		# shellcheck disable=SC2086 # an option is two words
		same "$name, $mode" $mode -- "$@"
	done
	rm -f "$T/in"
	mkfifo "$T/in"
	"$@" on <"$T/in" >"$T/said" 2>"$T/err" &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	exec 7>"$T/in"
	until_is [ -s "$T/said" ]
	yes "$line" | head -n 20 >&7
	attach --mode block -L '*' --duration 300ms
	set +f
	yes "$line" | head -n 20 >&7
	exec 7>&-
	wait "$PID"
	[ $? -eq 0 ] && [ "$(cat "$T/attach.status")" -eq 0 ] && [ "$(wc -l <"$T/said")" = 41 ] && [ "$(sed 1d "$T/said" | sort -u | wc -l)" = 1 ]
	result "$name, attached, answers as before, and ends" $? "$T/summary"
}
interpreter PyPy x pypy3 "$T/prog.py"
interpreter Ruby x ruby "$T/prog.rb"
interpreter PHP x php "$T/prog.php"
interpreter SBCL x sbcl --script "$T/prog.lisp"
interpreter SWI-Prolog x. swipl "$T/prog.pl"
finish
