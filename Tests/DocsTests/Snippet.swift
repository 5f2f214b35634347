import Foundation

/// The repository's folder.
let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

/// A code block of a page of the documentation, fenced or indented.
///
/// A comment in front of a fence names what the text around it takes for granted, separated by semicolons: modules, and
/// values with their types. Readers of the page do not see it.
///
///     <!-- given: import LocalLLM; model: LocalModel; messages: [ChatMessage] -->
struct Snippet {
    /// The page's path in the repository.
    var page: String
    /// Number of the first line of code in the page.
    var line: Int
    /// What follows the opening fence; `nil` for an indented block.
    var language: String?
    /// Without the indentation of the block.
    var lines: [String] = []
    var given: [String] = []

    var place: String { "\(page):\(line)" }

    /// The Markdown pages, by their paths in the repository.
    static func pages() throws -> [String] {
        try ["", "docs/", "deploy/", "models/"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: repository.appending(path: folder).path).sorted()
                .filter { $0.hasSuffix(".md") }.map { folder + $0 }
        }
    }

    static func all() throws -> [Snippet] {
        try pages().flatMap { page in
            blocks(of: try String(contentsOf: repository.appending(path: page), encoding: .utf8), page: page)
        }
    }

    static func blocks(of text: String, page: String) -> [Snippet] {
        var blocks: [Snippet] = []
        var given: [String] = []
        var fence: (block: Snippet, indentation: Int)?
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            let indentation = line.prefix { $0 == " " }.count
            if let (block, _) = fence, trimmed == "```" {
                blocks.append(block)
                fence = nil
            } else if let open = fence {
                fence?.block.lines.append(String(line.dropFirst(min(open.indentation, indentation))))
            } else if trimmed.hasPrefix("```") {
                let language = String(trimmed.dropFirst(3))
                fence = (Snippet(page: page, line: index + 2, language: language, given: given), indentation)
                given = []
            } else if let items = trimmed.wholeMatch(of: #/<!-- given: (.*) -->/#)?.1 {
                given = items.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            } else if indentation >= 4, let last = blocks.last, last.language == nil,
                last.line + last.lines.count == index + 1
            {
                blocks[blocks.count - 1].lines.append(String(line.dropFirst(4)))
            } else if indentation >= 4 {
                blocks.append(Snippet(page: page, line: index + 1, lines: [String(line.dropFirst(4))]))
            }
        }
        return blocks + (fence.map { [$0.block] } ?? [])
    }
}

extension Snippet {
    private static func isImport(_ line: String) -> Bool { line.contains(#/^(@testable )?import /#) }

    /// The modules that the block imports, as it writes it.
    var imports: [String] { lines.filter(Self.isImport) }

    /// The block as a source file: types in a namespace of its own, extensions beside it, statements in a function.
    ///
    /// Errors of the compiler name the page and the line in it.
    ///
    /// - Parameter shown: Imports that the page has further up.
    func source(importing shown: [String]) -> String {
        let (type, attribute) = (
            #/^(@[A-Z]\w*(\(.*\))? )*((public|final|private) )?(struct|enum|class|actor|protocol|extension) /#,
            #/^@[A-Z]\w*(\(.*\))?$/#
        )
        // The three parts have every line of the block, so that line numbers hold: empty where it is another's.
        let empty = Array(repeating: "", count: lines.count)
        var (types, extensions, statements) = (empty, empty, empty)
        var index = 0
        while index < lines.count {
            let start = index
            index += 1
            if Self.isImport(lines[start]) { continue }
            guard lines[start].contains(type) || lines[start].contains(attribute) else {
                statements[start] = lines[start]
                continue
            }
            var opened = lines[start].contains("{")
            let isClosed = opened && lines[start].hasSuffix("}")
            while !isClosed, index < lines.count, !(opened && lines[index - 1].hasPrefix("}")) {
                opened = opened || lines[index].contains("{")
                index += 1
            }
            if lines[start].hasPrefix("extension ") {
                extensions.replaceSubrange(start..<index, with: lines[start..<index])
            } else {
                types.replaceSubrange(start..<index, with: lines[start..<index])
            }
        }
        let imports = Set(shown + imports + given.filter(Self.isImport)).sorted().joined(separator: "\n")
        let parameters = given.filter { !Self.isImport($0) }.joined(separator: ", ")
        func located(_ lines: [String]) -> String {
            "#sourceLocation(file: \"\(page)\", line: \(line))\n\(lines.joined(separator: "\n"))\n#sourceLocation()"
        }
        // Top-level code runs on the main actor, and so does the function.
        return """
            \(imports)
            \(located(extensions))
            enum Snippet_\(page.replacing(#/[^A-Za-z0-9]/#, with: "_"))_\(line) {
            \(located(types))
                @MainActor static func run(\(parameters)) async throws {
            \(located(statements))
                }
            }
            """
    }
}
