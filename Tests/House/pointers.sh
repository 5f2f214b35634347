#!/usr/bin/env bash
# Checks that Sources/Networks names no pointer: its files call operations on matrices, and Compute has the loops over memory.
# Comments do not count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# What stays, a file a line, with the reason.
exceptions='
Sources/Networks/Vision/Files/ImageFormat+Decoding.swift  calls libraries in C that write pixels to memory
Sources/Networks/Vision/Files/PNGDecoder.swift            likewise
Sources/Networks/Vision/RGBImage.swift                    Hasher takes many bytes at once only from a buffer
'
# Pointer types and what makes pointers; a matrix's memory and kernels; loops over rows, whose bodies have only these two.
names='Unsafe[A-Z]|withUnsafe|\.baseAddress|\.pointee|bindMemory|assumingMemoryBound|\.base\b[^(]|\bkernels\b|forEachRow|forEachItem|scratchOfWorker'

found=$(find Sources/Networks -name '*.swift' -type f | sort | xargs grep -nHE "$names" | grep -vE '^[^:]*:[0-9]+: *//' || true)
failed=0
while IFS=: read -r file line text; do
    [[ -n $file ]] || continue
    grep -qF "$file " <<<"$exceptions" && continue
    echo "$file:$line: a pointer, or what gives one; Compute has the operations:$text"
    failed=1
done <<<"$found"
while read -r file _; do
    [[ -z $file ]] || grep -qF "$file:" <<<"$found" || { echo "Tests/House/pointers.sh: $file is an exception, but names no pointer"; failed=1; }
done <<<"$exceptions"
exit $failed
