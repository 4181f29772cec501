#!/usr/bin/env bash
# One nightly measurement: run the spec, gate it by thresholds and by the nights
# before, add it to the history, look for slow change, and leave everything that
# people read in one directory.
#
# It ends with
#   0  passed
#   1  a regression, or a threshold missed
#   2  the job is set up wrong: no kbench, a bad spec, a broken history
#   3  could not be measured, in none of the tries: trouble of the machine,
#      which is neither green nor a regression
# and with 130 or 143 where a signal ended it.
#
# Set by the environment:
#   KBENCH       the binary                        (kbench)
#   SPEC         what is run                       (docs/specs/nightly.yaml)
#   RUN_FLAGS    further flags of `kbench run`     (none)
#   OUT          receives the run folder           (kbench-results)
#   HISTORY      the history's file                (kbench-history/history.jsonl)
#   PUBLISH      receives what people read         (kbench-report)
#   TRIES        how often an invalid run is tried (2)
#   ANNOTATIONS  --annotations of `kbench gate`    (none)
set -uo pipefail

KBENCH=${KBENCH:-kbench}
SPEC=${SPEC:-docs/specs/nightly.yaml}
OUT=${OUT:-kbench-results}
HISTORY=${HISTORY:-kbench-history/history.jsonl}
PUBLISH=${PUBLISH:-kbench-report}
TRIES=${TRIES:-2}
read -ra run_flags <<<"${RUN_FLAGS:-}"

# The gate needs this many valid nights; before them a run passes that has
# nothing to be judged by yet.
baseline_nights=5

say() { printf 'nightly: %s\n' "$*" >&2; }

# give_up ends the job for a command that should have worked.
give_up() { # exit code, what
  say "$2 (exit code $1)"
  printf 'not set up\n' >"$PUBLISH/verdict.txt"
  exit "$1"
}

# measure runs the spec until a run is valid, TRIES times at most. 0: valid.
measure() {
  local try code
  for ((try = 1; try <= TRIES; try++)); do
    code=0
    "$KBENCH" run "$SPEC" --out "$OUT" ${run_flags[@]+"${run_flags[@]}"} >"$PUBLISH/result.txt" || code=$?
    cat "$PUBLISH/result.txt"
    case $code in
      0 | 1) return 0 ;; # a missed threshold is the gate's to tell
      3) say "try $try of $TRIES is invalid" ;;
      *) give_up "$code" "the run could not be made" ;;
    esac
  done
  return 3
}

valid_nights() {
  [ -e "$HISTORY" ] || { echo 0; return; }
  "$KBENCH" history list --history "$HISTORY" --format csv | grep -c ',valid,'
}

# judge gates the newest run and gives the gate's exit code.
judge() {
  local flags=(--against "$HISTORY" --junit "$PUBLISH/gate.xml" --markdown "$PUBLISH/gate.md" --json "$PUBLISH/gate.json")
  [ "$(valid_nights)" -ge "$baseline_nights" ] || flags+=(--allow-no-baseline)
  [ -z "${ANNOTATIONS:-}" ] || flags+=(--annotations "$ANNOTATIONS")
  "$KBENCH" gate "$OUT/latest" "${flags[@]}"
}

# remember adds the run and looks for slow change, which fails no night.
remember() {
  mkdir -p "$(dirname "$HISTORY")"
  "$KBENCH" history add "$OUT/latest" --history "$HISTORY" || give_up $? "the run could not be added to the history"
  "$KBENCH" history trend --history "$HISTORY" --format md --html "$PUBLISH/trend.html" >"$PUBLISH/trend.md" ||
    say "the trend could not be made (exit code $?)"
}

publish() {
  local name
  for name in report.html report.md report.json manifest.json; do
    cp "$OUT/latest/$name" "$PUBLISH/" || say "$name is missing"
  done
  tar -C "$OUT" -czf "$PUBLISH/run.tar.gz" "$(basename "$(readlink -f "$OUT/latest")")" || say "the run folder could not be packed"
}

mkdir -p "$PUBLISH" || exit 2
command -v "$KBENCH" >/dev/null || give_up 2 "there is no $KBENCH; put it on PATH or set KBENCH"
newest() { readlink -f "$OUT/latest" 2>/dev/null || true; }

before=$(newest)
measured=0
measure || measured=$?
if [ "$(newest)" = "$before" ]; then
  # An older run must not be judged in place of this night's.
  printf 'not measured\n' >"$PUBLISH/verdict.txt"
  say "not measured: no run folder was written"
  exit 3
fi
# The gate comes before the history: a night must not be its own baseline.
gated=0
judge || gated=$?
[ "$gated" -eq 2 ] && give_up 2 "the gate could not judge"
remember
publish
if [ "$measured" -eq 3 ] || [ "$gated" -eq 3 ]; then
  verdict="not measured" code=3
elif [ "$gated" -eq 0 ]; then
  verdict="passed" code=0
else
  verdict="regression" code=$gated
fi
printf '%s\n' "$verdict" >"$PUBLISH/verdict.txt"
say "$verdict; see $PUBLISH"
exit "$code"
