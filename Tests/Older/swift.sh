#!/usr/bin/env bash
# `swift` for the tests where it is older than 6.2, as Debian 13's is: Tests/Older/swift.sh build|test [options]
#
# Tests are named by sentences, and `#expect(throws:)` returns the error that was thrown: both need Swift 6.2. The package
# in .build/older is this one (links), with translated tests: the test `a sentence` is named test_a_sentence there, and
# functions (Expectations.swift) stand for `#expect` and `#require`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

copy=.build/older
mkdir -p "$copy/Tests"
ln -sfn .. "$copy/.build"
for name in *; do [[ $name == Tests ]] || ln -sfn "../../$name" "$copy/$name"; done
# The tests look for reference data beside the package.
[[ ! -e ../shared ]] || ln -sfn "$(realpath ../shared)" .build/shared

# Only what changed is written, so that only that is built again.
while IFS= read -r file; do
    [[ $file -nt $copy/$file || Tests/Older/swift.sh -nt $copy/$file ]] || continue
    mkdir -p "$copy/${file%/*}"
    if [[ $file == *.swift && ! -L $file ]]; then
        perl -0777 -pe '
            s{func\s+`([^`]+)`}{"func test_" . $1 =~ s/\W+/_/gr}ge;
            s{#(expect|require)\b}{$1Older}g;' "$file" >"$copy/$file"
    else
        cp -dT "$file" "$copy/$file"
    fi
done < <(find Tests ! -type d ! -path 'Tests/Older/*')
for target in "$copy"/Tests/*Tests; do ln -sf ../../../../Tests/Older/Expectations.swift "$target/"; done
ln -sfn ../../../Tests/Older "$copy/Tests/Older"
# What the sources no longer have.
find "$copy/Tests" -type f | while IFS= read -r file; do [[ -e ${file#"$copy/"} ]] || rm "$file"; done

cd "$copy"
exec swift "$@"
