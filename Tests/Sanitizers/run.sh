#!/bin/bash
# The test suite under a sanitizer:  run.sh address|thread [swift test options, e.g. --filter HTTPTests]
#
# Works on a copy of the tree, with its own build folder, both kept in ${SANITIZER_DIR:-.build/sanitizers} for the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=${1:?address or thread}; shift
work=$(realpath -m "${SANITIZER_DIR:-.build/sanitizers}/$kind")
mkdir -p "$work"
rm -rf "$work/Sources" "$work/Tests" # What was taken out of the tree since the last run.
tar --exclude=.build --exclude=.git -cf - . | tar -xf - -C "$work"
[[ -e ../shared ]] && ln -sfn "$(realpath ../shared)" "$(dirname "$work")/shared"
cd "$work"
case $kind in
address)
    # The Swift runtime keeps what it allocates once until the process ends, and the library itself handles SIGBUS.
    export ASAN_OPTIONS=detect_leaks=0:handle_sigbus=0
    ;;
thread)
    # ThreadSanitizer does not see the locking of Synchronization.Mutex: each module gets one that it does.
    grep -rl --include='*.swift' 'Mutex' Sources Tests | grep -v Sanitizers | cut -d/ -f1,2 | sort -u |
        while read -r module; do cp -p Tests/Sanitizers/PthreadMutex.swift "$module/"; done
    export TSAN_OPTIONS="halt_on_error=0 exitcode=66 handle_sigbus=0 suppressions=$PWD/Tests/Sanitizers/thread.suppressions"
    ;;
*) echo "address or thread, not $kind" >&2; exit 2 ;;
esac
# Slowed down several times, tests that wait for one another's turn run out of time unless few run at once.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-4}
exec swift test -c release -Xswiftc -enable-testing --sanitize="$kind" "$@"
