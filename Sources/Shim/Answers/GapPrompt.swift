import LocalLLM
import Tokenizer
import Wire

/// The texts around a gap that the model fills.
struct Gap: Sendable {
    var before: [Int32]
    var after: [Int32]
    /// Other files as context.
    var files: [LlamaCompletionFields.ExtraFile] = []
}

extension LanguageModel {
    /// The prompt for filling a gap, in llama.cpp's order; `nil` if the vocabulary has no tokens for it.
    ///
    ///     [begin] [repository] myproject⏎ [file] name⏎ text … [file] filename⏎ [prefix] before [suffix] after [middle]
    ///
    /// The names of the repository and of the file with the gap are llama.cpp's, since no client sends them. Without a
    /// token for files, a line separates their texts. If the context is too small, the first tokens of the other files are
    /// left out.
    ///
    /// - Parameter maximumTokens: Tokens of the answer to leave room for.
    func tokens(around gap: Gap, maximumTokens: Int) throws(LocalModelError) -> [Int32]? {
        let tokenizer = try tokenizer
        guard let marks = tokenizer.fillInMiddle else { return nil }
        var context: [Int32] = []
        if let repository = marks.repository { context += [repository] + tokenizer.encode(plain: "myproject\n") }
        for file in gap.files {
            context +=
                marks.file.map { [$0] + tokenizer.encode(plain: "\(file.filename ?? "tmp")\n") }
                ?? tokenizer.encode(plain: "\n\n--- snippet ---\n\n")
            context += tokenizer.encode(plain: file.text)
        }
        if let file = marks.file { context += [file] + tokenizer.encode(plain: "filename\n") }
        let begin =
            tokenizer.addsBeginningOfSequence ? [tokenizer.beginningOfSequence].compactMap { $0 } : []
        let rest = [marks.prefix] + gap.before + [marks.suffix] + gap.after + [marks.middle]
        let room = contextSize - begin.count - rest.count - max(1, maximumTokens)
        return begin + context.suffix(max(0, room)) + rest
    }
}

extension TextTokenizer {
    /// The tokens of a part of a text: nothing is added, and control tokens in it are text.
    func encode(plain text: String) -> [Int32] { encode(text, addSpecial: false, parseSpecial: false) }
}
