#!/bin/bash
# Runs the tests and counts what really ran; the last line says
#
#	tests: N passed, N failed
#
#	test/run.sh						all stages
#	test/run.sh regress tap			some of them
#	TESTS="xact 003_crash" ...		in regress, isolation, pgtap and tap only these
#
# The seed of the random tests is fixed; SEED=n chooses another, test/soak.sh
# draws a new one each round.
#
# Logs are in build/log, a file a stage or a test.  A stage that ran nothing
# counts as a failure, and so does an internal error in the server's log.
# What a test wrote is in build/log/regress.results and isolation.results, the
# data directories of the last run in build/test.
set -uo pipefail
source "$(dirname "$0")/lib.sh"

ALL_STAGES="checks unit fuzz regress isolation pgtap tap"
FUZZ_TIME=${FUZZ_TIME:-5}
export SEED=${SEED:-1}

passed=0
failed=0
failures=()

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); failures+=("$1"); }

# count NAME PASSED FAILED EXIT-STATUS LOG: books a run.  A program that failed
# without naming a failed test counts as one.
count()
{
	local name=$1 ok=$2 not_ok=$3 status=$4 log=$5 i

	if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then not_ok=1; fi
	if [ $((ok + not_ok)) -eq 0 ]; then
		echo "$name ran no test" | tee -a "$log"
		not_ok=1
	fi
	passed=$((passed + ok))
	for ((i = 0; i < not_ok; i++)); do fail "$name ($log)"; done
	printf '%-34s %4d passed, %d failed  (%d s)\n' "$name" "$ok" "$not_ok" $((SECONDS - started))
}

# tap_count LOG: passed and failed of TAP at the outermost level; what was
# skipped did not run.
tap_count()
{
	awk '/^ok / && !/# *[Ss][Kk][Ii][Pp]/ { ok++ }
		/^not ok / && !/# *TODO/ { bad++ }
		END { print ok + 0, bad + 0 }' "$1"
}

# chosen NAME: was this test asked for?
chosen() { [ -z "${TESTS:-}" ] || [[ " $TESTS " == *" $1 "* ]]; }

# --- stages that need no server -----------------------------------------

stage_checks()
{
	local check
	for check in check-engine check-layers check-symbols check-waits; do
		started=$SECONDS
		make -C "$ROOT" -s $check >"$LOG/$check.log" 2>&1
		local status=$?
		[ $status -eq 0 ] || cat "$LOG/$check.log"
		count $check $((status == 0)) $((status != 0)) 0 "$LOG/$check.log"
	done
}

stage_unit()
{
	started=$SECONDS
	make -C "$ROOT/test/unit" -k -j"$(nproc)" all >"$LOG/unit-build.log" 2>&1 || tail -n 30 "$LOG/unit-build.log"
	make -C "$ROOT/test/unit" run >"$LOG/unit.log" 2>&1
	local status=$?
	[ $status -eq 0 ] || tail -n 40 "$LOG/unit.log"
	# shellcheck disable=SC2046
	count unit $(tap_count "$LOG/unit.log") $status "$LOG/unit.log"
}

stage_fuzz()
{
	started=$SECONDS
	make -C "$ROOT/test/fuzz" run FUZZ_TIME="$FUZZ_TIME" >"$LOG/fuzz.log" 2>&1
	local status=$?
	[ $status -eq 0 ] || tail -n 40 "$LOG/fuzz.log"
	# shellcheck disable=SC2046
	count fuzz $(tap_count "$LOG/fuzz.log") $status "$LOG/fuzz.log"
}

# --- stages in the shared cluster ---------------------------------------

# The user of the server may not be able to read the checkout: a copy it can
# read lies beside its data.
prepare_run()
{
	[ -z "${RUN:-}" ] || return 0
	wipe_dir test
	RUN=$(run_dir test)
	TREE=$RUN/tree
	as_server mkdir -p "$TREE" "$RUN/out"
	tar -C "$ROOT" -cf - --exclude=test/unit --exclude=test/fuzz README.md docs sql expected test |
		(cd "$TREE" && as_server tar -xf - --no-same-owner)
	[ ! -d "$BUILD/node" ] || tar -C "$BUILD" -cf - node | (cd "$RUN" && as_server tar -xf - --no-same-owner)
}

shared_cluster()
{
	prepare_run
	if [ ! -f "$RUN/data/postmaster.pid" ]; then cluster_start "$RUN" "statement_timeout = '60s'"; fi
}

# What pg_regress says of a test: in 15, and since 16 in TAP.
OK='\.\.\. ok|^ok [0-9]+ +[-+] '
BAD='\.\.\. (FAILED|failed)|^not ok [0-9]+ +[-+] '

# regress_like PROGRAM DATABASE LOG ARGUMENT...
regress_like()
{
	local program=$1 db=$2 name=$3 ok bad status
	shift 3

	started=$SECONDS
	as_server mkdir -p "$RUN/out/$name"
	(cd "$RUN/out/$name" &&
		as_server "$program" --bindir="$BINDIR" --host="$RUN" --port=5432 --user=postgres \
			--dbname="$db" --outputdir="$RUN/out/$name" "$@") >"$LOG/$name.log" 2>&1
	status=$?
	grep -E "$OK|$BAD" "$LOG/$name.log" || cat "$LOG/$name.log"
	ok=$(grep -cE "$OK" "$LOG/$name.log")
	bad=$(grep -cE "$BAD" "$LOG/$name.log")
	rm -rf "$LOG/$name.results"
	cp -r "$RUN/out/$name/results" "$LOG/$name.results" 2>/dev/null
	if [ $status -ne 0 ] && [ -f "$RUN/out/$name/regression.diffs" ]; then
		cp "$RUN/out/$name/regression.diffs" "$LOG/$name.diffs"
		head -n "${DIFF_LINES:-200}" "$LOG/$name.diffs"
	fi
	count "$name" "$ok" "$bad" $status "$LOG/$name.log"
}

stage_regress()
{
	local tests=() f t
	for f in "$ROOT"/sql/*.sql; do
		t=$(basename "$f" .sql)
		if chosen "$t"; then tests+=("$t"); fi
	done
	[ ${#tests[@]} -gt 0 ] || [ -z "${TESTS:-}" ] || return 0
	shared_cluster
	for t in "${tests[@]}"; do as_server touch -a "$TREE/expected/$t.out"; done
	regress_like "$PGXS_SRC/test/regress/pg_regress" regress_stream regress \
		--inputdir="$TREE" --load-extension=stream "${tests[@]}"
}

stage_isolation()
{
	local tests=() f t
	for f in "$ROOT"/test/specs/*.spec; do
		t=$(basename "$f" .spec)
		if chosen "$t"; then tests+=("$t"); fi
	done
	[ ${#tests[@]} -gt 0 ] || [ -z "${TESTS:-}" ] || return 0
	shared_cluster
	for t in "${tests[@]}"; do as_server touch -a "$TREE/test/expected/$t.out"; done
	regress_like "$PGXS_SRC/test/isolation/pg_isolation_regress" isolation_stream isolation \
		--inputdir="$TREE/test" --load-extension=stream "${tests[@]}"
}

stage_pgtap()
{
	local f t db status
	for f in "$ROOT"/test/pgtap/*.sql; do
		t=$(basename "$f" .sql)
		chosen "$t" || continue
		shared_cluster
		started=$SECONDS
		db=pgtap_$t
		{
			"$BINDIR/psql" -h "$RUN" -d postgres -Xqc "DROP DATABASE IF EXISTS $db" -c "CREATE DATABASE $db" &&
			"$BINDIR/psql" -h "$RUN" -d "$db" -Xqc "CREATE EXTENSION pgtap" -c "CREATE EXTENSION stream" &&
			"$BINDIR/psql" -h "$RUN" -d "$db" -XqAt -v ON_ERROR_STOP=1 -f "$f"
		} >"$LOG/pgtap-$t.log" 2>&1
		status=$?
		grep -E '^not ok|^#|ERROR' "$LOG/pgtap-$t.log" | head -n 40
		# pgTAP itself tells when fewer tests ran than were planned.
		if grep -q '^# Looks like you planned' "$LOG/pgtap-$t.log"; then status=1; fi
		# shellcheck disable=SC2046
		count "pgtap $t" $(tap_count "$LOG/pgtap-$t.log") $status "$LOG/pgtap-$t.log"
	done
}

# --- TAP: a cluster of its own for each file ----------------------------

stage_tap()
{
	local f t status
	for f in "$ROOT"/test/t/*.pl; do
		t=$(basename "$f" .pl)
		chosen "$t" || continue
		prepare_run
		started=$SECONDS
		as_server mkdir -p "$RUN/out/$t"
		(
			cd "$RUN/out/$t" || exit 1
			unset PGUSER
			export TESTDIR=$RUN/out/$t PG_REGRESS=$PGXS_SRC/test/regress/pg_regress
			export PATH=$BINDIR:$PATH NODE_PATH=$RUN/node/node_modules STREAM_TREE=$TREE
			as_server perl -I "$PGXS_SRC/test/perl" -I "$TREE/test/perl" "$TREE/test/t/$t.pl"
		) >"$LOG/$t.log" 2>&1
		status=$?
		rm -rf "$LOG/$t"
		cp -r "$RUN/out/$t/tmp_check/log" "$LOG/$t" 2>/dev/null
		if [ $status -ne 0 ]; then grep -vE "^ok |^# (connect output|issuing query|results query|\\{|\\}|',|'\$|  '|background_psql|Running|Postmaster|Checking port|Found port|Name|Data dir|Backup|Archive|Connection|Log file)|^###" "$LOG/$t.log" | head -n 60; fi
		internal_errors "$t" "$LOG/$t"/*.log
		# shellcheck disable=SC2046
		count "$t" $(tap_count "$LOG/$t.log") $status "$LOG/$t.log"
	done
}

# internal_errors NAME SERVER-LOG...: no statement may end in XX000 (guarantee
# 12), no assertion may fail, no process may crash by itself.  Tests that kill
# processes with SIGKILL do so on purpose.
internal_errors()
{
	local name=$1 found
	shift
	found=$(grep -hE ' XX000 (ERROR|FATAL)|PANIC:|TRAP:|terminated by signal (4|6|7|8|11)\b|AddressSanitizer|runtime error:' "$@" 2>/dev/null |
		grep -v 'pg_terminate_backend' | head -n 20)
	if [ -n "$found" ]; then
		echo "$found"
		fail "$name: internal error or crash in the server's log"
	else
		pass
	fi
}

finish()
{
	if [ -n "${RUN:-}" ] && [ -f "$RUN/server.log" ]; then
		cluster_stop "$RUN"
		cp "$RUN/server.log" "$LOG/server.log"
	fi
	# What lies outside the checkout does not stay; KEEP=1 keeps it.
	if [ -L "$BUILD/test" ] && [ -z "${KEEP:-}" ]; then wipe_dir test; RUN=; fi
}
trap finish EXIT

started=$SECONDS
build_and_install

for stage in ${*:-$ALL_STAGES}; do
	[[ " $ALL_STAGES " == *" $stage "* ]] || die "no such stage: $stage (there are: $ALL_STAGES)"
	echo "--- $stage"
	"stage_$stage"
done

if [ -n "${RUN:-}" ] && [ -f "$RUN/server.log" ]; then
	internal_errors "shared cluster" "$RUN/server.log"
fi

if [ $failed -gt 0 ]; then
	echo
	echo "failed:"
	printf '  %s\n' "${failures[@]}" | sort | uniq -c
fi
[ $((passed + failed)) -gt 0 ] || fail "no test ran"
finish
trap - EXIT
echo "tests: $passed passed, $failed failed"
[ $failed -eq 0 ]
