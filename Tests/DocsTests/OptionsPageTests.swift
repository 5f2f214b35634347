import CommandLineParsing
import Foundation
import TestSupport
import Testing

@testable import AppGateway
@testable import Bench
@testable import Chat
@testable import Shim

/// docs/options.md has the options and metrics that the programs have.
struct OptionsPageTests {
    private let page = repository.appendingPathComponent("docs/options.md")

    @Test func `The page of options and metrics is what the programs have`() throws {
        let text = try String(contentsOf: page, encoding: .utf8)
        let marker = try #require(
            text.range(of: "<!-- The rest is written by OptionsPageTests: [^\n]*\n", options: .regularExpression))
        let tables = "\n" + Self.tables
        if ProcessInfo.processInfo.environment["UPDATE_DOCS"] != nil {
            try Data((text[..<marker.upperBound] + tables).utf8).write(to: page)
            return
        }
        let found = Set(text[marker.upperBound...].split(separator: "\n"))
        let expected = Set(tables.split(separator: "\n"))
        #expect(expected.subtracting(found).isEmpty, "missing in docs/options.md")
        #expect(found.subtracting(expected).isEmpty, "in docs/options.md only")
        #expect(text[marker.upperBound...] == tables)
    }

    @Test func `The page names each key of a model in the configuration file`() throws {
        let text = try String(contentsOf: page, encoding: .utf8)
        for key in ConfigFile.modelKeys + SamplingOption.recommended.map(\.key) {
            #expect(text.contains("`\(key)`"), "\(key)")
        }
    }

    @Test func `The page of models has the models that are known by a short name`() throws {
        let page = try String(contentsOf: repository.appendingPathComponent("docs/models.md"), encoding: .utf8)
        let rows = KnownModel.all.map { ["`\($0.name)`", $0.repository, $0.quantization, size($0.bytes), $0.licence] }
        let table = Self.table(rows, header: ["name", "repository", "quantization", "size", "licence"])
        #expect(page.contains("\n\(table)\n"), "docs/models.md needs this table:\n\(table)")
    }

    @Test func `The chat page proposes the models that are known by a short name`() throws {
        let page = try String(
            contentsOf: repository.appendingPathComponent("Sources/Shim/Page/Files/index.html"), encoding: .utf8)
        for model in KnownModel.all {
            let option = #"<option value="\#(model.name)" data-bytes="\#(model.bytes)">\#(model.summary)</option>"#
            #expect(page.contains(option), "\(option)")
        }
    }

    private static var tables: String {
        let commands = Bench.commands.map {
            "### bench \($0.name)\n\n\($0.summary)\n\n" + table(Bench.allOptions(of: $0).dropLast())
        }
        let scripts = ScriptCommand.all.map {
            "### chat \($0.name)\n\n\($0.summary)\n\n" + table($0.groups.options)
        }
        let metrics = MetricFamily.all.map { family in
            [
                "`\(family.name)`", family.kind.rawValue, family.labels.map { "`\($0)`" }.joined(separator: ", "),
                family.help,
            ]
        }
        return """
            ## shim

            \(table(Options.all(.apps)))

            ## chat

            \(table(Chat.options))

            \(scripts.joined(separator: "\n\n"))

            ## bench

            \(commands.joined(separator: "\n\n"))

            ## Metrics

            `GET /metrics`, in the text format of Prometheus. Counters start at 0 with the server; the labels `model` and `model_name`
            have the id of `/v1/models`. Metrics of `vllm:` are for routers (deploy/README.md).

            \(table(metrics, header: ["metric", "type", "labels", "meaning"]))

            """
    }

    private static func table(_ options: some Sequence<Option>) -> String {
        let rows = options.map { option in
            [
                option.names.map { "`\($0)\(option.value.map { value in " " + value } ?? "")`" }.joined(
                    separator: ", "), option.help,
            ]
        }
        return rows.isEmpty ? "No options." : table(rows, header: ["option", "meaning"])
    }

    private static func table(_ rows: [[String]], header: [String]) -> String {
        ([header, header.map { _ in "---" }] + rows).map { row in
            "| " + row.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
        }.joined(separator: "\n")
    }
}
