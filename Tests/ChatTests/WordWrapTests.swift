import CEdit
import Testing

@testable import Chat

@Suite struct WordWrapTests {
    init() { edit_use_utf8() }

    /// What is shown of a text that comes in pieces of `size` scalars.
    private func wrapped(_ text: String, width: Int, size: Int) -> String {
        var wrap = WordWrap(width: width)
        var shown = ""
        var rest = Array(text.unicodeScalars)[...]
        while !rest.isEmpty {
            var piece = String.UnicodeScalarView()
            piece.append(contentsOf: rest.prefix(size))
            shown += wrap.add(String(piece))
            rest = rest.dropFirst(size)
        }
        return shown + wrap.finish()
    }

    @Test(arguments: 1...9) func `a line ends between words, whatever the pieces`(size: Int) {
        #expect(wrapped("the quick brown fox", width: 10, size: size) == "the quick \nbrown fox")
        #expect(wrapped("one\ntwo  three", width: 10, size: size) == "one\ntwo  three")
        #expect(wrapped("ein größeres Wort", width: 12, size: size) == "ein größeres\nWort")
    }

    @Test(arguments: 1...4) func `a word longer than the line stays whole`(size: Int) {
        #expect(wrapped("see https://example.org/a now", width: 8, size: size) == "see \nhttps://example.org/a\nnow")
    }

    @Test func `a script without spaces is broken between its characters, which take two columns`() {
        #expect(wrapped("日本語のテキスト", width: 6, size: 2) == "日本語\nのテキ\nスト")
    }

    @Test(arguments: 1...5) func `code is left as it is`(size: Int) {
        let text = "Look:\n```swift\nlet aVeryLongName = 1 + 2\n```\nand this is text"
        #expect(
            wrapped(text, width: 10, size: size)
                == "Look:\n```swift\nlet aVeryLongName = 1 + 2\n```\nand this \nis text")
    }
}
