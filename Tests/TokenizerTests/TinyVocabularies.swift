import TestSupport

@testable import Tokenizer

extension TokenizerDescription {
    /// A byte-level BPE: the 256 bytes in their own order, then what each merge makes, then the special tokens.
    ///
    /// - Parameter merges: Halves in the byte alphabet, where "Ġ" is the space.
    static func byteLevel(
        _ merges: [String] = [], pre: String? = "gpt-2", special: [(text: String, type: Int32)] = []
    ) -> TokenizerDescription {
        let alphabet = (0..<256).map { byte -> [UInt8] in
            let scalar = ByteAlphabet.bytes.firstIndex(of: Int16(byte)).flatMap { Unicode.Scalar(UInt32($0)) }
            return Array(String(scalar ?? "?").utf8)
        }
        let made = merges.map { Array($0.utf8).filter { $0 != UInt8(ascii: " ") } }
        var description = TokenizerDescription(
            model: "gpt2", tokens: alphabet + made + special.map { Array($0.text.utf8) })
        description.pre = pre
        description.merges = merges.map { Array($0.utf8) }
        description.types = Array(repeating: 1, count: alphabet.count + made.count) + special.map(\.type)
        return description
    }

    /// A SentencePiece vocabulary: `<unk>`, `<s>`, `</s>`, the 256 bytes, then the given pieces with their scores.
    static func sentencePiece(
        _ pieces: [(text: String, score: Float)], special: [(text: String, type: Int32)] = []
    ) -> TokenizerDescription {
        let bytes = (UInt8.min...UInt8.max).map { byteTokenText($0) }
        let first = ["<unk>", "<s>", "</s>"].map { Array($0.utf8) }
        var description = TokenizerDescription(
            model: "llama",
            tokens: first + bytes + pieces.map { Array($0.text.utf8) } + special.map { Array($0.text.utf8) })
        description.scores =
            Array(repeating: 0, count: first.count + bytes.count) + pieces.map(\.score) + special.map { _ in 0 }
        description.types =
            [2, 3, 3] + Array(repeating: 6, count: bytes.count) + pieces.map { _ in 1 } + special.map(\.type)
        return description
    }
}

extension TextTokenizer {
    /// The text of each token that `text` is encoded as.
    func pieces(_ text: String, addSpecial: Bool = false, parseSpecial: Bool = false) -> [String] {
        encode(text, addSpecial: addSpecial, parseSpecial: parseSpecial).map {
            String(decoding: bytes(of: $0, includingControl: true), as: UTF8.self)
        }
    }
}

extension SeededGenerator {
    /// Random text: some ASCII, some of everything else, white space and line ends among it.
    mutating func text(scalars: Int) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0x20...0x7E, 0x61...0x7A, 0x30...0x39, 0x09...0x0D, 0x20...0x20, 0x80...0x7FF, 0x800...0xD7FF,
            0xE000...0xFFFF, 0x10000...0x10FFFF, 0x4E00...0x9FFF, 0x1F300...0x1F6FF,
        ]
        var text = String.UnicodeScalarView()
        for _ in 0..<scalars {
            let range = ranges.randomElement(using: &self) ?? 0x20...0x20
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &self)) { text.append(scalar) }
        }
        return String(text)
    }
}
