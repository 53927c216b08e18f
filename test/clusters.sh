#!/bin/bash
# The private clusters under build/.
#
#	test/clusters.sh start NAME [SETTING...]	a cluster with the extension's settings
#	test/clusters.sh stop NAME
#	test/clusters.sh wipe						stops and removes all of them
set -euo pipefail
[ "${1:-}" = wipe ] && [ ! -d "$(dirname "$0")/../build" ] && exit 0
source "$(dirname "$0")/lib.sh"

case ${1:-} in
	start)
		cluster=$(run_dir "$2")
		cluster_start "$cluster" "${@:3}"
		echo "psql -h $cluster -U postgres postgres"
		;;
	stop)
		cluster_stop "$(run_dir "$2")"
		;;
	wipe)
		for data in "$BUILD"/*/data; do
			if [ -d "$data" ]; then wipe_dir "$(basename "$(dirname "$data")")"; fi
		done
		;;
	*)
		die "usage: $0 start NAME [SETTING...] | stop NAME | wipe"
		;;
esac
