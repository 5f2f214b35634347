#!/usr/bin/env bash
# Installs a package on a bare Debian, asks the server, upgrades and removes it: Tests/Fresh/package.sh SUITE FOLDER PACKAGE [NEWER]
#
#   SUITE    bookworm (Debian 12) or trixie (Debian 13)
#   FOLDER   where the system is made; must not exist yet
#   PACKAGE  what `make deb` or `make dist` wrote
#   NEWER    a package to upgrade to
#
# systemd does not run there: the server is started as the unit does it, by a user without rights.
set -euo pipefail

usage='usage: Tests/Fresh/package.sh SUITE FOLDER PACKAGE [NEWER]'
suite=${1:?$usage}
root=${2:?$usage}
package=${3:?$usage}
newer=${4:-}
port=${PORT:-8089}
. "$(dirname "${BASH_SOURCE[0]}")/system.sh"

# Paths of everything in the system, but for what changes by itself.
paths() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache \
        -o -path ./var/log -o -path ./tmp \) -prune -o -print | sort)
}
# Runs until it answers, is asked, and ends by itself within 30 s of SIGTERM.
try_server() {
    serve setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    ask
    pkill -TERM -g "$server" -x shim
    local status=0
    wait "$server" || status=$?
    server=
    (( status == 0 )) || { echo "error: the server ended with $status" >&2; tail "$root.log" >&2; exit 1; }
}
check_programs() {
    inside "$1/shim" --version
    inside "$1/bench" speed -m "$2" -p 16 -n 8 -r 1 >>"$root.log"
    echo 'Hello' | inside "$1/chat" --model "$2" | tail -n 3
    # A build's own paths would be searched for libraries.
    for program in shim chat bench; do
        others=$(inside ldd "$(inside readlink -f "$1/$program")" | grep -v -e ' /usr/lib/' -e ' /lib/' -e ld-linux -e linux-vdso -e " ${1%/bin}/" || true)
        [[ -z $others ]] || { echo "error: libraries of $program from elsewhere:" >&2; echo "$others" >&2; exit 1; }
    done
}
# Encoders and images need libraries that the package only recommends. Without one the error names it.
check_libraries() {
    local data name=vision-gemma3
    data=$(dirname "${BASH_SOURCE[0]}")/../../../shared/fixtures/more
    [[ -e $data/$name.mmproj.gguf ]] || { echo "skipped: no reference data in ../shared/fixtures" >&2; return; }
    cp "$data/$name.gguf" "$data/$name.mmproj.gguf" "$data/images/gradient-64x64.png" "$root/tmp/"
    local read_image=(inside "$1/bench" image -m "/tmp/$name.gguf" --mmproj "/tmp/$name.mmproj.gguf"
        --image /tmp/gradient-64x64.png --out /tmp/vectors)
    for package in libopenblas0 libpng16-16; do
        if "${read_image[@]}" >"$root/tmp/error" 2>&1; then echo "error: no need of $package" >&2; exit 1; fi
        cat "$root/tmp/error"
        grep -q "apt-get install $package" "$root/tmp/error"
        install_packages "$package"
    done
    "${read_image[@]}"
}

make_system "$suite" "$root"
if [[ $package == *.tar.xz ]]; then
    # The archive takes OpenSSL from the system.
    install_packages xz-utils openssl
    tar -C "$root/opt" -xf "$package"
    name=$(basename "$package" .tar.xz)
    check_programs "/opt/$name/bin" "/opt/$name/share/localllm/hearth-4m.gguf"
    try_server "/opt/$name/bin/shim" --model "/opt/$name/share/localllm/hearth-4m.gguf" --port "$port"
    check_libraries "/opt/$name/bin"
    echo "== the archive works"
    exit
fi

# What it depends on comes first, so that only its own files are looked for afterwards.
cp "$package" "$root/tmp/package.deb"
depends=$(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g')
install_packages $depends
before=$(paths)
install_packages /tmp/package.deb
inside sh -c 'test -L /etc/systemd/system/multi-user.target.wants/shim.service'
unit=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/shim.service")
mkdir -p "$root/var/lib/localllm"
inside sed -i "s/8080/$port/" /etc/localllm/shim.json
check_programs /usr/bin /usr/share/localllm/hearth-4m.gguf
inside sh -c 'zcat /usr/share/man/man1/shim.1.gz | head -n 3; bash -n /usr/share/bash-completion/completions/bench'
try_server $unit
if [[ -n $newer ]]; then
    cp "$newer" "$root/tmp/newer.deb"
    install_packages /tmp/newer.deb
    inside dpkg-query -W localllm
    # The changed configuration has stayed.
    try_server $unit
fi
touch "$root/var/lib/localllm/model.gguf"
inside env DEBIAN_FRONTEND=noninteractive apt-get purge -y -q localllm >>"$root.log" 2>&1
left=$(comm -13 <(echo "$before") <(paths))
[[ $left == "$(printf './var/lib/localllm\n./var/lib/localllm/model.gguf')" ]] || { echo "error: left behind:" >&2; echo "$left" >&2; exit 1; }
echo "== removed; its data stayed"
install_packages /tmp/package.deb
check_libraries /usr/bin
echo "== what it recommends is asked for where it is missing"
