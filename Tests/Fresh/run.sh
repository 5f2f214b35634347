#!/usr/bin/env bash
# Runs README's commands on a bare Debian: Tests/Fresh/run.sh SUITE FOLDER [COMMAND]
#
#   SUITE    bookworm (Debian 12) or trixie (Debian 13)
#   FOLDER   where the system is made, some 3 GB with the build; must not exist yet
#   COMMAND  `run` (the default): `make run`, then README's request; `test`: `make test`
#
# Debian 12 has no Swift: TOOLCHAIN is the folder of one from swift.org, which is copied in. MIRROR and APT (a file of
# settings for apt) say where packages come from. Needs root and the package debootstrap. Not in CI: it takes as long as
# a first build.
set -euo pipefail

suite=${1:?usage: Tests/Fresh/run.sh SUITE FOLDER [run|test]}
root=${2:?usage: Tests/Fresh/run.sh SUITE FOLDER [run|test]}
command=${3:-run}
[[ $command == run || $command == test ]] || { echo "error: unknown command '$command': run or test" >&2; exit 2; }
[[ ! -e $root ]] || { echo "error: '$root' exists: a fresh system needs a new folder" >&2; exit 2; }

clone=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
debootstrap --variant=minbase --include=ca-certificates,make,curl "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$root.log" \
    || { tail "$root.log" >&2; exit 1; }
cp /etc/resolv.conf /etc/hosts "$root/etc/"
[[ -z ${APT:-} ]] || cp "$APT" "$root/etc/apt/apt.conf.d/"
if [[ -n ${TOOLCHAIN:-} ]]; then
    cp -a "$TOOLCHAIN" "$root/opt/swift"
    # What swift.org asks for on Debian 12, and a linker.
    chroot "$root" bash -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        binutils gcc libc6-dev libcurl4-openssl-dev libedit2 libgcc-12-dev libncurses6 libpython3.11 libsqlite3-0 \
        libstdc++-12-dev libxml2-dev libz3-dev pkg-config tzdata zlib1g-dev' >>"$root.log"
fi
git clone -q "$clone" "$root/src"

mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
server=
trap '[[ -z $server ]] || kill -- -$server 2>/dev/null; umount "$root/dev" "$root/proc"' EXIT
inside() { chroot "$root" /usr/bin/env PATH=/opt/swift/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }

echo "== $(. "$root/etc/os-release"; echo "$PRETTY_NAME"), commit $(git -C "$clone" rev-parse --short HEAD)"
start=$SECONDS
if [[ $command == test ]]; then
    inside make -C /src test
    echo "== make test passed after $((SECONDS - start)) s"
    exit
fi
port=${PORT:-8089}
set -m
inside make -C /src run PORT="$port" >>"$root.log" 2>&1 &
server=$!
set +m
until curl -fs "http://127.0.0.1:$port/health" >/dev/null; do
    kill -0 "$server" 2>/dev/null || { echo "error: make run ended:" >&2; tail -n 20 "$root.log" >&2; exit 1; }
    sleep 1
done
echo "== make run serves after $((SECONDS - start)) s; $(inside swift --version 2>/dev/null | grep -m1 version)"
curl -fsS "http://127.0.0.1:$port/v1/chat/completions" -H 'Content-Type: application/json' \
    -d '{"model": "hearth-4m", "messages": [{"role": "user", "content": "What is the capital of France?"}]}'
echo
