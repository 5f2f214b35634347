# A bare Debian, for the scripts of this folder. Needs root and the package debootstrap.
#
# MIRROR and APT (a file of settings for apt) say where packages come from. BASE, a folder, keeps the bare systems, so that the
# next needs no download.

# make_system SUITE FOLDER [PACKAGES]: makes it in FOLDER, which must not exist yet; what is said goes to FOLDER.log.
make_system() {
    local suite=$1 root=$2 include=${3:-} source
    [[ ! -e $root ]] || { echo "error: '$root' exists: a fresh system needs a new folder" >&2; exit 2; }
    source=${BASE:+$BASE/$suite}
    if [[ -n $source && -d $source ]]; then
        cp -a "$source" "$root"
        : >"$root.log"
    else
        debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$root.log" || { tail "$root.log" >&2; exit 1; }
        [[ -z $source ]] || cp -a "$root" "$source"
    fi
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    [[ -z ${APT:-} ]] || cp "$APT" "$root/etc/apt/apt.conf.d/"
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    # For the tests of the terminal.
    mount --bind /dev/pts "$root/dev/pts"
    trap 'leave_system' EXIT
    if [[ -n $include ]]; then install_packages $include; fi
    echo "== $(. "$root/etc/os-release"; echo "$PRETTY_NAME")"
}

# Ends the program in the background, whose process group is $server.
leave_system() {
    [[ -z ${server:-} ]] || kill -- -"$server" 2>/dev/null || true
    wait
    umount "$root/dev/pts" "$root/dev" "$root/proc"
}

inside() { chroot "$root" /usr/bin/env -i PATH=/opt/swift/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }

install_packages() {
    inside sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"' _ "$@" \
        >>"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
}

# serve COMMAND…: runs it inside in the background until it answers at $port.
serve() {
    set -m
    inside "$@" >>"$root.log" 2>&1 &
    server=$!
    set +m
    until curl -fs "http://127.0.0.1:$port/health" >/dev/null; do
        kill -0 "$server" 2>/dev/null || { echo "error: '$*' ended:" >&2; tail -n 20 "$root.log" >&2; exit 1; }
        sleep 1
    done
}

# README's request.
ask() {
    curl -fsS "http://127.0.0.1:$port/v1/chat/completions" -H 'Content-Type: application/json' \
        -d '{"model": "hearth-4m", "messages": [{"role": "user", "content": "What is the capital of France?"}]}'
    echo
}
