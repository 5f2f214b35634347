#!/usr/bin/env bash
# Runs README's commands on a bare Debian: Tests/Fresh/run.sh SUITE FOLDER [COMMAND]
#
#   SUITE    bookworm (Debian 12) or trixie (Debian 13)
#   FOLDER   where the system is made, some 3 GB with the build; must not exist yet
#   COMMAND  `run` (the default): `make run`, then README's request; `test`: `make test`; `deb`, `dist`: a package
#
# Debian 12 has no Swift: TOOLCHAIN is the folder of one from swift.org, which is copied in. See system.sh for what else the
# environment may say. Not in CI: it takes as long as a first build.
set -euo pipefail

suite=${1:?usage: Tests/Fresh/run.sh SUITE FOLDER [run|test|deb|dist]}
root=${2:?usage: Tests/Fresh/run.sh SUITE FOLDER [run|test|deb|dist]}
command=${3:-run}
port=${PORT:-8089}
[[ $command =~ ^(run|test|deb|dist)$ ]] || { echo "error: unknown command '$command': run, test, deb or dist" >&2; exit 2; }
here=$(dirname "${BASH_SOURCE[0]}")
clone=$(git -C "$here" rev-parse --show-toplevel)
. "$here/system.sh"

make_system "$suite" "$root" "ca-certificates make curl"
if [[ -n ${TOOLCHAIN:-} ]]; then
    cp -a "$TOOLCHAIN" "$root/opt/swift"
    # What swift.org asks for on Debian 12, and a linker.
    install_packages binutils gcc libc6-dev libcurl4-openssl-dev libedit2 libgcc-12-dev libncurses6 libpython3.11 libsqlite3-0 \
        libstdc++-12-dev libxml2-dev libz3-dev pkg-config tzdata zlib1g-dev
fi
git clone -q "$clone" "$root/src"

echo "== commit $(git -C "$clone" rev-parse --short HEAD)"
start=$SECONDS
if [[ $command != run ]]; then
    inside make -C /src "$command"
    echo "== make $command passed after $((SECONDS - start)) s"
    exit
fi
serve make -C /src run PORT="$port"
echo "== make run serves after $((SECONDS - start)) s; $(inside swift --version 2>/dev/null | grep -m1 version)"
ask
