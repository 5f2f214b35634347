#!/usr/bin/env bash
# Measures the house: lines, types and public names of each target, and how many files know of one sampler, one wire
# format and one option, which is about how many a new one would touch.
#
#   Tests/House/measure.sh [FOLDER]     FOLDER: another state of the repository, for a comparison
#
# Counts sources, not a build: a type is a declared struct, enum, class, actor or protocol, also a nested one; a public
# name is a declaration that says `public` or `open` (members of a public extension and cases of an enum do not).
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}/Sources"

{
    find . -name '*.swift' -type f | sort | xargs awk '
        BEGIN {
            words = "(public|open|package|internal|private|fileprivate|final|indirect|nonisolated|static|@[A-Za-z]+(\\([^)]*\\))?)"
            type = "^ *(" words " +)*(struct|enum|class|actor|protocol) +[A-Z`]"
            exported = "^ *(@[A-Za-z]+(\\([^)]*\\))? +)*(public|open) +[a-z]"
        }
        FNR == 1 { split(FILENAME, path, "/"); target = path[2]; files[target]++ }
        { lines[target]++ }
        $0 ~ type { types[target]++ }
        $0 ~ exported && !/public (import|extension) / { names[target]++ }
        END { for (target in lines) print target, files[target], lines[target], types[target] + 0, names[target] + 0 }
    ' | sort
} | awk '
    BEGIN { format = "%-20s %7s %8s %7s %13s\n"; printf format, "target", "files", "lines", "types", "public names" }
    { printf format, $1, $2, $3, $4, $5; files += $2; lines += $3; types += $4; names += $5 }
    $1 ~ /^(Shim|Wire|Client)$/ { some["files"] += $2; some["lines"] += $3; some["types"] += $4; some["names"] += $5 }
    END {
        printf format, "all", files, lines, types, names
        printf format, "Shim+Wire+Client", some["files"], some["lines"], some["types"], some["names"]
    }'

# What is counted, the pattern, and where.
count() {
    local files
    files=$(grep -rliE "$2" --include='*.swift' --include='*.js' "${@:3}" 2>/dev/null | sort) || true
    printf '\n%s: %d files\n' "$1" "$(grep -c . <<<"$files" || true)"
    sed 's/^/  /' <<<"$files"
}
count 'know of the sampler top_n_sigma' 'top_?n_?sigma' .
count "know of the wire format of Anthropic's messages" \
    'v1/messages|messages?(request|answer|format|encoder)|anthropic' .
count 'know of the option --cache-type' '"--cache-type|\bcacheType\b' .
count 'set up an answer of the model themselves' '\bSamplingOptions\(|\.generate\(' Shim Chat Bench LocalLLM/API
