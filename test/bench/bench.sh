#!/bin/bash
# Measures stream beside its peers, in one run on one machine, and prints ratios:
# absolute times say more about the machine than about the program.
#
#	test/bench/bench.sh				all works
#	test/bench/bench.sh add million range
#	test/bench/bench.sh start
#	test/bench/bench.sh groups async loop held depth wake pending		of consumer groups: groups.sh
#	test/bench/bench.sh depth10m							the same with ten million
#
# Peers: a plain heap table without index; a table queue as people build it for
# SKIP LOCKED (jsonb, primary key); Redis of the distribution.  Every peer does a
# work once before the next round begins; the median of $ROUNDS rounds counts.
# Payloads are 200 bytes.  All write to the same disk and wait for it (fsync and
# synchronous_commit on; Redis as the work says).
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

ROUNDS=${ROUNDS:-3}
SECONDS_EACH=${SECONDS_EACH:-5}
CLIENTS=${CLIENTS:-8}
MILLION=${MILLION:-1000000}
START=${START:-5}				# millions of entries that are there at a start
PAYLOAD=$(printf 'x%.0s' {1..200})
RESULTS=$BUILD/bench-results

WORKS=${*:-add million range size start groups async loop held depth wake pending}

MEMORY=1500MB
[[ " $WORKS " != *" depth10m "* ]] || MEMORY=5000MB

build_and_install
wipe_dir bench
RUN=$(run_dir bench)
REDIS_SOCK=$RUN/redis.sock
REDIS_PID=

finish()
{
	cluster_stop "$RUN" immediate
	redis_stop || true
	wipe_dir bench
}
trap finish EXIT

cluster_start "$RUN" "fsync = on" "synchronous_commit = on" "shared_buffers = '512MB'" "stream.memory = '$MEMORY'" \
	"max_wal_size = '8GB'" "checkpoint_timeout = '30min'" "log_min_messages = warning" "jit = off"

sql() { "$BINDIR/psql" -X -q -A -t -h "$RUN" -d postgres -v ON_ERROR_STOP=1 "$@"; }
redis() { redis-cli -s "$REDIS_SOCK" "$@"; }

# Asked to go: what we have started may be the program that started it.
redis_stop()
{
	if [ -n "$REDIS_PID" ]; then
		redis shutdown nosave >/dev/null 2>&1 || true
		wait "$REDIS_PID" 2>/dev/null || true
	fi
	REDIS_PID=
}

# redis_run SETTING...: Redis over what is in its folder.
redis_run()
{
	as_server redis-server --port 0 --unixsocket "$REDIS_SOCK" --unixsocketperm 777 --dir "$RUN/redis" \
		--save '' --logfile "$RUN/redis/log" "$@" >/dev/null 2>&1 &
	REDIS_PID=$!
	for ((i = 0; i < 6000; i++)); do
		[ "$(redis ping 2>/dev/null)" = PONG ] && return
		read -rt 0.02 <> <(:) || true
	done
	die "redis-server does not start"
}

# redis_start SETTING...: an empty Redis.
redis_start()
{
	redis_stop
	rm -rf "$RUN/redis"
	as_server mkdir "$RUN/redis"
	redis_run "$@"
}

sql <<'END'
CREATE EXTENSION stream;
CREATE TABLE heap(id bigint GENERATED ALWAYS AS IDENTITY, payload text);
CREATE TABLE queue(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb NOT NULL,
	enqueued_at timestamptz NOT NULL DEFAULT now(), visible_at timestamptz NOT NULL DEFAULT now(), attempts int NOT NULL DEFAULT 0);
END

# rate COMMAND...: $MILLION (or $ENTRIES) divided by the seconds the command takes.
rate()
{
	local from to
	from=$(date +%s%N)
	"$@" >/dev/null
	to=$(date +%s%N)
	echo $((${ENTRIES:-$MILLION} * 1000000000 / (to - from)))
}

tps()
{
	printf '%s\n' "$1" >"$RESULTS.script"
	"$BINDIR/pgbench" -n -h "$RUN" -c "$CLIENTS" -j 2 -T "$SECONDS_EACH" -M prepared -D payload="$PAYLOAD" \
		-f "$RESULTS.script" postgres 2>"$RESULTS.err" | sed -n 's/^tps = \([0-9]*\).*/\1/p' ||
		{ cat "$RESULTS.err" >&2; die "pgbench failed"; }
}

redis_rate()
{
	redis-benchmark -s "$REDIS_SOCK" --csv "$@" 2>/dev/null | awk -F'","' 'NR == 2 { printf "%d\n", $2 }'
}

# --- works: each prints entries a second --------------------------------

add_heap() { tps "INSERT INTO heap(payload) VALUES (:payload);"; }
add_queue() { tps "INSERT INTO queue(payload) VALUES (jsonb_build_object('data', (:payload)::text));"; }
add_stream() { tps "SELECT stream.xadd('bench', '*', 'data', :payload);"; }
add_redis()
{
	# About as long as the others take.
	redis_rate -c "$CLIENTS" -n "${REDIS_N:=3000}" xadd bench '*' data "$PAYLOAD" >"$RESULTS.redis"
	REDIS_N=$(($(cat "$RESULTS.redis") * SECONDS_EACH + 1))
	cat "$RESULTS.redis"
}
add_clean() { sql -c "TRUNCATE heap, queue" -c "SELECT stream.xdrop('bench')" -c CHECKPOINT >/dev/null; redis del bench >/dev/null; }

million_heap() { rate sql -c "INSERT INTO heap(payload) SELECT repeat('x', 192) || lpad(n::text, 8, '0') FROM generate_series(1, $MILLION) n"; }
million_queue() { rate sql -c "INSERT INTO queue(payload) SELECT jsonb_build_object('data', repeat('x', 192) || lpad(n::text, 8, '0')) FROM generate_series(1, $MILLION) n"; }
million_stream() { rate sql -c "SELECT count(stream.xadd('million', '*', 'data', repeat('x', 192) || lpad(n::text, 8, '0'))) FROM generate_series(1, $MILLION) n"; }
million_redis() { redis_rate -c "$CLIENTS" -P 100 -n "$MILLION" xadd million '*' data "$PAYLOAD"; }
# The last round's entries stay for reading.
million_clean() { sql -c "TRUNCATE heap, queue" -c "SELECT stream.xdrop('million')" -c CHECKPOINT >/dev/null; redis del million >/dev/null; }

# Reads every id and every payload; octet_length, since length would mostly count characters.
range_heap() { rate sql -c "SELECT max(id), max(octet_length(payload)) FROM heap"; }
range_queue() { rate sql -c "SELECT max(id), max(octet_length(payload->>'data')) FROM queue"; }
range_stream() { rate sql -c "SET search_path = public, stream; SELECT max(id), max(octet_length(fields->>'data')) FROM xrange('million')"; }
# Redis has no work but to send: pages of a thousand from the front, one client.
range_redis() { redis_rate -c 1 -n $((MILLION / 1000)) xrange million - + count 1000 | awk '{ print $1 * 1000 }'; }
range_clean() { :; }

# Bytes an entry takes, of those that million has written: in stream.memory, in
# the table and its index, in Redis.
size_heap() { sql -c "SELECT pg_total_relation_size('heap') / $MILLION"; }
size_queue() { sql -c "SELECT pg_total_relation_size('queue') / $MILLION"; }
size_stream() { sql -c "SELECT used / $MILLION FROM stream.memory"; }
size_redis() { echo $(($(redis memory usage million samples 0) / MILLION)); }

# A start with $START million entries: from the command until the first answer.
# The extension is made anew, so that the journal holds nothing else.  Redis does
# not compress: its entries are all the same, and would be next to nothing.
start_fill()
{
	sql -c "DROP EXTENSION stream" -c "CREATE EXTENSION stream" -c "TRUNCATE heap, queue" -c CHECKPOINT
	redis_start --appendonly no --rdbcompression no
	for ((i = 0; i < START; i++)); do
		sql -c "SELECT count(stream.xadd('start', '*', 'data', repeat('x', 192) || lpad(n::text, 8, '0'))) FROM generate_series(1, 1000000) n" >/dev/null
		million_heap >/dev/null
	done
	sql -c "VACUUM heap"
	redis-benchmark -s "$REDIS_SOCK" -q -c "$CLIENTS" -P 100 -n $((START * 1000000)) xadd start '*' data "$PAYLOAD" >/dev/null 2>&1
	redis save >/dev/null
}
first_answer() { cluster_start "$RUN" && sql -c "$1"; }
start_heap() { cluster_stop "$RUN"; ENTRIES=$((START * 1000000)) rate first_answer "SELECT count(*) FROM heap"; }
start_stream() { cluster_stop "$RUN"; ENTRIES=$((START * 1000000)) rate first_answer "SELECT stream.xlen('start')"; }
redis_first_answer() { redis_run --appendonly no && [ "$(redis xlen start)" -eq $((START * 1000000)) ]; }
# Not in a pipe: who starts Redis must know its process.
start_redis() { redis_stop; ENTRIES=$((START * 1000000)) rate redis_first_answer; }
start_clean() { :; }

source "$(dirname "$0")/groups.sh"

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

declare -A rounds=([size]=1) peers=([start]="heap stream redis") unit=([size]="bytes/entry")
group_tables

run_work()
{
	local work=$1 round peer
	rm -f "$RESULTS.$work".*
	for ((round = 1; round <= ${rounds[$work]:-$ROUNDS}; round++)); do
		[ "$round" -gt 1 ] && [ "$work" != range ] && "${work}_clean"
		for peer in ${peers[$work]:-heap queue stream redis}; do
			"${work}_$peer" >>"$RESULTS.$work.$peer"
			printf '%-8s round %d  %-7s %9d %s\n' "$work" "$round" "$peer" "$(tail -n 1 "$RESULTS.$work.$peer")" "${unit[$work]:-entries/s}"
		done
	done
}

of() { median <"$RESULTS.$1.$2"; }

# verdict WORK PEER TARGET: the ratio to that peer and whether it is reached.
verdict()
{
	awk -v s="$(of "$1" stream)" -v p="$(of "$1" "$2")" -v t="$3" -v peer="$2" \
		'BEGIN { r = s / p; printf "%.2f x %s (target %.1f: %s)", r, peer, t, (r >= t ? "met" : "NOT met") }'
}

declare -A title=(
	[add]="xadd, one a transaction, $CLIENTS clients; Redis appendfsync always"
	[million]="xadd, $MILLION in one statement; Redis pipelined 100 deep, appendfsync everysec"
	[range]="xrange over $MILLION; Redis XRANGE in pages of 1000"
	[size]="memory of an entry of 200 bytes; tables: on disk, with indexes"
	[start]="first answer after a start with $START million entries; heap: all rows counted; Redis: from its RDB")

group_titles

for work in $WORKS; do
	case $work in
		add) redis_start --appendonly yes --appendfsync always ;;
		million) redis_start --appendonly yes --appendfsync everysec ;;
		range | size)
			[[ " $WORKS " == *" million "* ]] || die "$work looks at what million has written"
			;;
		start) start_fill ;;
		groups | async | loop | held | depth | depth10m | wake | pending) "${work}_fill" ;;
		*) die "no such work: $work" ;;
	esac
	run_work "$work"
	if [ "$work" = add ]; then add_clean; fi
done

echo
echo "commit $(git -C "$ROOT" rev-parse --short HEAD 2>/dev/null || echo unknown), $("$BINDIR/postgres" --version), $(redis-server --version | awk '{ print $1, $3 }'), $(nproc) cores, median of $ROUNDS"
for work in $WORKS; do
	echo
	echo "${title[$work]}"
	base=stream
	[ -f "$RESULTS.$work.stream" ] || base=${peers[$work]%% *}
	for peer in stream heap queue redis ${extra_peers[$work]:-}; do
		[ -f "$RESULTS.$work.$peer" ] || continue
		printf '  %-8s %9d %-11s %6.2f\n' $peer "$(of "$work" $peer)" "${unit[$work]:-entries/s}" \
			"$(awk -v a="$(of "$work" "$base")" -v b="$(of "$work" $peer)" 'BEGIN { print a / b }')"
	done
	case $work in
		add) echo "  stream: $(verdict add heap 1.0), $(verdict add redis 3.0)" ;;
		million) echo "  stream: $(verdict million redis 1.0), $(verdict million queue 4.0)" ;;
		range) echo "  stream: $(verdict range redis 3.0), $(verdict range heap 1.0)" ;;
		start) echo "  stream: $(awk -v r="$(of start stream)" -v n="$START" 'BEGIN { printf "%.2f s", n * 1000000 / r }')" ;;
		groups | async | loop | held | depth | depth10m | wake | pending) "${work}_verdict" ;;
	esac
done
