import Testing

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
}
