#!/usr/bin/env bash
# Tests the kernels for ARM on another processor: compiles them for arm64 in Swift's embedded mode, which needs no
# standard library, and runs them against the portable kernels in QEMU, on a processor with int8 matrix multiply and on
# one without. Needs the packages qemu-user and gcc-aarch64-linux-gnu; says so and succeeds where they are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

toolchain=$(dirname "$(readlink -f "$(command -v swiftc)")")
for need in qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu; do
    if ! command -v "${need%%:*}" >/dev/null; then
        echo "skipped: the tests of the ARM kernels need the package ${need#*:}" >&2
        exit 0
    fi
done
embedded=$toolchain/../lib/swift/embedded/aarch64-none-none-elf
if [[ ! -d $embedded ]]; then
    echo "skipped: the tests of the ARM kernels need a Swift toolchain with embedded Swift for aarch64-none-none-elf" >&2
    exit 0
fi

build=.build/arm
kernels=Sources/Kernels
mkdir -p $build
# `-idirafter`: the compiler's own headers come first, and include those of the C library. The other way round, some modules
# of headers get the C library's `stdint.h` and others the compiler's, depending on what the module cache held before.
flags=(-target aarch64-none-none-elf -enable-experimental-feature Embedded -wmo -swift-version 6 -package-name LocalLLM
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault -warnings-as-errors -Ounchecked -I $build
    -Xcc -idirafter -Xcc /usr/aarch64-linux-gnu/include -Xcc -fno-stack-protector
    -Xcc -fmodule-map-file=$kernels/CMath/module.modulemap
    -Xcc -fmodule-map-file=$kernels/CIntrinsics/module.modulemap)

# module NAME MARCH FILE...
module() {
    swiftc "${flags[@]}" -Xcc -march="$2" -parse-as-library -module-name "$1" -emit-module -emit-module-path "$build/$1.swiftmodule" \
        "${@:3}"
}
# Embedded Swift compiles the functions of other modules again where they are used: each module is needed only as such.
mapfile -t formats < <(find $kernels/Formats -name '*.swift')
module KernelFormats armv8-a "${formats[@]}"
mapfile -t floats < <(find $kernels/Float -name '*.swift')
module KernelsFloat armv8-a "${floats[@]}"
mapfile -t portable < <(find $kernels/Portable -name '*.swift')
module KernelsPortable armv8-a "${portable[@]}" &
mapfile -t neon < <(find -L $kernels/NEON -name '*.swift')
module KernelsNEON armv8.2-a+dotprod "${neon[@]}" &
module TestSupport armv8-a Tests/TestSupport/SeededGenerator.swift
wait -n
wait -n
module KernelsNEONMatrix armv8.2-a+dotprod+i8mm+bf16 $kernels/NEONMatrix/*.swift
# The rest of Compute needs the standard library.
module Compute armv8-a Sources/Compute/Kernels/*.swift
swiftc "${flags[@]}" -Xcc -march=armv8.2-a+dotprod+i8mm+bf16 -module-name KernelChecks -c -o $build/checks.o Sources/Tiers/*.swift \
    Tests/KernelsTests/RandomWeights.swift Tests/ARM/*.swift
aarch64-linux-gnu-gcc -B "$toolchain" -fuse-ld=lld -static -o $build/checks $build/checks.o \
    "$embedded/libswiftUnicodeDataTables.a" -lm

for processor in neoverse-n1 max; do
    echo "ARM kernels in QEMU, processor $processor:"
    timeout 5m qemu-aarch64 -cpu $processor $build/checks
done
