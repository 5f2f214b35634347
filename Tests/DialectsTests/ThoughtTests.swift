import Dialects
import Testing

/// Answers of models whose templates say nothing else: thoughts between `<think>` and `</think>`, white space around them left out.
@Suite struct ThoughtTests {
    private func split(_ pieces: [String], after prompt: String = "") -> (
        reasoning: String, content: String, start: Int?
    ) {
        var parser = AnswerParser(Dialect(), tools: [], after: prompt)
        var result = (reasoning: "", content: "")
        for (index, piece) in pieces.enumerated() {
            for delta in parser.read(piece) + (index == pieces.count - 1 ? parser.finish() : []) {
                if case .reasoning(let text) = delta { result.reasoning += text }
                if case .content(let text) = delta { result.content += text }
            }
        }
        return (result.reasoning, result.content, parser.contentStart)
    }

    @Test(arguments: [
        ("<think>\nA\n\nb\n</think>\n\nC <think> d", "A\n\nb", "C <think> d", 23),
        (" \n<think>A</think>B", "A", "B", 18),
        ("no thoughts", "", "no thoughts", 0), ("\n no", "", "\n no", 0), ("<thin", "", "<thin", 0),
        ("<think></think>x", "", "x", 15), ("<think>a < b </thinks> c</think>d", "a < b </thinks> c", "d", 32),
        ("<thinker>", "", "<thinker>", 0),
    ])
    func `wherever the pieces are cut`(_ text: String, _ reasoning: String, _ content: String, _ start: Int) {
        let characters = text.map(String.init)
        for first in 0...characters.count {
            for second in first...characters.count {
                let result = split([
                    characters[..<first].joined(), characters[first..<second].joined(), characters[second...].joined(),
                    "",
                ])
                #expect(result.reasoning == reasoning)
                #expect(result.content == content)
                #expect(result.start == start)
            }
        }
    }

    @Test func `what is cut off in the middle of thoughts is thoughts`() {
        let result = split(["<think>A", " b</th"])
        #expect(result.reasoning == "A b</th")
        #expect(result.content.isEmpty)
        #expect(result.start == nil)
    }

    @Test func `a prompt that ends with the tag opens the thoughts`() {
        #expect(split(["A</think>B"], after: "x<think>\n").reasoning == "A")
        #expect(split(["A</think>B"], after: "<think>\n\n</think>\n\n").content == "A</think>B")
    }

    @Test func `text is not held back longer than it must be`() {
        var parser = AnswerParser(Dialect(), tools: [], after: "<think>")
        #expect(parser.read("Hello ") == [.reasoning("Hello")])
        #expect(parser.read("you <") == [.reasoning(" you")])
        #expect(parser.read("b") == [.reasoning(" <b")])
        #expect(parser.isReasoning)
    }
}
