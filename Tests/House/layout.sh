#!/usr/bin/env bash
# Checks what docs/layout.md claims about who uses whom, against the sources. The claims are read from the page.
#
#   Tests/House/layout.sh             names each claim that does not hold
#   Tests/House/layout.sh --print     the tables as they would have to be
#
# A target uses a module that one of its files imports. A folder of a target uses another one if a file mentions a type
# that the other declares at the top level of a file. Members in extensions are not seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# The uses of the sources, a line each: the user and the used.
imports() {
    find -L Sources -name '*.swift' -type f | sort | xargs awk '
        /^ *(@[a-z_A-Z]+ +|public +|package +|internal +)*import +/ {
            split(FILENAME, path, "/")
            user = path[2] == "Kernels" || path[3] == "Program" ? path[2] "/" path[3] : path[2]
            name = $NF
            sub(/\..*/, "", name)
            if (!seen[user, name]++) print user, name
        }'
}

# Of the folders in one target. Files beside the folders count as the folder "(top)".
mentions() {
    # Each file is read twice: for what it declares, then for what it mentions.
    find "Sources/$1" -name '*.swift' -type f | sort | { mapfile -t files; awk '
        function strip(line) {
            if (line ~ /^ *\/\//) return ""
            gsub(/\\./, "", line)
            if (gsub(/"""/, "", line) % 2) quoted = !quoted
            else if (quoted) return ""
            gsub(/"[^"]*"/, "", line)
            sub(/\/\/.*/, "", line)
            return line
        }
        FNR == 1 {
            parts = split(FILENAME, path, "/")
            folder = parts > 3 ? path[3] : "(top)"
            quoted = 0
        }
        { code = strip($0) }
        !second && match(code, /(struct|enum|class|actor|protocol|typealias|associatedtype) +[A-Z][A-Za-z0-9_]*/) {
            name = substr(code, RSTART, RLENGTH)
            sub(/.* /, "", name)
            own[folder, name] = 1
            if (code ~ /^[a-z@]/) {
                if (!(name in owner)) owner[name] = folder
                else if (owner[name] != folder) owner[name] = "several"
            }
        }
        second {
            gsub(/\.[A-Za-z_][A-Za-z0-9_]*/, " ", code)
            count = split(code, words, /[^A-Za-z0-9_]+/)
            for (i = 1; i <= count; i++) {
                name = words[i]
                if (!(name in owner) || (folder, name) in own || owner[name] == "several") continue
                if (!seen[folder, owner[name], name]++) print folder, owner[name], name, path[parts]
            }
        }' "${files[@]}" second=1 "${files[@]}"; }
}

page=docs/layout.md
# Rows of the table below a heading, as uses: `user` | `used`, `used` |
claims() {
    awk -v heading="$1" '
        /^#/ { inside = $0 ~ heading }
        inside && /^\| `/ {
            split($0, cells, "|")
            gsub(/[` ]/, "", cells[2])
            count = split(cells[3], used, ",")
            for (i = 1; i <= count; i++) {
                gsub(/[` ]/, "", used[i])
                if (used[i] != "") print cells[2], used[i]
            }
        }' "$page" | sort -u
}
table() { awk '{ row[$1] = row[$1] (row[$1] == "" ? "" : ", ") "`" $2 "`" } END { for (u in row) print "| `" u "` | " row[u] " |" }' | sort; }

# Modules of this package: its folders, the folders of Kernels under their modules' names, and module maps.
modules=$(find Sources -name module.modulemap | sed 's,/module.modulemap,,; s,.*/,,'; ls Sources;
    ls Sources/Kernels | sed 's/^Formats$/KernelFormats/; t; s/^/Kernels/')
targets=$(imports | awk 'NR == FNR { own[$1]; next } $2 in own' <(echo "$modules") - | sort -u)
shim=$(mentions Shim | cut -d' ' -f1,2 | sort -u)
if [[ ${1:-} == --print ]]; then
    table <<<"$targets"
    echo
    table <<<"$shim"
    exit
fi

failed=0
compare() {  # heading, uses
    local name=$1
    while read -r user used; do
        echo "$page, \"$name\": no file of \`$user\` uses \`$used\`"
        failed=1
    done < <(claims "$name" | comm -23 - <(echo "$2"))
    while read -r user used; do
        echo "$page, \"$name\": \`$user\` uses \`$used\`, which the table does not say"
        failed=1
    done < <(claims "$name" | comm -13 - <(echo "$2"))
}
compare 'Which target uses which' "$targets"
compare 'Which folder of the server uses which' "$shim"

# LocalLLM: the folders in the order of the page's tree; each may use those below it, and a few types from above.
order=$(awk '/^  LocalLLM\// { inside = 1; next } /^  [A-Z]/ { inside = 0 } inside && /^    [A-Z][A-Za-z]*\// { sub(/\/.*/, ""); print $1 }' "$page")
allowed=$(sed -n 's/.*except the type \(.*\) (checked).*/\1/p' "$page" | tr -d '`,')
[[ -n $order && -n $allowed ]] || { echo "$page: the folders of LocalLLM or the types that all may use are missing"; exit 1; }
while read -r user used type file; do
    echo "$page: LocalLLM/$user uses $used/, which is above it: $type in $file"
    failed=1
done < <(mentions LocalLLM | awk -v order="$(tr '\n' ' ' <<<"$order")" -v allowed="$allowed" '
    BEGIN { n = split(order, folders, " "); for (i = 1; i <= n; i++) place[folders[i]] = i
            n = split(allowed, types, " "); for (i = 1; i <= n; i++) exempt[types[i]] }
    !($3 in exempt) && (!($1 in place) || !($2 in place) || place[$2] < place[$1])')
for folder in Sources/LocalLLM/*/; do
    grep -qx "$(basename "$folder")" <<<"$order" || { echo "$page: $folder is missing"; failed=1; }
done
exit $failed
