#!/bin/bash
# Measures what large things cost: each work at several sizes, so that the last
# columns show whether time and memory grow in proportion.
#
#	test/bench/sizes.sh					all works
#	test/bench/sizes.sh streams savepoints
#
# time		of the work and its COMMIT
# each		the same for one unit (a value, an entry, a stream, ...)
# shared	growth of stream.memory's "used" for one unit
# private	growth of the backend's own memory until COMMIT, of all units
#
# The server runs without fsync: what the disk takes is not meant here.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

WORKS=${*:-values fields entries transaction streams savepoints deletions connections}
MEMORY=${MEMORY:-1GB}
RESULTS=$BUILD/sizes-results

build_and_install
wipe_dir sizes
RUN=$(run_dir sizes)
trap 'cluster_stop "$RUN" immediate; wipe_dir sizes' EXIT
cluster_start "$RUN" "stream.memory = '$MEMORY'" "max_connections = 1100" "shared_buffers = '256MB'" \
	"max_wal_size = '4GB'" "log_min_messages = warning" "jit = off" \
	"search_path = '\"\$user\", public, stream'"

sql() { "$BINDIR/psql" -X -q -A -t -F ' ' -h "$RUN" -d postgres -v ON_ERROR_STOP=1 "$@"; }

sql <<'END'
CREATE PROCEDURE make_streams(prefix text, n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		PERFORM xadd(prefix || i, '*', 'k', 'v');
		IF i % 1000 = 0 THEN COMMIT; END IF;
	END LOOP;
END $$;
CREATE PROCEDURE try_adds(key text, n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		BEGIN
			PERFORM xadd(key, '*', 'n', i::text);
			IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END $$;
END

# row WHAT SIZE UNITS MILLISECONDS SHARED-BYTES PRIVATE-KB
row()
{
	awk -v what="$1" -v size="$2" -v n="$3" -v ms="$4" -v shared="$5" -v kb="$6" 'BEGIN {
		printf "%-34s %10s %10.1f ms %10.1f us", what, size, ms, ms * 1000 / n
		if (shared != "-") printf " %12.0f B", shared / n; else printf " %14s", "-"
		if (kb != "-") printf " %9.1f MB\n", kb / 1024; else printf " %12s\n", "-"
	}'
}

# private PID: kB of memory that only this process has.
private_sql="\\setenv PID :pid
\\set kb \`awk '/^RssAnon/ { print \$2 }' /proc/\$PID/status\`"

# measure WHAT SIZE UNITS SQL [NO-TRANSACTION]: one row.
measure()
{
	local begin=BEGIN commit=COMMIT
	if [ $# -gt 4 ]; then begin= commit=; fi
	sql >"$RESULTS" <<END
SELECT used AS used_before, pg_backend_pid() AS pid FROM stream.memory \\gset
$private_sql
\\set kb_before :kb
SELECT extract(epoch FROM clock_timestamp()) AS t0 \\gset
\\o /dev/null
$begin;
$4;
SELECT extract(epoch FROM clock_timestamp()) AS t1 \\gset
$private_sql
SELECT extract(epoch FROM clock_timestamp()) AS t2 \\gset
$commit;
\\o
SELECT extract(epoch FROM clock_timestamp()) AS t3 \\gset
SELECT ((:t1 - :t0) + (:t3 - :t2)) * 1000, used - :used_before, :kb - :kb_before FROM stream.memory;
END
	# shellcheck disable=SC2046
	row "$1" "$2" "$3" $(cat "$RESULTS")
}

# No streams, and an empty journal.
begin_anew() { sql -c "SET client_min_messages = error" -c "DROP EXTENSION IF EXISTS stream" -c "CREATE EXTENSION stream"; }

# --- works --------------------------------------------------------------

work_values()
{
	local n bytes name

	while read -r n bytes name; do
		measure "xadd of values of" "$name" "$n" \
			"SELECT count(xadd('value $name', fields('v', repeat('x', $bytes)))) FROM generate_series(1, $n)"
		measure "xrange of values of" "$name" "$n" "SELECT sum(octet_length(fields->>'v')) FROM xrange('value $name')"
		sql -c "SELECT xdrop('value $name')" >/dev/null
	done <<'END'
1000 0 0B
1000 1024 1kB
32 1048576 1MB
4 16777216 16MB
1 67108864 64MB
END
}

work_fields()
{
	local n

	for n in 10 100 1000; do
		measure "xadd, fields an entry" $n 1000 \
			"SELECT count(xadd('fields $n', fields_from(names, vals))) FROM generate_series(1, 1000),
			 (SELECT array_agg('field' || n) AS names, array_agg(convert_to('value' || n, 'UTF8')) AS vals FROM generate_series(1, $n) n) f"
		measure "xrange, fields an entry" $n 1000 "SELECT max(octet_length(fields::text)) FROM xrange('fields $n')"
		sql -c "SELECT xdrop('fields $n')" >/dev/null
	done
}

work_entries()
{
	local n

	for n in 250000 500000 1000000; do
		measure "entries in a transaction" $n $n \
			"SELECT count(xadd('entries', '*', 'n', n::text)) FROM generate_series(1, $n) n"
		sql -c "SELECT xdrop('entries')" >/dev/null
	done
}

work_transaction()
{
	local n

	for n in 2500 5000 10000; do
		measure "streams made in a transaction" $n $n \
			"SELECT count(xadd('tx' || n, '*', 'k', 'v')) FROM generate_series(1, $n) n"
		measure "streams added to in a transaction" $n $n \
			"SELECT count(xadd('tx' || n, '*', 'k', 'v')) FROM generate_series(1, $n) n"
		measure "streams dropped in a transaction" $n $n "SELECT count(xdrop('tx' || n)) FROM generate_series(1, $n) n"
	done
}

work_streams()
{
	local n from to

	for n in 25000 50000 100000; do
		begin_anew
		measure "streams, 1000 a transaction" $n $n "CALL make_streams('many', $n)" bare
		measure "stream.streams read" $n $n "SELECT sum(length) FROM stream.streams"
		sql -c CHECKPOINT
		cluster_stop "$RUN"
		cluster_start "$RUN"
		from=$(date +%s%N)
		sql -c "SELECT xlen('many1')" >/dev/null
		to=$(date +%s%N)
		row "first answer after a restart" $n $n $(((to - from) / 1000000)) - -
	done
}

work_savepoints()
{
	local n

	for n in 2500 5000 10000; do
		measure "savepoints, half rolled back" $n $n "CALL try_adds('savepoints $n', $n)"
		[ "$(sql -c "SELECT xlen('savepoints $n')")" -eq $((n / 2)) ] || die "the savepoints have left something else"
	done
}

work_deletions()
{
	local n

	sql -c "SELECT count(xadd('deletions', '*', 'n', n::text)) FROM generate_series(1, 100000) n" \
		-c "CREATE TABLE shuffled AS SELECT row_number() OVER (ORDER BY md5(id::text)) AS n, id FROM xrange('deletions')" >/dev/null
	for n in 10000 20000 40000; do
		measure "xdel in random order" $n $n "SELECT sum(xdel('deletions', id)) FROM shuffled WHERE n > $n AND n <= 2 * $n"
	done
	sql -c "DROP TABLE shuffled"
}

# What all backends have for themselves, in kB.
all_private()
{
	local pid

	for pid in $(sql -c "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"); do
		cat "/proc/$pid/status" 2>/dev/null || true
	done | awk '/^RssAnon/ { kb += $2 } END { print kb + 0 }'
}

used() { sql -c "SELECT used FROM stream.memory"; }

work_connections()
{
	local n from to before clients

	sql -c "SELECT xadd('conn', '*', 'k', 'v')" >/dev/null
	for n in 250 500 1000; do
		echo "SELECT stream.xadd('conn', '*', 'k', 'v');" >"$RESULTS.script"
		from=$(date +%s%N)
		"$BINDIR/pgbench" -n -h "$RUN" -c $n -j 2 -t 1 -f "$RESULTS.script" postgres >/dev/null 2>"$RESULTS.err" ||
			{ cat "$RESULTS.err" >&2; die "pgbench failed"; }
		to=$(date +%s%N)
		row "connections that add an entry each" $n $n $(((to - from) / 1000000)) - -

		before=$(used)
		echo "SELECT count(*) FROM stream.xread('conn', '\$', block => '10 min');" >"$RESULTS.script"
		"$BINDIR/pgbench" -n -h "$RUN" -c $n -j 2 -t 1 -f "$RESULTS.script" postgres >/dev/null 2>"$RESULTS.err" &
		clients=$!
		from=$(date +%s%N)
		until [ "$(sql -c "SELECT count(*) FROM stream.activity WHERE state = 'waiting'")" -eq $n ]; do
			read -rt 0.02 <> <(:) || true
		done
		to=$(date +%s%N)
		row "connections that wait for an entry" $n $n $(((to - from) / 1000000)) $(($(used) - before)) "$(all_private)"
		from=$(date +%s%N)
		sql -c "SELECT xadd('conn', '*', 'k', 'v')" >/dev/null
		wait $clients || { cat "$RESULTS.err" >&2; die "a reader was not woken"; }
		to=$(date +%s%N)
		row "all of them woken" $n $n $(((to - from) / 1000000)) - -
	done
}

echo "commit $(git -C "$ROOT" rev-parse --short HEAD 2>/dev/null || echo unknown), $("$BINDIR/postgres" --version), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg), stream.memory $MEMORY"
printf '\n%-34s %10s %13s %13s %14s %12s\n' '' size time each 'shared each' private
for work in $WORKS; do
	[[ $(type -t "work_$work") = function ]] || die "no such work: $work"
	begin_anew
	"work_$work"
done
