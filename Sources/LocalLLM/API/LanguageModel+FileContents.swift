public import Foundation
public import Tokenizer

extension LanguageModel {
    /// The tokenizer of a GGUF file, without loading a model: the file may hold a vocabulary only. `nil` where it has
    /// none.
    ///
    /// - Throws: `ModelFileError`
    public static func tokenizer(of url: URL) throws -> TextTokenizer? { try GGUFFile(path: url.path).tokenizer() }

    /// The chat template of a GGUF file, without loading a model; the default one where it has none.
    ///
    /// - Throws: `ModelFileError`
    public static func chatTemplate(of url: URL) throws -> ChatTemplate { try GGUFFile(path: url.path).chatTemplate() }
}
