# The graph that `brace replay -O funcgraph-proc` prints, as the programs that use tests/targets/tree.h write
# theirs: "STACK DEPTH +NAME" and "-NAME", of functions that begin with t_. Every line's indent must be its depth.
function push(name) { open[who, depth[who]++] = name; if (name ~ /^t_/) print who, counted[who]++ + 0, "+" name }
function pop(    name) {
	if (depth[who] < 1) { print who, "ends what never began"; return }
	name = open[who, --depth[who]]
	if (name ~ /^t_/) print who, --counted[who], "-" name
}
/^#|^ -----|=>|<==========|^$/ { next }
{
	split($0, part, "|")
	who = part[1]
	sub(/^ *[0-9]+\) */, "", who)
	sub(/ *$/, "", who)
	comm = who
	sub(/-[0-9]+$/, "", comm)
	if (who ~ /\/co[0-9]+-/) { sub(/.*\//, "", who); sub(/-.*/, "", who) } else sub(/.*-/, "", who)
	if (who in comm_of && comm_of[who] != comm && comm !~ /\/co/) depth[who] = counted[who] = 0 # it has executed another program
	comm_of[who] = comm
	text = $0
	for (i = 0; i < 2; i++) text = substr(text, index(text, "|") + 1)
	match(text, /^ */)
	level = (RLENGTH - 2) / 2
	text = substr(text, RLENGTH + 1)
	if (text ~ /^}/) level++
	if (level != depth[who] + 0) print who, "indent", level, "at depth", depth[who] + 0, text
	if (text ~ /^}/) pop()
	else {
		name = text
		sub(/\(\).*/, "", name)
		push(name)
		if (text ~ /;( \/\*.*)?$/) pop() # an overload ends in more than (): `id() const;`
	}
}
