#!/usr/bin/env bash
# Packs what `swift build -c release` has built: deploy/package/build.sh deb|dist [FOLDER]
#
#   deb    FOLDER/localllm_VERSION-REVISION_ARCH.deb, for the distribution that it was built on and later ones
#   dist   FOLDER/localllm-VERSION-linux-MACHINE.tar.xz, with the libraries that the programs are linked with but for glibc
#          and OpenSSL, and its checksum
#
# FOLDER: .build/packages unless it is given. REVISION: 1 unless the environment says otherwise. `make deb` and `make dist`
# build first.
set -euo pipefail
umask 022
kind=${1:?usage: deploy/package/build.sh deb|dist [FOLDER]}
[[ $kind == deb || $kind == dist ]] || { echo "error: unknown kind of package '$kind': deb or dist" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
packages=${2:-.build/packages}
mkdir -p "$packages"
built=.build/release
for program in shim chat bench; do
    [[ -x $built/$program ]] || { echo "error: no program '$built/$program': run make $kind" >&2; exit 1; }
done
version=$(sed -n 's/^let version = "\(.*\)"$/\1/p' Sources/Shim/Shim.swift)
# The time of everything in the package, so that the same sources and tools give the same bytes.
time=$(git log -1 --format=%ct 2>/dev/null || date +%s)
stage=$(mktemp -d)
chmod 755 "$stage"
trap 'rm -rf "$stage"' EXIT

if [[ $kind == deb ]]; then prefix=$stage/usr; else prefix=$stage/localllm-$version-linux-$(uname -m); fi
libraries=$prefix/lib/localllm
mkdir -p "$prefix/bin" "$libraries"
cp "$built"/{shim,chat,bench} "$libraries/"
for program in shim chat bench; do ln -s "../lib/localllm/$program" "$prefix/bin/$program"; done

# NAME => PATH of the libraries that a file is linked with, directly or not.
linked() { ldd "$@" | sed -n 's/^\t\([^ ]*\) => \([^ ]*\) .*/\1 \2/p' | sort -u; }
runtime=$(linked "$libraries/shim" | sed -n 's/^libswiftCore.so \(.*\)\/libswiftCore.so$/\1/p')
[[ -n $runtime ]] || { echo "error: '$built/shim' is not linked with Swift's runtime" >&2; exit 1; }
missing=$(linked "$libraries"/{shim,chat,bench} | grep -c 'not$' || true)
(( missing == 0 )) || { echo "error: libraries of the programs are missing:" >&2; ldd "$libraries/chat" >&2; exit 1; }
# The package of a library, which may have been installed under /lib before that became /usr/lib.
owner() {
    local path
    path=$(realpath "$1")
    { dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}"; } | head -n 1 | cut -d: -f1
}
# Of glibc and OpenSSL the system's own are used: they are everywhere, and have to be kept up to date.
is_system() { [[ $1 =~ ^(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|anl|ssl|crypto)\.so) ]]; }
while read -r name path; do
    if [[ $path == "$runtime"/* ]] || { [[ $kind == dist ]] && ! is_system "$name"; }; then
        cp -L "$path" "$libraries/$name"
    fi
done < <(linked "$libraries"/{shim,chat,bench})
chmod 755 "$libraries"/*
chmod 644 "$libraries"/*.so*
strip --strip-unneeded "$libraries"/*
# In place of the toolchain's folder.
for file in "$libraries"/*; do patchelf --set-rpath '$ORIGIN' "$file"; done

doc=$prefix/share/doc/localllm
mkdir -p "$doc/docs" "$prefix/share/localllm"
python3 deploy/package/manuals.py "$prefix" "$version" "$(date -u -d "@$time" +%F)"
cp models/hearth-4m.gguf "$prefix/share/localllm/"
cp README.md NOTICE LICENSE "$doc/"
cp docs/*.md "$doc/docs/"
cp models/README.md "$doc/hearth-4m.md"
for license in "$runtime"/../../../share/swift/LICENSE.txt /usr/share/doc/libswiftlang/copyright; do
    [[ ! -e $license ]] || cp "$license" "$doc/LICENSE.Swift"
done

if [[ $kind == dist ]]; then
    # The licences of the libraries that came along, as the distribution has them.
    mkdir "$doc/licences"
    for file in "$libraries"/*.so*; do
        name=${file##*/}
        path=$(linked "$built"/{shim,chat,bench} | sed -n "s/^${name//./\\.} //p")
        package=$(owner "$path" 2>/dev/null || true)
        [[ -z $package || ! -e /usr/share/doc/$package/copyright ]] || cp -L "/usr/share/doc/$package/copyright" "$doc/licences/$package"
    done
    mkdir "$prefix/share/localllm/systemd"
    cp deploy/shim.service "$prefix/share/localllm/systemd/"
    cp deploy/package/shim.json "$prefix/share/localllm/systemd/"
    name=${prefix##*/}
    tar -C "$stage" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner -c "$name" | xz -T0 -6 >"$packages/$name.tar.xz"
    (cd "$packages" && sha256sum "$name.tar.xz" >"$name.tar.xz.sha256")
    echo "$packages/$name.tar.xz"
    exit
fi

# A Debian package. What it depends on is what it is linked with and does not bring; the libraries that only encoders and images
# need are loaded when they are needed.
mkdir -p "$stage/DEBIAN" "$stage/etc/localllm" "$prefix/lib/systemd/system"
cp deploy/shim.service "$prefix/lib/systemd/system/"
cp deploy/package/shim.json "$stage/etc/localllm/"
mv "$doc/LICENSE" "$doc/LICENSE.Apache-2.0"
{
    cat NOTICE
    printf '\n\nThe libraries of Swift in /usr/lib/localllm are under the licence in LICENSE.Swift.\n'
    printf 'The Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0.\n'
} >"$doc/copyright"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
depends=$(
    needed=$(objdump -p "$libraries"/* | sed -n 's/^  NEEDED  *//p' | sort -u)
    while read -r name path; do
        grep -qxF "$name" <<<"$needed" && [[ ! -e $libraries/$name ]] || continue
        package=$(owner "$path")
        case $package in
            # The version of symbols that programs get from it follows its own.
            libc6) echo "libc6 (>= $(dpkg-query -W -f='${Version}' libc6 | sed 's/-.*//'))" ;;
            *) echo "$package" ;;
        esac
    done < <(linked "$built"/{shim,chat,bench}) | sort -u | paste -sd, | sed 's/,/, /g'
)
architecture=$(dpkg --print-architecture)
cat >"$stage/DEBIAN/control" <<END
Package: localllm
Version: $version-${REVISION:-1}
Architecture: $architecture
Maintainer: The LocalLLM authors <localllm@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$stage" | cut -f1)
Depends: $depends
Recommends: libopenblas0, libpng16-16t64 | libpng16-16, libturbojpeg0, libwebp7, libjs-katex, libjs-highlight.js, libjs-pdf
Section: science
Priority: optional
Description: language models on this machine, behind an OpenAI-compatible API
 The server shim runs language models (GGUF files) on the CPU and answers as
 OpenAI's, Anthropic's and Ollama's APIs do; chat talks to a model in the
 terminal, bench measures it. The server starts with the bundled demonstration
 model at http://127.0.0.1:8080, and serves what is put into /var/lib/localllm.
END
echo /etc/localllm/shim.json >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 755 "deploy/package/$script" "$stage/DEBIAN/$script"; done
(cd "$stage" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
package=$packages/localllm_$version-${REVISION:-1}_$architecture.deb
SOURCE_DATE_EPOCH=$time dpkg-deb --root-owner-group -Zxz --build "$stage" "$package" >/dev/null
echo "$package"
