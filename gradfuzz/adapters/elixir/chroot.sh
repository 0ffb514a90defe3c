# Runs a command in the chroot of an environment: `sh chroot.sh FOLDER COMMAND...`. FOLDER/root is the chroot.
# FOLDER and the adapters are in there at their places. What is mounted is gone when the command ends.
set -eu
[ "$1" = mounted ] || exec unshare --mount sh "$0" mounted "$@"
folder=$2 root=$2/root adapters=$(dirname "$0")
shift 2
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
for place in "$folder" "$adapters"; do
  mkdir -p "$root$place"
  mount --bind "$place" "$root$place"
done
exec chroot "$root" env -u TMPDIR PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 "$@"
