import Foundation
import JSON
import TestSupport
import Testing

@testable import Wire

/// docs/api.md and the chat page have the fields of the table. With `UPDATE_DOCS=1` they are written.
struct FieldTablesTests {
    @Test(
        .serialized,
        arguments: [
            ("docs/api.md", "<!-- Written by FieldTablesTests: sampling. -->\n", "\n<!-- End. -->", Self.sampling),
            (
                "docs/api.md", "<!-- Written by FieldTablesTests: unsupported. -->\n", "\n<!-- End. -->",
                Self.unsupported
            ),
            (
                "Sources/Shim/Page/Files/index.html", "      <div class=\"fields\">\n", "\n      </div>",
                Self.settings(folded: false)
            ),
            (
                "Sources/Shim/Page/Files/index.html", "        <div class=\"fields more\">\n", "\n        </div>",
                Self.settings(folded: true)
            ),
        ])
    func `What the table says stands there`(_ file: String, _ start: String, _ end: String, _ text: String) throws {
        let url = repository.appendingPathComponent(file)
        let content = try String(contentsOf: url, encoding: .utf8)
        let opening = try #require(content.range(of: start))
        let closing = try #require(content.range(of: end, range: opening.upperBound..<content.endIndex))
        if ProcessInfo.processInfo.environment["UPDATE_DOCS"] != nil {
            let written = content.replacingCharacters(in: opening.upperBound..<closing.lowerBound, with: text)
            try Data(written.utf8).write(to: url)
        } else {
            #expect(
                content[opening.upperBound..<closing.lowerBound] == text, "\(file): make it anew with UPDATE_DOCS=1")
        }
    }

    @Test func `names are given once`() {
        let names = SamplingField.all.flatMap { $0.names.map(\.name) }
        #expect(Set(names).count == names.count)
    }

    private static var sampling: String {
        table(
            ["field", "value", "default", "meaning"],
            SamplingField.all.filter(\.isServed).map { field in
                let names = field.names.map { "`\($0.name)` (\($0.api.rawValue))" }.joined(separator: ", ")
                return [
                    names, field.kind.text,
                    field.standard.map { "`\($0.text)`" } ?? "", field.meaning,
                ]
            })
    }

    private static var unsupported: String {
        let apis = [SamplingField.API.vLLM, .llama]
        let rows = apis.map { api in
            let fields = SamplingField.all.filter { !$0.isServed && $0.name(in: api) != nil }.map { field in
                // Fields whose default is true change the answer when they are false.
                var name = field.name
                if case .unserved(let idle) = field.kind, idle.contains(.bool(true)) { name += ": false" }
                return "`\(name)`" + (field.meaning.isEmpty ? "" : " \(field.meaning)")
            }
            return [api.rawValue, fields.joined(separator: ", ")]
        }
        return table(["extensions of", "unsupported"], rows)
    }

    /// The page's fields: label, input with the default as its placeholder, meaning. `data-property` is the name under
    /// which `/props` has the value in force.
    private static func settings(folded: Bool) -> String {
        SamplingField.all.filter { $0.label != nil && $0.isFolded == folded }.map { field in
            let (id, about) = ("field-\(field.name)", "about-\(field.name)")
            let property = field.name(in: .llama) ?? field.name
            let attributes = [
                "id=\"\(id)\" name=\"\(field.name)\" \(field.kind.input)",
                field.standard.map { "placeholder=\"\($0.text)\"" },
                property == field.name ? nil : "data-property=\"\(property)\"", "aria-describedby=\"\(about)\"",
            ].compactMap(\.self).joined(separator: " ")
            let meaning = field.meaning.replacing("`", with: "").replacing("<", with: "&lt;")
            return """
                        <div><label for="\(id)">\(field.label ?? "")</label>
                          <input \(attributes)>
                          <small id="\(about)">\(meaning)</small></div>
                """
        }.joined(separator: "\n")
    }

    private static func table(_ header: [String], _ rows: [[String]]) -> String {
        ([header, header.map { _ in "---" }] + rows).map { row in
            "| " + row.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
        }.joined(separator: "\n")
    }
}

extension SamplingField.Kind {
    /// Attributes of the page's input.
    fileprivate var input: String {
        // The page's numbers are exact up to here.
        let exact: Int64 = 9_007_199_254_740_991
        switch self {
        case .number(let range):
            return "type=\"number\" min=\"\(short(range.lowerBound))\" max=\"\(short(range.upperBound))\" step=\"any\""
        case .count(let range):
            return """
                type="number" min="\(max(-exact, range.lowerBound))" max="\(min(exact, range.upperBound))" step="1"
                """
        default: return "type=\"text\""
        }
    }
}
