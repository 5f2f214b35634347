import Foundation
package import JSON

/// Body of `POST /v1/responses/compact`: the fields of a responses request that say what was said.
package struct CompactRequest: Codable, Sendable {
    package var model: String?
    package var input: ResponseInput?
    package var instructions: String?
    package var previousResponseID: String?

    enum CodingKeys: String, CodingKey {
        case model, input, instructions
        case previousResponseID = "previous_response_id"
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    package func validated(seesImages: Bool) throws(APIError) -> Self {
        guard input != nil || previousResponseID != nil else { throw APIError(missing: "input") }
        try input?.validate(seesImages)
        return self
    }
}

/// A summary in the place of a conversation.
package enum Compaction {
    /// What the message says before a summary.
    package static let introduction = "Summary of the conversation so far:\n\n"

    /// Tells these summaries from those of other servers, which only they can read.
    private static let mark = "localllm1:"

    /// A summary as clients keep it. The name of the field says that it is encrypted; here the client's own conversation is
    /// not a secret from the client.
    package static func content(_ summary: String) -> String { mark + Data(summary.utf8).base64EncodedString() }

    /// The summary in an item; `nil` if another server wrote it.
    package static func summary(_ content: String) -> String? {
        guard content.hasPrefix(mark), let data = Data(base64Encoded: String(content.dropFirst(mark.count))) else {
            return nil
        }
        return String(data: data, encoding: .utf8)
    }
}

/// Response of `POST /v1/responses/compact`.
package struct CompactedResponse: Encodable, Sendable {
    package var id: String
    package var object = "response.compaction"
    package var createdAt: Int
    /// The user's messages, and a compaction item.
    package var output: [JSON]
    package var usage: ModelResponse.Usage

    enum CodingKeys: String, CodingKey {
        case id, object, output, usage
        case createdAt = "created_at"
    }

    /// - Parameters:
    ///   - messages: The user's messages, each with an id.
    ///   - summary: What takes the place of everything else.
    package init(
        id: String, at time: Int, messages: [ResponseItemList.Item], summary: String, itemID: String, usage: TokenUsage
    ) throws {
        (self.id, createdAt) = (id, time)
        output =
            try messages.map { try JSON(encoding: $0) } + [
                [
                    "id": .string(itemID), "type": "compaction",
                    "encrypted_content": .string(Compaction.content(summary)),
                ]
            ]
        self.usage = ModelResponse.Usage(usage)
    }
}
