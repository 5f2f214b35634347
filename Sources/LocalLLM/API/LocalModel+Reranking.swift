import Tokenizer

extension LocalModel {
    /// A query and a document as one input of a reranker: as the file's template `rerank` puts them, or with the tokens
    /// between them that the tokenizer declares (`[CLS] query [SEP] document [SEP]`).
    ///
    /// Nothing that either text says becomes a control token.
    ///
    /// - Throws: `noTokenizer`.
    public func rerankTokens(query: String, document: String) throws(LocalModelError) -> [Int32] {
        let tokenizer = try tokenizer
        guard let template = format.rerankTemplate else { return tokenizer.encodePair(query, document) }
        var prompt = ""
        var rest = template[...]
        // Both at once: a query may contain the words "{document}".
        while let brace = rest.firstIndex(of: "{") {
            prompt += rest[..<brace]
            let (name, text) = rest[brace...].hasPrefix("{query}") ? ("{query}", query) : ("{document}", document)
            if rest[brace...].hasPrefix(name) {
                prompt += tokenizer.quote(text)
                rest = rest[brace...].dropFirst(name.count)
            } else {
                prompt += "{"
                rest = rest[brace...].dropFirst()
            }
        }
        return tokenizer.encode(quoted: prompt + rest)
    }
}
