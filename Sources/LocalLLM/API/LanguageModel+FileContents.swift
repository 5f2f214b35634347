public import Foundation
public import Tokenizer

extension LanguageModel {
    /// The tokenizer of a GGUF file, without loading a model: the file may hold a vocabulary only.
    ///
    /// - Throws: `ModelFileError`; `LanguageModelError.noTokenizer`, which says why, where it has none that can be used.
    public static func tokenizer(of url: URL) throws -> TextTokenizer {
        try TextFormat(GGUFFile(path: url.path)).tokenizer.get()
    }

    /// The chat template of a GGUF file, without loading a model; the default one where it has none.
    ///
    /// - Throws: `ModelFileError`; `LanguageModelError.templateFailed` for one that cannot be parsed.
    public static func chatTemplate(of url: URL) throws -> ChatTemplate {
        try TextFormat(GGUFFile(path: url.path)).template.get()
    }
}
