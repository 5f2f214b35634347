#!/usr/bin/env bash
# Builds the programs and tests for arm64 on Debian 13 for x86-64, and runs them in QEMU: shim answers README's request, bench gives the
# logits of the reference families, and the suites that TESTS names pass (a regular expression over their names; empty: none).
# Nothing is installed: Debian's packages for arm64 are unpacked into .build/arm64-root (2.5 GB).
# Needs the packages swiftlang, swiftlang-dev, qemu-user, curl and python3. Not in CI: it takes as long as two first builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD/.build/arm64-root
build=.build/arm64
port=${PORT:-8089}
tests=${TESTS-^(TokenizerTests|TemplateTests|ConstraintTests|WireTests|HTTPTests|LocalLLMTests)}

version=$(dpkg-query -W -f='${Version}' swiftlang 2>/dev/null) \
    || { echo "error: this needs Debian 13 with its package swiftlang" >&2; exit 1; }
command -v qemu-aarch64 >/dev/null || { echo "error: this needs the package qemu-user" >&2; exit 1; }

if [[ ! -e $root/complete ]]; then
    rm -rf "$root" .build/arm64-packages
    mkdir -p "$root" .build/arm64-packages/{state/lists/partial,cache/archives/partial}
    : >.build/arm64-packages/status
    apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
        -o Dir::State="$PWD/.build/arm64-packages/state" -o Dir::State::status="$PWD/.build/arm64-packages/status"
        -o Dir::Cache="$PWD/.build/arm64-packages/cache")
    "${apt[@]}" update
    "${apt[@]}" install --no-install-recommends --download-only "swiftlang=$version" libc6-dev libstdc++-14-dev libgcc-14-dev \
        libopenblas-dev libssl-dev libsqlite3-dev libedit-dev libpng-dev libturbojpeg0-dev libwebp-dev
    for package in .build/arm64-packages/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
    rm -r .build/arm64-packages
    # What base-files and the packages' scripts would link.
    for folder in bin lib sbin; do [[ -e $root/$folder ]] || ln -s "usr/$folder" "$root/$folder"; done
    for file in "$root"/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so*; do
        ln -sf "openblas-pthread/${file##*/}" "$root/usr/lib/aarch64-linux-gnu/"
    done
    for file in "$root"/usr/include/aarch64-linux-gnu/openblas-pthread/*; do
        ln -sf "openblas-pthread/${file##*/}" "$root/usr/include/aarch64-linux-gnu/"
    done
    touch "$root/complete"
fi

cat >.build/arm64.json <<END
{
    "version": 1, "target": "aarch64-unknown-linux-gnu", "sdk": "$root", "toolchain-bin-dir": "/usr/libexec/swift/bin",
    "dynamic-library-extension": "so", "extra-cc-flags": ["-fPIC"], "extra-cpp-flags": [],
    "extra-swiftc-flags": [
        "-sdk", "$root", "-resource-dir", "$root/usr/libexec/swift/lib/swift", "-use-ld=lld", "-Xclang-linker", "--sysroot=$root"
    ]
}
END
for product in shim bench chat; do
    LOCALLLM_ARCHITECTURE=arm64 swift build -c release --scratch-path $build --destination .build/arm64.json --product $product
done

# QEMU's processor has all instructions that the kernels use, or, with PROCESSOR=neoverse-n1, no matrix multiply.
arm() {
    qemu-aarch64 -cpu "${PROCESSOR:-max}" -L "$root" -E LD_LIBRARY_PATH=/usr/libexec/swift/lib/swift/linux \
        "$build/aarch64-unknown-linux-gnu/release/$@"
}
arm chat --model models/hearth-4m.gguf <<<'What is the capital of France?'

arm shim --model models/hearth-4m.gguf --port "$port" &
server=$!
trap 'kill $server' EXIT
until curl -fs "http://127.0.0.1:$port/health" >/dev/null; do
    kill -0 $server || exit 1
    sleep 1
done
curl -fsS "http://127.0.0.1:$port/v1/chat/completions" -H 'Content-Type: application/json' \
    -d '{"model": "hearth-4m", "messages": [{"role": "user", "content": "What is the capital of France?"}]}'
echo

if [[ -e ../shared/fixtures/architectures/index.json ]]; then
    export -f arm
    export root build
    python3 Tests/ARM/families.py ../shared/fixtures/architectures
else
    echo "skipped: no reference data in ../shared/fixtures" >&2
fi

[[ -n $tests ]] || exit 0
LOCALLLM_ARCHITECTURE=arm64 Tests/Older/swift.sh build -c release --scratch-path .build/arm64-tests -Xswiftc -enable-testing \
    --destination "$PWD/.build/arm64.json" --build-tests
# Tests of time in proportion have a limit of a minute, which an emulator exceeds.
build=.build/arm64-tests arm LocalLLMPackageTests.xctest --testing-library swift-testing --no-parallel --filter "$tests" \
    --skip 'linear|proportion|does_not_grow'
