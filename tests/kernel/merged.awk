# SPDX-License-Identifier: MIT
# Reads brace replay's lines of a trace of merged_program and the kernel, CPU and duration columns first. Prints how many calls of
# one_read() hold exactly one __x64_sys_read() with a vfs_read() in it, and how many others there are: a call of the program without
# its system call, or a system call outside of a call. The depth of a line is that of its text.
function text_of(line) { sub(/^[^|]*\|/, "", line); return line }
/\|/ {
	t = text_of($0)
	match(t, /^ */)
	depth = RLENGTH
	name = substr(t, depth + 1)
	if (name ~ /^one_read\(\) \{/) { if (inside) wrong++; inside = depth; calls = 0; reads = 0; next }
	if (name ~ /^one_read\(\);/) { wrong++; next }
	if (inside && depth == inside && name ~ /^}/) {
		if (calls == 1 && reads == 1) good++; else wrong++
		inside = 0
		next
	}
	if (name ~ /^__x64_sys_read\(\)/) {
		if (inside && depth == inside + 2) calls++; else if (good) outside++
		at = depth
	}
	if (name ~ /^vfs_read\(\)/ && inside && depth == at + 2) reads++
}
END { printf "%d good, %d wrong, %d outside\n", good, wrong, outside }
