#!/usr/bin/env bash
# Names each public type of the libraries that has no documentation comment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

find Sources/{FoundationModels,LocalLLM,Client,Constraint,Template,Tokenizer} -name '*.swift' -type f | sort | xargs awk '
    /^ *public ((final|indirect) )*(struct|enum|class|protocol|actor) / && !documented {
        print FILENAME ":" FNR ": no comment: " $0
        missing = 1
    }
    # Attributes stand between a comment and its declaration.
    !/^ *@/ { documented = /^ *\/\/\// }
    END { exit missing }'
