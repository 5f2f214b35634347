package import Foundation
package import JSON

/// A message of a request or an answer in Ollama's form.
package struct OllamaMessage: Codable, Sendable, Equatable {
    package struct Call: Codable, Sendable, Equatable {
        package struct Function: Codable, Sendable, Equatable {
            /// Number of the call in its message; only in answers.
            package var index: Int?
            package var name: String
            /// An object. Some clients send its JSON text.
            package var arguments: JSON?

            package init(index: Int? = nil, name: String, arguments: JSON?) {
                (self.index, self.name, self.arguments) = (index, name, arguments)
            }

            package static func == (one: Self, other: Self) -> Bool {
                one.index == other.index && one.name == other.name && one.arguments?.text == other.arguments?.text
            }
        }

        /// Clients may omit it.
        package var id: String?
        package var function: Function

        package init(id: String?, function: Function) { (self.id, self.function) = (id, function) }
    }

    package var role: String
    package var content: String?
    /// An assistant's reasoning.
    package var thinking: String?
    /// Base64 of image files.
    package var images: [String]?
    package var toolCalls: [Call]?
    /// The tool whose result a message of role `tool` is.
    package var toolName: String?
    /// The call that a message of role `tool` answers.
    package var toolCallID: String?

    enum CodingKeys: String, CodingKey {
        case role, content, thinking, images
        case toolCalls = "tool_calls"
        case toolName = "tool_name"
        case toolCallID = "tool_call_id"
    }

    package init(role: String, content: String) { (self.role, self.content) = (role, content) }

    func validate(at path: String, _ seesImages: Bool) throws(APIError) {
        guard ["system", "user", "assistant", "tool"].contains(role) else {
            throw .invalid("\(path).role", "expected system, user, assistant or tool, found \"\(role)\"")
        }
        if role != "assistant", toolCalls?.isEmpty == false {
            throw .invalid("\(path).tool_calls", "only an assistant calls tools")
        }
        for (index, call) in (toolCalls ?? []).enumerated() where call.function.name.isEmpty {
            throw .init(missing: "\(path).tool_calls[\(index)].function.name")
        }
        if images?.isEmpty == false, role != "user", role != "tool" {
            throw .invalid("\(path).images", "only messages of a user or a tool have images")
        }
        try Self.check(images: images, at: "\(path).images", seesImages)
    }

    static func check(images: [String]?, at path: String, _ seesImages: Bool) throws(APIError) {
        guard let images, !images.isEmpty else { return }
        if !seesImages, let refusal = MessageContent.Images.unseen.refusal {
            throw APIError(
                status: 400, kind: .invalidRequest, message: "\(path): \(refusal)", param: path,
                code: "unsupported_parameter")
        }
        if let index = images.firstIndex(where: { file(of: $0) == nil }) {
            throw .invalid("\(path)[\(index)]", "expected the base64 text of an image file")
        }
    }

    /// The decoded images of a validated message.
    package var imageFiles: [Data] { Self.files(of: images) }

    package static func files(of images: [String]?) -> [Data] { (images ?? []).compactMap { file(of: $0) } }

    private static func file(of image: String) -> Data? {
        let file = Data(base64Encoded: image) ?? MessageContent.ImageURL(url: image).file
        return file?.isEmpty == true ? nil : file
    }
}
