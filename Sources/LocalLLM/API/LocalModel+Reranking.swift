import Tokenizer

extension LocalModel {
    /// A query and a document as one input of a reranker: rendered with the file's template `rerank`, or joined with
    /// the separator tokens that the tokenizer declares (`[CLS] query [SEP] document [SEP]`).
    ///
    /// Text is never parsed as control tokens.
    ///
    /// - Throws: `noTokenizer`.
    public func rerankTokens(query: String, document: String) throws(LocalModelError) -> [Int32] {
        let tokenizer = try tokenizer
        guard let template = format.rerankTemplate else { return tokenizer.encodePair(query, document) }
        var prompt = ""
        var rest = template[...]
        // Both placeholders in one pass: a query may contain the text "{document}".
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
