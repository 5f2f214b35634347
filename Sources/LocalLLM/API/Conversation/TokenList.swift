package import Tokenizer

/// A token of a choice with its log probability.
package struct ListedToken: Sendable, Equatable {
    package var id: Int32
    /// `nil` for the first token of a text, which the model does not predict.
    package var logprob: Double?
    package var top: [TokenLogprob.Alternative] = []
    /// Start of its text in the choice's text, in Unicode code points.
    package var offset: Int

    package init(id: Int32, logprob: Double?, top: [TokenLogprob.Alternative] = [], offset: Int) {
        (self.id, self.logprob, self.top, self.offset) = (id, logprob, top, offset)
    }
}

/// Lists the tokens of a choice in step with its text.
///
/// A token is listed once the first byte of its text has been sent. Tokens of a stop string and the end token are
/// therefore never listed.
package struct TokenList: Sendable {
    private var decoder: StreamingDecoder
    /// Length of the decoded text so far, in bytes and in code points.
    private var bytes = 0
    private var scalars: Int
    private var sentBytes = 0
    private var waiting: [(start: Int, token: ListedToken)] = []

    /// - Parameters:
    ///   - offset: Code points of the choice before the generated text.
    ///   - continuesText: See `SamplingOptions` of the generation.
    ///   - shown: Control tokens that are part of the generated text.
    package init(
        _ tokenizer: TextTokenizer, offset: Int = 0, continuesText: Bool = false, showing shown: Set<Int32> = []
    ) {
        decoder = StreamingDecoder(tokenizer, continuesText: continuesText, showing: shown)
        scalars = offset
    }

    /// The tokens of a prompt.
    static func tokens(
        of ids: [Int32], _ logprobs: [TokenLogprob], in text: String, _ tokenizer: TextTokenizer
    ) -> [ListedToken] {
        let bytes = ids.map { tokenizer.bytes(of: $0, includingControl: true) }
        let lengths = bytes.map { $0.count { !isContinuation($0) } }
        // Text in the tokens but not in `text` comes first: a begin token or a space.
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

    /// - Parameter contentStart: Offset in bytes of the content in the generated text; `nil` before it begins.
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

/// Whether a byte is a UTF-8 continuation byte.
private func isContinuation(_ byte: UInt8) -> Bool { byte & 0xc0 == 0x80 }
