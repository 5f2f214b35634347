import Foundation
import TestSupport
import Testing

/// The documentation names files and folders that exist.
struct LinkTests {
    @Test func `Each link and each path in the documentation leads to a file or folder`() throws {
        let pages = try Snippet.pages().filter { $0 != "CHANGELOG.md" }  // it tells of what was
        let link = #/\]\((?<path>[A-Za-z0-9_.\/-]+)(#[a-z0-9_-]+)?\)/#
        let path = #/\b(?<path>(Sources|Tests)\/[A-Za-z0-9_.\/+-]*[A-Za-z0-9_])/#
        var count = 0
        for page in pages {
            let text = try String(contentsOf: repository.appending(path: page), encoding: .utf8)
            let folder = repository.appending(path: page).deletingLastPathComponent()
            let targets =
                text.matches(of: link).map { folder.appending(path: String($0.path)) }
                + text.matches(of: path).map { repository.appending(path: String($0.path)) }
            for target in targets {
                #expect(FileManager.default.fileExists(atPath: target.path), "\(page): \(target.path) does not exist")
            }
            count += targets.count
        }
        #expect(count > 100)
    }
}
