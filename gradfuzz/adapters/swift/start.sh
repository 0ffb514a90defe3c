# Starts an adapter in Swift with a toolchain: `sh start.sh FOLDER SCRIPT`. It is compiled the first time.
# swiftc is that of FOLDER/bin; where FOLDER/root is a chroot, all of it happens in there.
set -eu
folder=$1 script=$2
built=adapter-$(cksum < "$script" | tr ' ' -)
if [ -d "$folder/root" ]; then
  # What is mounted in a namespace of mounts is gone when the adapter ends.
  [ "${3-}" = mounted ] || exec unshare --mount sh "$0" "$1" "$2" mounted
  root=$folder/root own=/opt
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/tmp"
  cp "$script" "$root/tmp/"
  script=/tmp/${script##*/}
  inside() { chroot "$root" env -u TMPDIR PATH=/usr/bin:/bin HOME=/root "$@"; }
else
  root='' own=$folder
  export PATH="$folder/bin:$PATH"
  inside() { "$@"; }
fi
if [ ! -x "$root$own/$built" ]; then
  inside swiftc -O "$script" -o "$own/$built.$$"
  mv "$root$own/$built.$$" "$root$own/$built"
fi
[ -n "$root" ] || exec "$own/$built"
exec chroot "$root" env -u TMPDIR PATH=/usr/bin:/bin HOME=/root "$own/$built"
