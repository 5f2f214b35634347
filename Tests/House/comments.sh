#!/usr/bin/env bash
# Names what is public and has no documentation comment: types of the libraries, and members of the two modules that apps import.
# What a protocol requires and says the meaning of, one of Swift's or of these modules, needs no comment where it is implemented.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

find Sources/{FoundationModels,LocalLLM,Client,Constraint,Template,Tokenizer} -name '*.swift' -type f | sort | xargs awk '
    BEGIN {
        members = "^Sources/(FoundationModels|LocalLLM)/"
        words = "^(@[A-Za-z_]+(\\([^)]*\\))? +)*((public|static|final|indirect|mutating|nonmutating|nonisolated|isolated|weak) +)*"
        type = words "(struct|enum|class|protocol|actor) "
        declaration = words "(func|var|let|init|subscript|associatedtype|typealias|macro|case|struct|enum|class|protocol|actor)[^A-Za-z]"
        required = \
            "func (==|<|hash\\(into|encode\\(to|makeAsyncIterator\\(|next\\(|review\\(|respond\\(|prewarm\\()" \
            "|init\\((from decoder|rawValue|stringLiteral|configuration: Configuration\\)|_ content: GeneratedContent\\) throws)" \
            "|(var|let) (description|debugDescription|errorDescription|failureReason|recoverySuggestion|rawValue|startIndex|endIndex" \
            "|generationSchema|generatedContent|promptRepresentation|instructionsRepresentation|executorConfiguration|capabilities" \
            "|name: String \\{ String|includesSchemaInInstructions: Bool \\{ true|parameters: GenerationSchema \\{|body: Never)" \
            "|typealias (Element|Index|Indices|SubSequence|Output|PartiallyGenerated|Body) "
    }
    FNR == 1 { depth = documented = text = 0; delete kind }
    text { text = !/"""/; documented = 0; next }
    {
        code = $0
        sub(/^ +/, "", code)
        isComment = code ~ /^\/\/\//
        gsub(/\\"/, "", code)
        gsub(/"[^"]*"/, "s", code)
        sub(/\/\/.*/, "", code)
        if (code ~ /"/) { text = 1; sub(/".*/, "", code) }

        isPublic = code ~ /(^|[ )])public / && code !~ /public (import|extension) /
        isRequirement = kind[depth] == "protocol" && code ~ declaration
        isCase = kind[depth] == "enum" && code ~ /^(indirect )?case /
        isMember = FILENAME ~ members && (isPublic && code !~ required || isRequirement || isCase)
        if (!documented && (isMember || isPublic && code ~ type)) {
            print FILENAME ":" FNR ": no comment: " $0
            missing = 1
        }
        # Attributes stand between a comment and its declaration, some of them in several lines or for a compiler only.
        isBetween = code ~ /^(@|#if|#endif)/ && code !~ declaration || inAttribute
        documented = isComment || documented && isBetween
        if (code ~ /^@[A-Za-z_]+\($/) inAttribute = 1
        if (code ~ /^\)/) inAttribute = 0

        opened = ""
        if (isPublic && code ~ type) opened = code ~ /(^| )enum / ? "enum" : code ~ /(^| )protocol / ? "protocol" : ""
        count = split(code, characters, "")
        for (i = 1; i <= count; i++) {
            if (characters[i] == "{") { kind[++depth] = opened; opened = "" }
            if (characters[i] == "}") delete kind[depth--]
        }
    }
    END { exit missing }'
