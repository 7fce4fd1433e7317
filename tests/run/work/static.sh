# For a shell that is all its tools (busybox): functions, subshells, pipes, here-documents.
sum() {
	local total=0 i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		total=$((total + i * i % 7))
	done
	echo $total
}
sum 500
echo "$(sum 10) $( (sum 20) )"
seq 1 200 | sed 's/1/one/g' | sort -r | awk '{ n += length($0) } END { print n, NR }'
trap 'echo trapped' USR1
kill -USR1 $$
for word in to be or not; do
	case $word in
	*o*) echo "$word" ;;
	esac
done | md5sum
cat <<HERE | wc -c
$(seq 1 100)
HERE
(exit 3) || echo "status $?"
exit 9
