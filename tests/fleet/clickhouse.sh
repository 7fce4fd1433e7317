# shellcheck shell=bash
# Real ClickHouse servers on loopback, for tests that source this behind lib.sh: `configure NAME`, `start_server NAME`,
# `kill_server NAME`, `sql NAME STATEMENT`. ${PORT[NAME]} and ${TLS[NAME]} are its ports. $T/server.crt is the
# certificate of all.
unset BRACE_FLEET BRACE_CLICKHOUSE_USER BRACE_CLICKHOUSE_KEY http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
export HOME=$T XDG_CONFIG_HOME=$T XDG_STATE_HOME=$T/state
PATH=$PATH:/usr/sbin
need clickhouse-server curl openssl python3
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1,DNS:localhost' \
	-keyout "$T/server.key" -out "$T/server.crt" >"$T/log" 2>&1

declare -A PORT TLS SERVER
# free_ports N: ports that nobody has now.
free_ports() {
	python3 -c 'import socket, sys
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(one.getsockname()[1] for one in s))' "$1"
}
configure() { # NAME: its ports and accounts; its data stay
	local d=$T/$1 ports
	mkdir -p "$d/data" "$d/tmp"
	read -ra ports <<<"$(free_ports 4)"
	PORT[$1]=${ports[0]} TLS[$1]=${ports[1]}
	cat >"$d/config.xml" <<X
<yandex><logger><level>warning</level><log>$d/log</log><errorlog>$d/errors</errorlog></logger>
<http_port>${ports[0]}</http_port><https_port>${ports[1]}</https_port><tcp_port>${ports[2]}</tcp_port>
<interserver_http_port>${ports[3]}</interserver_http_port><listen_host>127.0.0.1</listen_host>
<openSSL><server><certificateFile>$T/server.crt</certificateFile><privateKeyFile>$T/server.key</privateKeyFile>
<verificationMode>none</verificationMode><cacheSessions>true</cacheSessions><disableProtocols>sslv2,sslv3</disableProtocols></server></openSSL>
<path>$d/data/</path><tmp_path>$d/tmp/</tmp_path><users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>5368709</mark_cache_size></yandex>
X
	cat >"$d/users.xml" <<X
<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage><max_threads>2</max_threads></default>
<reader><readonly>1</readonly></reader></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<writer><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></writer>
<reader><password>r</password><networks><ip>127.0.0.1</ip></networks><profile>reader</profile><quota>default</quota></reader></users>
<quotas><default></default></quotas></yandex>
X
}
answers() { curl -s --noproxy '*' "http://127.0.0.1:${PORT[$1]}/ping" 2>/dev/null | grep -q Ok; }
start_server() { # NAME: waits until it answers
	(cd "$T/$1" && exec clickhouse-server --config-file="$T/$1/config.xml" >>"$T/$1/out" 2>&1 </dev/null) &
	SERVER[$1]=$!
	ON_EXIT+=("kill_server $1")
	until_is answers "$1"
}
kill_server() { # NAME
	kill_ours -KILL "${SERVER[$1]}"
	wait "${SERVER[$1]}" 2>/dev/null
}
sql() { # NAME STATEMENT
	curl -s --noproxy '*' "http://127.0.0.1:${PORT[$1]}/" --data-binary "$2"
}
