#!/usr/bin/env bash
# Keeps the history on a branch of its own, since a CI job forgets its files:
#   history.sh fetch   gets the branch into a directory, or begins it
#   history.sh push    adds what the job wrote; lines that others pushed
#                      meanwhile are merged, since a history merges by union
#
# Set by the environment:
#   REMOTE   where the branch is      (the origin of this checkout)
#   BRANCH   its name                 (kbench-history)
#   DIR      the directory            (kbench-history)
set -euo pipefail

REMOTE=${REMOTE:-$(git remote get-url origin)}
BRANCH=${BRANCH:-kbench-history}
DIR=${DIR:-kbench-history}
tries=5

fetch() {
  if [ -n "$(git ls-remote --heads "$REMOTE" "$BRANCH")" ]; then
    git clone --quiet --single-branch --branch "$BRANCH" "$REMOTE" "$DIR"
    return
  fi
  git init --quiet --initial-branch "$BRANCH" "$DIR"
  git -C "$DIR" remote add origin "$REMOTE"
  printf 'history.jsonl merge=union\n' >"$DIR/.gitattributes"
  printf '*.index*\n*.lock\n' >"$DIR/.gitignore"
}

as_kbench() { git -C "$DIR" -c user.name=kbench -c user.email=kbench@localhost "$@"; }

push() {
  git -C "$DIR" add -A
  if git -C "$DIR" diff --cached --quiet; then
    echo "history: nothing new" >&2
    return
  fi
  as_kbench commit --quiet -m "history: add a night"
  for ((try = 1; try <= tries; try++)); do
    refused=$(git -C "$DIR" push --quiet origin "HEAD:refs/heads/$BRANCH" 2>&1) && return
    # Somebody pushed before: take their lines and try again.
    as_kbench pull --quiet --no-rebase --no-edit --allow-unrelated-histories origin "$BRANCH" >/dev/null || break
  done
  echo "history: $refused" >&2
  echo "history: the night could not be pushed; it is in $DIR" >&2
  return 1
}

case ${1:-} in
  fetch | push) "$1" ;;
  *)
    echo "usage: $0 fetch|push" >&2
    exit 2
    ;;
esac
