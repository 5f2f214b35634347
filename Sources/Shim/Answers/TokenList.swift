import LocalLLM
import Tokenizer

/// A token of a choice, with how likely the model found it.
struct ListedToken: Sendable, Equatable {
    var id: Int32
    /// `nil` for the first token of a text, which nothing comes before.
    var logprob: Double?
    var top: [TokenLogprob.Alternative] = []
    /// Where its text begins in that of the choice, in Unicode code points.
    var offset: Int
}

/// Hands out the tokens of a choice in step with its text.
///
/// A token is listed once the text that begins with it has been sent. So those of a stop string, of which nothing is
/// sent, are never listed, nor is the token that ends the generation.
struct TokenList: Sendable {
    private var decoder: StreamingDecoder
    /// The text of the tokens that have come, in bytes and in code points.
    private var bytes = 0
    private var scalars: Int
    private var sentBytes = 0
    private var waiting: [(start: Int, token: ListedToken)] = []

    /// - Parameters:
    ///   - offset: Code points of the choice that come before the generated text.
    ///   - continuesText: As in the `SamplingOptions` of the generation.
    init(_ tokenizer: TextTokenizer, offset: Int = 0, continuesText: Bool = false) {
        decoder = StreamingDecoder(tokenizer, continuesText: continuesText)
        scalars = offset
    }

    /// The tokens of a given text.
    static func tokens(
        of ids: [Int32], _ logprobs: [TokenLogprob], in text: String, _ tokenizer: TextTokenizer
    ) -> [ListedToken] {
        let bytes = ids.map { tokenizer.bytes(of: $0, includingControl: true) }
        let lengths = bytes.map { $0.count { !isContinuation($0) } }
        // What the tokens have and the text has not comes first: the token that a model begins with, or a space.
        var offset = text.unicodeScalars.count - lengths.reduce(0, +)
        return ids.indices.map { index in
            let isInsideCharacter = bytes[index].first.map(isContinuation) ?? false
            defer { offset += lengths[index] }
            let known = index > 0 ? logprobs[index - 1] : nil
            return ListedToken(
                id: ids[index], logprob: known?.logprob, top: known?.top ?? [],
                offset: max(0, isInsideCharacter ? offset - 1 : offset))
        }
    }

    /// - Parameter contentStart: Bytes of the generated text before those that count; `nil` while none does.
    mutating func read(_ piece: GenerationPiece, contentStart: Int?) -> [ListedToken] {
        for logprob in piece.logprobs {
            let token = ListedToken(id: logprob.token, logprob: logprob.logprob, top: logprob.top, offset: scalars)
            waiting.append((bytes, token))
            let text = decoder.decode(logprob.token)
            bytes += text.utf8.count
            scalars += text.unicodeScalars.count
        }
        sentBytes += piece.text.utf8.count
        guard let contentStart else { return [] }
        let ready = waiting.prefix { $0.start < sentBytes }
        waiting.removeFirst(ready.count)
        return ready.filter { $0.start >= contentStart }.map(\.token)
    }
}

/// Whether a byte of UTF-8 goes on with a character that has begun.
private func isContinuation(_ byte: UInt8) -> Bool { byte & 0xc0 == 0x80 }
