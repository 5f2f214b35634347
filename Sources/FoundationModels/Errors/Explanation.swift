/// What a model said when it declined, in the forms that errors show it.
struct Explanation: Sendable {
    let text: String
    var entries: [Transcript.Entry] = []

    var answer: LanguageModelSession.Answer {
        .init(content: GeneratedContent(text), entries: entries[...], usage: .init())
    }

    var stream: LanguageModelSession.ResponseStream<String> {
        .init { [answer] show in
            show(.init(content: answer.content))
            return answer
        }
    }
}
