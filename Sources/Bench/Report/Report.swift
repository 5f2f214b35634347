import CommandLineParsing
import Foundation

/// Results as a page with charts: one HTML file without scripts, which needs no other file.
struct Report {
    struct Section {
        let title: String
        /// What to look at.
        let text: String
        var charts: [any Chart] = []
        /// A header and rows.
        var table: [[String]] = []
    }

    let title: String
    /// What was measured, and on which machine.
    let facts: [String]
    let sections: [Section]

    static let option = Option(
        "--report", value: "FILE", help: "also write the results as a page with charts (HTML, without scripts)")

    var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title.escaped)</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <h1>\(title.escaped)</h1>
        <p class="facts">\(facts.map(\.escaped).joined(separator: "<br>\n"))</p>
        \(sections.map(\.html).joined(separator: "\n"))
        </body>
        </html>

        """
    }

    /// - Throws: `BenchError` if the file cannot be written.
    func write(to path: String) throws {
        do { try Data(html.utf8).write(to: URL(fileURLWithPath: path)) } catch {
            throw BenchError("--report: cannot write '\(path)': \(error.localizedDescription)")
        }
    }

    private static let style = """
        :root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6875; --line: #dde3e9; --page: #fff; --noise: #e3e7ec;
          --s0: #1f6fb4; --s1: #c4560c; --s2: #3a8a3f; --s3: #8a4fa8; --s4: #a8324a; --s5: #007c83; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e4e9ef; --soft: #9aa7b4; --line: #35404b; --page: #161c22; --noise: #303a45;
            --s0: #6db3ee; --s1: #f19a5a; --s2: #83c987; --s3: #c79be0; --s4: #ea8798; --s5: #5cc6cd; } }
        body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 72rem;
          margin: 2rem auto; padding: 0 1rem; }
        h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 0; }
        p { margin: .25rem 0 .75rem; max-width: 48rem; } .facts { color: var(--soft); }
        .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1rem 2rem; }
        figure { margin: 0; max-width: 40rem; }
        figcaption { font-weight: 600; } svg { width: 100%; height: auto; display: block; overflow: visible; }
        svg text { font: 12px system-ui, sans-serif; fill: var(--soft); } svg text.value { fill: var(--ink); paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
        .grid { stroke: var(--line); } .axis { stroke: var(--soft); } .noise { fill: var(--noise); }
        .wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; margin-top: .75rem; }
        th, td { padding: .2rem .75rem .2rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
        @media (max-width: 40rem) { svg text { font-size: 16px; } }
        th:first-child, td:first-child { text-align: left; } th { color: var(--soft); font-weight: 600; }
        """
}

extension Report.Section {
    fileprivate var html: String {
        let figures = charts.map { chart in
            "<figure><figcaption>\(chart.title.escaped)</figcaption>\n\(chart.svg)\n</figure>"
        }
        let rows = table.enumerated().map { index, cells in
            let tag = index == 0 ? "th" : "td"
            return "<tr>" + cells.map { "<\(tag)>\($0.escaped)</\(tag)>" }.joined() + "</tr>"
        }
        return """
            <h2>\(title.escaped)</h2>
            <p>\(text.escaped.replacing("\n", with: "<br>\n"))</p>
            <div class="charts">\(figures.joined(separator: "\n"))</div>
            """ + (rows.isEmpty ? "" : "\n<div class=\"wide\"><table>\n\(rows.joined(separator: "\n"))\n</table></div>")
    }
}

extension String {
    /// For HTML's text and attributes.
    var escaped: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
