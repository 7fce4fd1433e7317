# shellcheck shell=bash
# A server that takes connections and says nothing, for tests that source this behind lib.sh: `start_silent` sets SILENT_PORT and
# returns when it listens, `until_asked` waits until somebody has connected.
start_silent() {
	cat >"$T/silent.py" <<'P'
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
held = []
while True:
    held.append(s.accept()[0])
    print("asked", flush=True)
P
	exec {SILENT}< <(exec python3 "$T/silent.py")
	ON_EXIT+=("kill $!")
	read -rt "$LIMIT" -u "$SILENT" SILENT_PORT
}
until_asked() { local asked; read -rt "$LIMIT" -u "$SILENT" asked; }
