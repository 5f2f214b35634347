import HTTP
import JSON
import LocalLLM
import Template
import Tokenizer
import Wire

// Paths and fields of llama.cpp's server.

/// `POST /tokenize`
@Sendable func tokenize(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(TokenizeRequest.self, from: context.body)
    let tokenizer = try await services.lease(body.model, for: context, takesAdapters: true).model.tokenizer
    let tokens = tokenizer.encode(
        body.content, addSpecial: body.addSpecial ?? false, parseSpecial: body.parseSpecial ?? true)
    var list = LongList(count: tokens.count) { tokens[$0] }
    if body.withPieces == true {
        // Long texts repeat their tokens, and encoding takes the most time.
        var pieces: [Int32: [UInt8]] = [:]
        for token in tokens where pieces[token] == nil {
            pieces[token] = try JSON.encode(
                TokenPiece(id: token, bytes: tokenizer.bytes(of: token, includingControl: true)))
        }
        list = LongList(count: tokens.count, values: 2) { [pieces] range in
            Array(tokens[range].map { pieces[$0] ?? [] }.joined(separator: ",".utf8))[...]
        }
    }
    return try .json(["tokens": [Int32]()], filling: ["tokens": [list]])
}

/// `POST /detokenize`
@Sendable func detokenize(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(DetokenizeRequest.self, from: context.body)
    let model = try await services.lease(body.model, for: context, takesAdapters: true).model
    let tokens = try model.checked(body.tokens.map(\.value), at: "tokens")
    return try .json(["content": try model.tokenizer.decode(tokens, includingControl: true)])
}

/// `POST /apply-template`: the prompt of a chat, without the beginning of a call that `tool_choice` forces.
@Sendable func applyTemplate(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(ChatCompletionRequest.self, from: context.body).validated()
    let model = try await services.lease(body.model, for: context, takesAdapters: true).model
    let request = try ConversationRequest(rendering: body)
    let prompt = try await preparing(context) { try model.rendered(request, isQuoted: false) }
    return try .json(["prompt": prompt])
}

extension LanguageModel {
    /// The tokens of an input of texts and ids. Special tokens are added before a text at the beginning.
    func tokens(of pieces: [PromptInput.TextOrToken], at path: String) throws -> [Int32] {
        let tokenizer = try tokenizer
        return try pieces.enumerated().flatMap { index, piece -> [Int32] in
            switch piece {
            case .text(let text):
                tokenizer.encode(text, addSpecial: index == 0, parseSpecial: true)
            case .token(let id):
                try checked([id], at: path, first: index)
            }
        }
    }

    /// Checks that ids are in the model's vocabulary.
    ///
    /// - Parameter first: Index of the first id in the request's list.
    func checked(_ ids: [Int64], at path: String, first: Int = 0) throws(APIError) -> [Int32] {
        if let index = ids.firstIndex(where: { !(0..<Int64(info.vocabularySize)).contains($0) }) {
            throw .invalid(
                "\(path)[\(first + index)]", "expected a token id below \(info.vocabularySize), found \(ids[index])")
        }
        return ids.map { Int32($0) }
    }
}

/// A token with its text, or with its bytes if they are not valid UTF-8.
private struct TokenPiece: Encodable {
    let id: Int32
    let bytes: [UInt8]

    enum CodingKeys: CodingKey { case id, piece }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        if let text = String(validating: bytes, as: UTF8.self) {
            try container.encode(text, forKey: .piece)
        } else {
            try container.encode(bytes, forKey: .piece)
        }
    }
}
