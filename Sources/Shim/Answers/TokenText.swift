import LocalLLM
import Tokenizer
import Wire

extension TextTokenizer {
    /// A token's text for responses: bytes of incomplete characters are written `\xNN`, as OpenAI does.
    func label(of id: Int32) -> String {
        let bytes = bytes(of: id, includingControl: true)
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var label = ""
        var (iterator, parser, offset) = (bytes.makeIterator(), Unicode.UTF8.ForwardParser(), 0)
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                label.unicodeScalars.append(Unicode.UTF8.decode(encoded))
                offset += encoded.count
            case .error(let length):
                for byte in bytes[offset..<offset + length] { label += "\\x" + String(byte, radix: 16) }
                offset += length
            case .emptyInput: return label
            }
        }
    }
}

/// JSON has no infinities; like OpenAI, uses -9999 for probability 0.
private func finite(_ logprob: Double) -> Double { max(-9999, logprob.isNaN ? -9999 : logprob) }

extension ChatLogprobs {
    init(_ tokens: [ListedToken], _ tokenizer: TextTokenizer) {
        func described(_ id: Int32, _ logprob: Double) -> Alternative {
            Alternative(
                token: tokenizer.label(of: id), logprob: finite(logprob),
                bytes: tokenizer.bytes(of: id, includingControl: true))
        }
        self.init(
            content: tokens.map { token in
                Token(
                    described(token.id, token.logprob ?? 0),
                    topLogprobs: token.top.map { described($0.token, $0.logprob) })
            })
    }
}

extension CompletionLogprobs {
    init(_ tokens: [ListedToken], _ tokenizer: TextTokenizer) {
        self.init()
        for token in tokens {
            let text = tokenizer.label(of: token.id)
            self.tokens.append(text)
            tokenLogprobs.append(token.logprob.map(finite))
            textOffset.append(token.offset)
            guard let logprob = token.logprob else {
                topLogprobs.append(nil)
                continue
            }
            // Different tokens may have the same text; the first, more likely one is kept.
            let alternatives = token.top.map { (tokenizer.label(of: $0.token), finite($0.logprob)) }
            topLogprobs.append(
                Dictionary(alternatives + [(text, finite(logprob))], uniquingKeysWith: { first, _ in first }))
        }
    }
}

extension ChoiceDelta {
    /// About as many JSON values as a token is listed with: its text, bytes and probability, and those of its alternatives.
    var valuesPerToken: Int { 8 * (1 + (tokens.last?.top.count ?? 0)) }
}
