#!/usr/bin/env bash
# Runs a command as containers do that give least: contained.sh FOLDER COMMAND...
# Another user than root, without capabilities; every file system read-only but FOLDER, which is an empty one in memory,
# becomes the folder for temporary files and the current one; no HOME, no network, 2 GB of memory a process.
# Ends with 77 where this machine refuses namespaces.
set -euo pipefail

if [[ ${CONTAINED:-} != inside ]]; then
  exec env CONTAINED=inside \
    unshare --user --map-root-user --mount --net --ipc --pid --fork --kill-child --mount-proc -- \
    bash -- "$0" "$@" || exit 77
fi

folder=$1
shift
refused() { exit 77; }
mount --make-rprivate / || refused
mount -t tmpfs -o size=1g,mode=0700 none "$folder" || refused
# Whatever is mounted, the deepest first: the flags that it has are kept, as a namespace may not take them away.
while read -r target flags; do
  case $target in "$folder" | /proc | /proc/*) continue ;; esac
  kept=$(tr ',' '\n' <<< "$flags" | grep -xE 'nosuid|nodev|noexec|noatime|nodiratime|relatime' | paste -sd, || true)
  mount -o "remount,bind,ro${kept:+,$kept}" "$target" 2> /dev/null || true
done < <(awk '{print $5, $6}' /proc/self/mountinfo | tac)

cd "$folder"
for place in / "${CONTAINED_PACKAGE:-/}" /tmp /dev/shm /var/tmp; do
  if [[ -d $place ]] && (: > "$place/.writable.$$") 2> /dev/null; then
    rm -f -- "$place/.writable.$$"
    echo "contained.sh: $place can be written to" >&2
    refused
  fi
done
ulimit -d 2097152 # of what can be written; address space that is only set aside takes no memory
exec env -u HOME -u CONTAINED -u CONTAINED_PACKAGE -u XDG_CACHE_HOME -u NUMBA_CACHE_DIR \
  TMPDIR="$folder" PYTHONDONTWRITEBYTECODE=1 \
  unshare --user --map-user=1000 --map-group=1000 -- \
  setpriv --no-new-privs --inh-caps=-all --bounding-set=-all -- "$@"
