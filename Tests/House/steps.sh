#!/usr/bin/env bash
# Shows that the steps of CONTRIBUTING.md, "Add a weight format" and "Add a sampler", and those of docs/layout.md, "Adding a family", name
# every place: adds one of each, and a mixer, to a copy of HEAD (`steps.py`), builds it with warnings as errors and runs its tests.
#
#   Tests/House/steps.sh [FOLDER]     FOLDER: where to build, and to keep what was built
#
# Not in CI: it takes as long as a first build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
copy=${1:-$(mktemp -d)}
[[ $# -gt 0 ]] || trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/.build"
find "$copy" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
git archive HEAD | tar -x -C "$copy"
python3 Tests/House/steps.py "$copy"
cd "$copy"
flags=(-c release --scratch-path .build/tests -Xswiftc -enable-testing -Xswiftc -gnone -Xswiftc -warnings-as-errors)
swift build "${flags[@]}" --build-tests
UPDATE_DOCS=1 swift test "${flags[@]}" --skip-build --filter FieldTablesTests >.build/docs.log 2>&1 || true
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 swift test "${flags[@]}" --skip-build \
    --filter 'KernelsTests|Steps|ReferenceFamily|Registry|Architectures|SamplerTests|SamplingDefinition|FieldTables|WireTests|DocsTests'
