import Foundation
import KernelFormats
import Testing
import Tokenizer

@testable import LocalLLM

private let fixtures: [URL] = {
    let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let folder = package.deletingLastPathComponent().appendingPathComponent("shared/fixtures")
    return ["architectures", "quants", "models", "vocabs"].flatMap { name in
        let contents = try? FileManager.default.contentsOfDirectory(
            at: folder.appendingPathComponent(name), includingPropertiesForKeys: nil)
        return (contents ?? []).filter { $0.pathExtension == "gguf" }.sorted { $0.path < $1.path }
    }
}()

/// Files that others wrote, where they are at hand.
@Suite(.enabled(if: !fixtures.isEmpty, "needs ../shared/fixtures"))
struct GGUFFixtureTests {
    @Test(arguments: fixtures)
    func `a file written by llama cpp or the gguf package opens`(url: URL) throws {
        let file = try GGUFFile(path: url.path)
        let architecture = try file.metadata.string("general.architecture")
        if url.path.contains("/vocabs/") {
            #expect(file.tensors.isEmpty)
        } else {
            #expect(try file.metadata.int("\(architecture).block_count") > 0)
            #expect(file.tensorIfPresent("token_embd.weight") != nil)
            // The last tensor ends where the file does.
            #expect(file.tensors.map(\.range.upperBound).max().map { file.byteCount - $0 < 32 } == true)
        }
        if let description = try file.metadata.tokenizerDescription() {
            #expect(!description.tokens.isEmpty)
        }
        _ = try file.metadata.chatTemplates()
    }
}
