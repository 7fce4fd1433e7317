# What work/text.awk does without a child: callgrind and the trace must agree on every call.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function rev(s,   i, r) { for (i = length(s); i; i--) r = r substr(s, i, 1); return r }
BEGIN {
	for (i = 0; i < 3000; i++) { w = "k" (i * 7919 % 307); n[w] += i; if (w ~ /^k1[0-9]*7$/) hits++ }
	k = asorti(n, names)
	for (i = 1; i <= k; i += 29) printf "%s %d %s\n", names[i], n[names[i]], rev(names[i])
	s = "the quick brown fox"; gsub(/[aeiou]/, "<&>", s); print s, fib(15), hits
	split("a:b:c:d", parts, ":"); print length(parts), parts[3], toupper(substr(s, 5, 9)), index(s, "fox")
	print total, sprintf("%08.3f|%x|%-6s|", 2 / 3, 255, "ab"), strtonum("0x1f"), match(s, /b.*w/), RSTART, RLENGTH
	print length(sprintf("%*d", 500, 1)); print "to standard error" > "/dev/stderr"
	exit 6
}
