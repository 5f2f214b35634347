import TestSupport
import Testing

@testable import Engine
@testable import LocalLLM

@Suite struct StopFilterTests {
    /// Feeds `text` in pieces of `size` characters and returns what came out.
    private func filter(_ text: String, stops: [String], size: Int) -> (text: String, stopped: Bool) {
        var filter = StopFilter(stops)
        var result = ""
        var rest = text.unicodeScalars[...]
        while !rest.isEmpty, !filter.isStopped {
            result += filter.process(String(String.UnicodeScalarView(rest.prefix(size))))
            rest = rest.dropFirst(size)
        }
        return (result + filter.finish(), filter.isStopped)
    }

    @Test(arguments: 1...9)
    func `text ends before the stop string, however it is cut into pieces`(size: Int) {
        #expect(filter("Hello STOP world", stops: ["STOP"], size: size) == ("Hello ", true))
        #expect(filter("aab", stops: ["ab"], size: size) == ("a", true))
        #expect(filter("no such thing", stops: ["STOP"], size: size) == ("no such thing", false))
        #expect(filter("half a STO", stops: ["STOP"], size: size) == ("half a STO", false))
        #expect(filter("naïve café", stops: ["é"], size: size) == ("naïve caf", true))
    }

    @Test func `what could become a stop string is held back until it cannot`() {
        var filter = StopFilter(["</s>"])
        #expect(filter.process("a <") == "a ")
        #expect(filter.process("/") == "")
        #expect(filter.process("b>") == "</b>")
    }

    @Test func `of several stop strings the one that is complete first counts`() {
        var filter = StopFilter(["abcd", "bc"])
        #expect(filter.process("xabc") == "xa")
        #expect(filter.isStopped)
        #expect(filter.process("more") == "")
        #expect(filter.finish() == "")
    }

    @Test func `canonically equivalent is not equal`() {
        #expect(filter("cafe\u{301}!", stops: ["caf\u{e9}"], size: 1) == ("cafe\u{301}!", false))
    }

    @Test func `of stop strings that end together the longest counts`() {
        #expect(filter("xab", stops: ["b", "ab"], size: 1) == ("x", true))
    }

    /// Against the definition, on strings that begin inside each other as often as can be.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `any text ends where the definition says`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func text(_ length: Int) -> String { String((0..<length).map { _ in Bool.random(using: &random) ? "a" : "b" }) }
        let stops = (0..<3).map { _ in text(Int.random(in: 3...9, using: &random)) }
        let text = text(60)
        var expected = (text: text, stopped: false)
        for end in 0...text.count {
            let ending = stops.filter { text.prefix(end).hasSuffix($0) }.map(\.count)
            guard let longest = ending.max() else { continue }
            expected = (String(text.prefix(end - longest)), true)
            break
        }
        #expect(filter(text, stops: stops, size: Int.random(in: 1...5, using: &random)) == expected)
    }

    @Test func `a stop string that nearly comes again and again does not slow the text down`() {
        // Quadratic matching takes minutes for this.
        let stops = (1...4).map { String(repeating: "a", count: 4000 + $0) + "b" }
        var filter = StopFilter(stops)
        var count = 0
        let piece = String(repeating: "a", count: 64)
        for _ in 0..<1600 { count += filter.process(piece).utf8.count }
        #expect(count + filter.finish().utf8.count == 1600 * 64)
    }
}
