#!/bin/bash
# Includes go one way (docs/architecture.md): each layer may include what its
# line names and its own files.  Prints each include that goes elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A may=(
	[engine]=""
	[types]="engine"
	[store]="engine"
	[journal]="store engine"
	[xact]="journal store engine types"
	[sqlfn]="xact journal store engine types"
	[worker]="journal store engine"
)

bad=0
checked=0
for dir in src/*/; do
	layer=$(basename "$dir")
	[ "$layer" = ext ] && continue
	if [ -z "${may[$layer]+known}" ]; then
		echo "src/$layer: no such layer"
		bad=1
		continue
	fi
	for file in "$dir"*.[ch]; do
		[ -e "$file" ] || continue
		checked=$((checked + 1))
		while IFS=: read -r line include; do
			case $include in
				*/*) to=${include%%/*} ;;
				*) continue ;;
			esac
			[ -d "src/$to" ] || continue		# a header of the server
			[[ " $layer ${may[$layer]} " == *" $to "* ]] && continue
			echo "$file:$line: $layer may not include \"$include\""
			bad=1
		done < <(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\(.*\)".*/\1/;t show;b;:show;=;p' "$file" |
			paste -d: - -)
	done
done

[ "$checked" -gt 0 ] || { echo "no source found"; bad=1; }
[ $bad -eq 0 ] && echo "ok layers - $checked files"
exit $bad
