# Measures of consumer groups, for bench.sh: each is told of there by a name, and
# here by functions <work>_fill, <work>_<peer>, <work>_clean, <work>_verdict.

HELD_SECONDS=${HELD_SECONDS:-60}
PGQ_EVENTS=${PGQ_EVENTS:-200000}
WAKES=${WAKES:-1000}
DEPTH_TXS=125					# transactions of each client in a round of depth
PEERS=$BUILD/bench-peers

group_tables()
{
	rounds+=([held]=1 [depth]=15 [depth10m]=15 [wake]=1 [pending]=1)
	peers+=([groups]="queue pgq stream redis redis1s" [async]="queue stream" [loop]="queue stream" [held]="stream held queue queueheld" [depth]="10k 1m" [depth10m]="10k 1m 10m"
		[wake]="notify select stream redis" [pending]="stream redis")
	unit+=([wake]="us" [pending]="bytes/entry")
	declare -gA extra_peers=([groups]="pgq redis1s" [held]="held queueheld" [depth]="10k 1m" [depth10m]="10k 1m 10m" [wake]="notify select")
	cc -std=gnu11 -O2 -I"$("$PG_CONFIG" --includedir)" -I/usr/include/postgresql "$ROOT/test/bench/peers.c" -o "$PEERS" \
		-L"$("$PG_CONFIG" --libdir)" -lpq >"$LOG/bench-peers.log" 2>&1 || { cat "$LOG/bench-peers.log" >&2; die "peers.c does not compile"; }
}

group_titles()
{
	title+=([groups]="10 entries read and acknowledged, $CLIENTS consumers, $MILLION waiting; queue: SKIP LOCKED, deleted; pgq: one
consumer, batches of 500; redis: appendfsync always, redis1s: everysec"
		[async]="the same with synchronous_commit = off"
		[loop]="the same by workers in the server (PL/pgSQL, a commit for each ten), synchronous_commit = off: what is left without
round trips and disk"
		[held]="the same while a snapshot is held, after $HELD_SECONDS s of adding, reading and acknowledging under it"
		[depth]="the same with ten thousand and with $MILLION waiting, in turns"
		[depth10m]="the same with ten million"
		[wake]="median of $WAKES, from sending the add until the waiting reader has the entry; commits do not wait for the disk;
notify: a NOTIFY arrives, select: and the row is read"
		[pending]="memory of a pending entry: $MILLION, delivered to ten consumers by the hundred")
}

read_ack() { echo "SELECT stream.xack('$1', 'g', array_agg(id)) FROM stream.xreadgroup('$1', 'g', 'c' || :client_id::text, count => 10);"; }
take="DELETE FROM queue WHERE id = ANY(ARRAY(SELECT id FROM queue ORDER BY id LIMIT 10 FOR UPDATE SKIP LOCKED)) RETURNING id, payload;"

# ten N: ten times a rate of transactions
ten() { awk '{ print $1 * 10 }'; }

# fill_stream KEY N: until N wait in group g of the stream; what is done goes.
fill_stream()
{
	local lag todo n
	sql -c "SELECT stream.xgroup_create('$1', 'g', mkstream => true, if_not_exists => true)" >/dev/null
	sql -c "SELECT stream.xtrim('$1', minid => last_delivered_id) FROM stream.groups WHERE stream = '$1' AND grp = 'g'" >/dev/null
	lag=$(sql -c "SELECT lag FROM stream.groups WHERE stream = '$1' AND grp = 'g'")
	todo=$(($2 - lag))
	while [ $todo -gt 0 ]; do
		n=$((todo < 1000000 ? todo : 1000000))
		sql -c "SELECT count(*) FROM generate_series(1, $n, 10000) c, LATERAL (SELECT count(*) FROM stream.xadd_many('$1', ARRAY(
			SELECT stream.fields('data', repeat('x', 192) || lpad(n::text, 8, '0')) FROM generate_series(c, least(c + 9999, $n)) n))) x" >/dev/null
		todo=$((todo - n))
	done
}

fill_queue()
{
	sql -c "INSERT INTO queue(payload) SELECT jsonb_build_object('data', repeat('x', 192) || lpad(n::text, 8, '0'))
		FROM generate_series(1, $1 - (SELECT count(*) FROM queue)) n"
}

fill_redis()
{
	local lag
	redis config set appendfsync everysec >/dev/null
	redis xgroup create queue g 0 mkstream >/dev/null 2>&1 || true
	lag=$(redis xinfo groups queue | awk 'found { print; exit } $1 == "lag" { found = 1 }')
	[ "$lag" -ge "$1" ] || redis-benchmark -s "$REDIS_SOCK" -q -c 8 -P 100 -n $(($1 - lag)) xadd queue '*' data "$PAYLOAD" >/dev/null 2>&1
}

# --- groups ---------------------------------------------------------------

groups_fill()
{
	redis_start --appendonly yes --appendfsync everysec
	sql -c "TRUNCATE heap, queue" -c "CREATE EXTENSION IF NOT EXISTS pgq"
	[ "$(sql -c "SELECT count(*) FROM pgq.get_queue_info('bench')")" -gt 0 ] ||
		sql -c "SELECT pgq.create_queue('bench'), pgq.set_queue_config('bench', 'ticker_max_count', '500'), pgq.set_queue_config('bench', 'ticker_max_lag', '0')" \
			-c "SELECT pgq.register_consumer('bench', 'c')" -c "SELECT pgq.ticker('bench')" >/dev/null
	groups_clean
}

groups_clean()
{
	fill_stream queue $MILLION
	fill_queue $MILLION
	fill_redis $MILLION
	# A tick after every 500 events, as pgqd would make them.
	sql -c "DO \$\$ BEGIN FOR i IN 1..$PGQ_EVENTS / 500 LOOP
			PERFORM pgq.insert_event('bench', 'x', repeat('x', 192) || lpad(n::text, 8, '0')) FROM generate_series(1, 500) n;
			COMMIT;
			PERFORM pgq.ticker('bench');
			COMMIT;
		END LOOP; END \$\$"
	sql -c "VACUUM ANALYZE queue" -c CHECKPOINT
}

groups_stream() { tps "$(read_ack queue)" | ten; }
groups_queue() { tps "$take" | ten; }
groups_pgq()
{
	local from to
	from=$(date +%s%N)
	for ((i = 0; i < PGQ_EVENTS / 500; i++)); do
		echo "SELECT pgq.next_batch('bench', 'c') AS batch \\gset
BEGIN;
SELECT count(*), max(length(ev_data)) FROM pgq.get_batch_events(:batch);
SELECT pgq.finish_batch(:batch);
COMMIT;"
	done | sql >/dev/null
	to=$(date +%s%N)
	echo $((PGQ_EVENTS * 1000000000 / (to - from)))
}
groups_redis() { redis config set appendfsync always >/dev/null; "$PEERS" consume "$REDIS_SOCK" queue g "$CLIENTS" 10 1 "$SECONDS_EACH"; }
groups_redis1s() { redis config set appendfsync everysec >/dev/null; "$PEERS" consume "$REDIS_SOCK" queue g "$CLIENTS" 10 1 "$SECONDS_EACH"; }
groups_verdict() { echo "  stream: $(verdict groups queue 5.0)"; }

async_fill() { held_fill; }
async_clean() { held_fill; }
async_stream() { PGOPTIONS="-c synchronous_commit=off" groups_stream; }
async_queue() { PGOPTIONS="-c synchronous_commit=off" groups_queue; }
async_verdict() { echo "  stream: $(verdict async queue 5.0)"; }

# in_server STATEMENT: consumers that are procedures; the statement tells how many it had.
in_server()
{
	sql -c "CREATE TABLE IF NOT EXISTS taken(n bigint)" -c "TRUNCATE taken" -c "CREATE OR REPLACE PROCEDURE work(me text) LANGUAGE plpgsql AS \$\$
		DECLARE
			until timestamptz := clock_timestamp() + interval '$SECONDS_EACH s';
			n bigint;
			total bigint := 0;
		BEGIN
			WHILE clock_timestamp() < until LOOP
				$1 INTO n;
				COMMIT;
				total := total + n;
			END LOOP;
			INSERT INTO taken VALUES (total);
		END \$\$" 2>/dev/null
	echo "CALL work('c' || :client_id);" >"$RESULTS.script"
	PGOPTIONS="-c synchronous_commit=off" "$BINDIR/pgbench" -n -h "$RUN" -c "$CLIENTS" -j 2 -t 1 -f "$RESULTS.script" postgres >"$RESULTS.err" 2>&1 ||
		{ cat "$RESULTS.err" >&2; die "pgbench failed"; }
	sql -c "SELECT sum(n) / $SECONDS_EACH FROM taken" | cut -d. -f1
}
loop_fill() { held_fill; }
loop_clean() { held_fill; }
loop_stream() { in_server "SELECT stream.xack('queue', 'g', array_agg(id)) FROM stream.xreadgroup('queue', 'g', me, count => 10)"; }
loop_queue() { in_server "WITH taken AS (${take%;}) SELECT count(*) FROM taken"; }
loop_verdict() { echo "  stream: $(verdict loop queue 5.0)"; }

# --- held -----------------------------------------------------------------

held_fill() { fill_stream queue $MILLION; fill_queue $MILLION; sql -c "VACUUM ANALYZE queue" -c CHECKPOINT; }

hold_snapshot()
{
	exec {held_pipe}> >(sql >/dev/null 2>&1)
	echo "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class; SELECT 'held';" >&"$held_pipe"
	until [ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL")" = 1 ]; do
		read -rt 0.02 <> <(:) || true
	done
}
release_snapshot() { exec {held_pipe}>&-; }

# five FILL SCRIPT: five short runs, each with a million waiting.
five() { for i in 1 2 3 4 5; do $1 >/dev/null; SECONDS_EACH=3 tps "$2" | ten; done; }

# Without the snapshot before and after, since the machine may not be the same.
held_stream() { five "fill_stream queue $MILLION" "$(read_ack queue)"; }
held_held()
{
	fill_stream queue $MILLION
	hold_snapshot
	SECONDS_EACH=$HELD_SECONDS tps "SELECT count(*) FROM stream.xadd_many('queue', array_fill(stream.fields('data', (:payload)::text), ARRAY[10]));
		$(read_ack queue)" >/dev/null
	held_stream
	release_snapshot
	held_stream >>"$RESULTS.held.stream"
}
held_queue() { five "fill_queue $MILLION" "$take"; }
held_queueheld()
{
	fill_queue $MILLION
	hold_snapshot
	SECONDS_EACH=$HELD_SECONDS tps "INSERT INTO queue(payload) SELECT jsonb_build_object('data', (:payload)::text) FROM generate_series(1, 10);
		$take" >/dev/null
	held_queue
	release_snapshot
}
held_verdict()
{
	awk -v s="$(of held held)" -v p="$(of held stream)" -v q="$(of held queueheld)" -v r="$(of held queue)" 'BEGIN {
		printf "  stream: %.2f x without (target 0.95: %s); queue: %.2f\n", s / p, (s / p >= 0.95 ? "met" : "NOT met"), q / r }'
}

# --- depth ----------------------------------------------------------------

depth_fill() { fill_stream few $((CLIENTS * DEPTH_TXS * 10 + 10000)); fill_stream queue $MILLION; sql -c CHECKPOINT; }
depth_clean() { depth_fill; }

depth_of()
{
	read_ack "$1" >"$RESULTS.script"
	"$BINDIR/pgbench" -n -h "$RUN" -c "$CLIENTS" -j 2 -t $DEPTH_TXS -M prepared -f "$RESULTS.script" postgres 2>"$RESULTS.err" |
		sed -n 's/^tps = \([0-9]*\).*/\1/p' | ten
}
depth_10k() { depth_of few; }
depth_1m() { depth_of queue; }
depth_ratio()
{
	awk -v s="$(of "$1" "$2")" -v p="$(of "$1" 10k)" -v what="$2" 'BEGIN {
		printf "  %s: %.2f x 10k (target 0.95: %s)\n", what, s / p, (s / p >= 0.95 ? "met" : "NOT met") }'
}
depth_verdict() { depth_ratio depth 1m; }

depth10m_fill() { depth_fill; fill_stream deep 10000000; sql -c CHECKPOINT; }
depth10m_clean() { depth_fill; }
depth10m_10k() { depth_of few; }
depth10m_1m() { depth_of queue; }
depth10m_10m() { depth_of deep; }
depth10m_verdict() { depth_ratio depth10m 1m; depth_ratio depth10m 10m; }

# --- wake -----------------------------------------------------------------

wake_fill() { redis_start --appendonly yes --appendfsync everysec; sql -c "TRUNCATE heap, queue"; rm -f "$RESULTS.p99"; }
wake_of()
{
	local result
	result=$("$PEERS" wake "$1" "$2" "$WAKES")
	echo "$1 ${result#* }" >>"$RESULTS.p99"
	echo "${result% *}"
}
wake_pg() { wake_of "$1" "host=$RUN dbname=postgres options='-c synchronous_commit=off'"; }
wake_stream() { wake_pg stream; }
wake_notify() { wake_pg notify; }
wake_select() { wake_pg select; }
wake_redis() { wake_of redis "$REDIS_SOCK"; }
wake_verdict()
{
	awk -v s="$(of wake stream)" -v p="$(of wake notify)" 'BEGIN {
		printf "  stream: %.2f x notify (target below 1, and below 1000 us: %s)\n", s / p, (s < p && s < 1000 ? "met" : "NOT met") }'
	echo "  99 of 100 below, in us: $(tr '\n' ' ' <"$RESULTS.p99")"
}

# --- pending --------------------------------------------------------------

pending_fill() { redis_start --appendonly no; sql -c "SELECT stream.xdrop(stream) FROM stream.streams" >/dev/null; fill_stream pending $MILLION; fill_redis $MILLION; }
pending_stream()
{
	local before
	before=$(sql -c "SELECT used FROM stream.memory")
	sql -c "SELECT count(*) FROM generate_series(1, $MILLION / 100) b,
		LATERAL (SELECT count(*) FROM stream.xreadgroup('pending', 'g', 'c' || b % 10, count => 100)) x" >/dev/null
	sql -c "SELECT ceil((used - $before) / pending::numeric) FROM stream.memory, stream.groups WHERE stream = 'pending'"
}
pending_redis()
{
	local before
	before=$(redis info memory | tr -d '\r' | sed -n 's/^used_memory://p')
	"$PEERS" consume "$REDIS_SOCK" queue g 10 100 0 600 >/dev/null
	echo $((($(redis info memory | tr -d '\r' | sed -n 's/^used_memory://p') - before) / MILLION))
}
pending_verdict()
{
	awk -v s="$(of pending stream)" 'BEGIN { printf "  stream: target 24: %s\n", (s <= 24 ? "met" : "NOT met") }'
}
