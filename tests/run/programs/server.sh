# shellcheck shell=bash
# A program that serves: started untraced and traced, asked the same by a client() that
# also ends it, answers and exit status compared. The script gives client and ready.

# serve PREFIX COMMAND...: runs the server until client ends it; PREFIX.out is what the
# client saw.
serve() {
	local prefix=$1 server tries=0
	shift
	rm -rf "$RUN_DIR"
	mkdir -p "$RUN_DIR"
	(cd "$RUN_DIR" && prepare) >"$T/prepare.log" 2>&1
	(cd "$RUN_DIR" && exec timeout -k 5 "$LIMIT" "$@") >"$prefix.err" 2>&1 </dev/null &
	server=$!
	until ready 2>/dev/null; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ] || ! kill -0 $server 2>/dev/null; then
			echo "the server did not come up" >>"$prefix.err"
			break
		fi
		sleep 0.05
	done
	client >"$prefix.out" 2>&1
	wait $server
	echo $? >"$prefix.status"
}

# served CALLS COMMAND...: the comparison, with the executable and with all libraries.
served() {
	local calls=$1 opened
	shift
	serve "$T/plain" "$@"
	for opened in '' '*'; do
		rm -f "$T/trace"
		serve "$T/traced" "$BRACE" record --mode block -o "$T/trace" ${opened:+-L "$opened"} -- "$@"
		split_summary
		same_results "same answers with ${opened:+all libraries and }the executable hooked"
		nothing_lost "nothing lost${opened:+ with all libraries}" "$calls"
	done
}
