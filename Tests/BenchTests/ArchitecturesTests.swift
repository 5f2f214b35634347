import Foundation
import LocalLLM
import Testing

@testable import Bench

@Suite struct ArchitecturesTests {
    @Test func `docs/models.md shows the table that bench prints`() throws {
        let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: repository.appending(path: "docs/models.md"), encoding: .utf8)
        // After a change: bench architectures --markdown
        #expect(text.contains(ArchitecturesCommand.table))
    }

    @Test func `each architecture is listed once, with a kind`() {
        let names = Architecture.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 100 && names == names.sorted())
        #expect(Architecture.all.allSatisfy { !$0.kinds.isEmpty })
    }
}
