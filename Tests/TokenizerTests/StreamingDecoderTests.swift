import TestSupport
import Testing

@testable import Tokenizer

@Suite struct StreamingDecoderTests {
    private func stream(_ tokenizer: TextTokenizer, _ ids: [Int32], continuesText: Bool = false) -> [String] {
        var decoder = StreamingDecoder(tokenizer, continuesText: continuesText)
        return ids.map { decoder.decode($0) } + [decoder.finish()]
    }

    @Test func `an incomplete character is held back`() throws {
        let tokenizer = try TextTokenizer(.byteLevel())
        let ids = Array("a🚀é".utf8).map { Int32($0) }
        #expect(stream(tokenizer, ids) == ["a", "", "", "", "🚀", "", "é", ""])
        #expect(stream(tokenizer, Array(ids.prefix(3))) == ["a", "", "", "\u{FFFD}"])
    }

    @Test func `pieces together are the whole text, also of bytes that are no UTF-8`() throws {
        let tokenizer = try TextTokenizer(.byteLevel())
        var random = SeededGenerator(seed: 23)
        let interesting: [UInt8] = [0x41, 0x80, 0x8F, 0x90, 0xA0, 0xBF, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF]
        for _ in 0..<2000 {
            let bytes = (0..<8).map { _ in interesting.randomElement(using: &random) ?? 0 }
            let pieces = stream(tokenizer, bytes.map { Int32($0) })
            let whole = String(decoding: bytes, as: UTF8.self)
            #expect(pieces.joined().unicodeScalars.elementsEqual(whole.unicodeScalars), "\(bytes)")
        }
    }

    @Test func `every cut of a text into tokens gives the same text`() throws {
        let text = "né 🚀 ok 你好"
        let bytes = Array(text.utf8)
        // One token for every part of the text that begins and ends anywhere.
        var description = TokenizerDescription(model: "llama", tokens: [])
        for start in bytes.indices {
            for end in (start + 1)...bytes.count { description.tokens.append(Array(bytes[start..<end])) }
        }
        description.addSpacePrefix = false
        let tokenizer = try TextTokenizer(description)
        func id(_ start: Int, _ end: Int) -> Int32? {
            description.tokens.firstIndex(of: Array(bytes[start..<end])).map { Int32($0) }
        }
        for first in 1..<bytes.count {
            for second in (first + 1)..<max(bytes.count, first + 2) where second < bytes.count {
                let ids = [id(0, first), id(first, second), id(second, bytes.count)].compactMap { $0 }
                let pieces = stream(tokenizer, ids)
                #expect(pieces.joined() == text)
                #expect(!pieces.joined().contains("\u{FFFD}"))
            }
        }
    }

    @Test func `the space that a model puts before text is not shown`() throws {
        let tokenizer = try TextTokenizer(.sentencePiece([("▁a", -1), ("▁", -2), ("a", -2)]))
        let ids = tokenizer.encode("a a", addSpecial: true, parseSpecial: false)
        #expect(stream(tokenizer, ids).joined() == "a a")
        #expect(tokenizer.decode(ids) == "a a")
        #expect(stream(tokenizer, ids, continuesText: true).joined() == " a a")
    }

    @Test func `ids that are no token are nothing`() throws {
        let tokenizer = try TextTokenizer(.byteLevel())
        for id in [-1, 256, .max, .min] as [Int32] {
            #expect(tokenizer.bytes(of: id).isEmpty)
            #expect(tokenizer.decode([id]).isEmpty)
            #expect(!tokenizer.isControl(id))
            #expect(stream(tokenizer, [id]).joined().isEmpty)
        }
    }
}
