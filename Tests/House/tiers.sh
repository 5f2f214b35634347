#!/usr/bin/env bash
# Checks that no code of a kernel tier can be linked in place of another module's: the objects of a release build must not
# define shared functions without the tier's name. The linker keeps one of several shared functions with the same name, for
# all processors.
#
#   Tests/House/tiers.sh .build/release     names each such function
#
# With -enable-testing the compiler emits the metadata of all types, and the shared functions for them.
set -euo pipefail

failed=0
for object in "$1"/Kernels{AVX2,AVXVNNI,AVX512,NEON,NEONMatrix}.build/*.o; do
    [[ -e $object ]] || continue
    tier=$(basename "$(dirname "$object")" .build)
    while read -r name; do
        echo "$object: \`$name\` is shared with other modules, and compiled for the processors of $tier only"
        failed=1
    done < <(nm "$object" | awk '$2 == "W" { print $3 }' | swift demangle --compact | grep -v "\b$tier\b" || true)
done
exit $failed
