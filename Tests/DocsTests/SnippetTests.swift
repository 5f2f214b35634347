import Foundation
import TestSupport
import Testing

/// Type-checks the Swift code of the documentation, and tries its commands.
struct SnippetTests {
    @Test func `Each block of Swift in the documentation compiles`() async throws {
        var blocks = try Snippet.all().filter { $0.language == "swift" }
        #expect(blocks.count > 10)
        #if !LOCALLLM_MACROS
            blocks.removeAll { $0.lines.contains { $0.contains("@Generable") } }
        #endif
        for error in try await errors(in: blocks) { Issue.record("\(error)") }
    }

    @Test func `A block that does not compile is reported with its page and line`() async throws {
        let text = """
            ```swift
            import FoundationModels
            let session = LanguageModelSession(instructions: "Be brief.")
            ```
            Then:
            <!-- given: question: String -->
            ```swift
            struct Answer {
                var text: String
            }
            let answer = Answer(text: try await session.respond(to: question).content)
            ```
            """
        let errors = try await errors(in: Snippet.blocks(of: text, page: "docs/page.md"))
        #expect(errors == ["docs/page.md:11:37: error: cannot find 'session' in scope"], "\(errors)")
    }

    @Test func `Swift is marked as Swift`() throws {
        let swift = #/^(import [A-Z]|let \w+ = |for try await |struct \w+)/#
        for block in try Snippet.all() where block.language != "swift" && block.language != "python" {
            #expect(!block.lines.contains { $0.contains(swift) }, "\(block.place)")
        }
    }

    @Test func `Commands in the documentation use options that the programs have`() async throws {
        var helps: [[String]: String] = [:]
        var commands = 0
        for block in try Snippet.all() where ["bash", nil].contains(block.language) {
            for words in block.commands {
                guard let program = Program(rawValue: words[0].replacing(".build/release/", with: "")) else { continue }
                let subcommand = Array(words.dropFirst().prefix(1).filter { $0.wholeMatch(of: /[a-z][a-z-]*/) != nil })
                let name = [program.rawValue] + subcommand
                if helps[name] == nil { helps[name] = try await program.run(subcommand + ["--help"]).text }
                for option in words.compactMap({ $0.wholeMatch(of: #/(--?[A-Za-z][a-z-]*)(=.*)?/#)?.1 }) {
                    let isListed = helps[name]!.split(separator: #/[\s,\[\]|]+/#).contains(option)
                    #expect(isListed, "\(block.place): `\(name.joined(separator: " "))` has no \(option)")
                }
                commands += 1
            }
        }
        #expect(commands > 20)
    }

    /// The requests run against a server with the bundled model. `make` prints what it would run. The other commands
    /// take long or download: only their options are checked, by the test above.
    @Test func `Commands in the README work`() async throws {
        let blocks = try Snippet.all().filter { $0.page == "README.md" && $0.language != "swift" }
        for block in blocks {
            #expect(block.language == "bash", "\(block.place)")
            for words in block.commands {
                let command = words.joined(separator: " ")
                switch words[0] {
                case "make":
                    // An outer `make` passes its own options on.
                    let script = "unset MAKEFLAGS MAKELEVEL; cd '\(repository.path)' && make -n \(command.dropFirst(5))"
                    let result = try await bash(script)
                    #expect(result.code == 0 && result.text.contains("swift build"), "\(result.complaints)")
                case "curl":
                    guard try await bash("command -v curl").code == 0 else {
                        print("skipped: '\(command)' needs curl")
                        continue
                    }
                    let result = try await bash(
                        """
                        coproc server { exec '\(Program.shim.url.path)' --port 0 \
                            --model '\(repository.path)/models/hearth-4m.gguf' 2>&1; }
                        trap 'kill $server_PID; wait' EXIT
                        read -r _ _ url <&${server[0]}
                        \(command.replacing("http://127.0.0.1:8080", with: "$url"))
                        """)
                    #expect(result.text.contains("Paris"), "\(result.text) \(result.complaints)")
                default:
                    #expect(Program(rawValue: words[0].replacing(".build/release/", with: "")) != nil, "\(command)")
                }
            }
        }
    }

    private func bash(_ script: String) async throws -> Program.Result {
        try await Program.run(URL(filePath: "/usr/bin/env"), ["bash", "-c", script])
    }

    /// Type-checks all blocks in one run of the compiler, against the modules of the build that this test is part of.
    private func errors(in blocks: [Snippet]) async throws -> [String] {
        let folder = try TemporaryDirectory()
        var shown: [String: [String]] = [:]
        var files: [String] = []
        for block in blocks {
            let source = block.source(importing: shown[block.page, default: []])
            files.append(try folder.write(Array(source.utf8), as: "\(files.count).swift"))
            shown[block.page, default: []] += block.imports
        }
        let build = Program.shim.url.deletingLastPathComponent().path
        // A link where the tests are translated (Tests/Older), and a link has no files.
        let sources = repository.appending(path: "Sources").resolvingSymlinksInPath().path
        let maps = (FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String } ?? [])
            .filter { $0.hasSuffix("/module.modulemap") }
            .flatMap { ["-I", "\(sources)/\($0.dropLast("/module.modulemap".count))"] }
        // The features keep what one file imports out of the others. Manifests are compiled like SwiftPM does.
        let compiler = """
            resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\\(.*\\)".*/\\1/p')
            exec swiftc -typecheck -wmo -suppress-warnings -diagnostic-style llvm -swift-version 6 -enable-upcoming-feature MemberImportVisibility \
                -I '\(build)/Modules' -load-plugin-executable '\(build)/LocalLLMMacros-tool#LocalLLMMacros' \
                -I "$resources/pm/ManifestAPI" -package-description-version 6.2.0 "$@"
            """
        let result = try await Program.run(
            URL(filePath: "/usr/bin/env"), ["bash", "-c", compiler, "swiftc"] + maps + files)
        let errors = result.complaints.split(separator: "\n").map(String.init).filter { $0.contains(": error: ") }
        return errors.isEmpty && result.code != 0 ? [result.complaints] : errors
    }
}

extension Snippet {
    /// The block's commands as words, without comments, redirections and quotes' meaning: continued lines are joined.
    fileprivate var commands: [[String]] {
        lines.joined(separator: "\n").replacing("\\\n", with: " ").split(separator: "\n").compactMap { line in
            let words = line.replacing(#/\s+#\s.*/#, with: "").split(separator: " ").map(String.init)
            return words.isEmpty ? nil : words
        }
    }
}
