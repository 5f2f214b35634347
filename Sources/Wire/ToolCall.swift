import JSON

/// A tool call in a response's message, in a delta, or in an assistant message of a request.
package struct ToolCall: Codable, Sendable, Equatable {
    /// A call of a function.
    package struct Function: Codable, Sendable, Equatable {
        /// Only in the first delta of a call.
        package var name: String?
        /// JSON arguments; in a delta, a piece of them. In a request, clients may send an object as well, or null for
        /// none.
        package var arguments: String?

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decodeIfPresent(String.self, forKey: .name)
            do {
                arguments = try container.decodeIfPresent(String.self, forKey: .arguments)
            } catch {
                let json = try container.decode(JSON.self, forKey: .arguments)
                guard case .object = json else { throw error }
                arguments = json.text
            }
        }

        package init(name: String? = nil, arguments: String? = nil) {
            self.name = name
            self.arguments = arguments
        }
    }

    /// A call of a custom tool, which takes text.
    package struct Custom: Codable, Sendable, Equatable {
        package var name: String?
        package var input: String?

        package init(name: String? = nil, input: String? = nil) {
            self.name = name
            self.input = input
        }
    }

    /// Index of the call in its message; only in deltas.
    package var index: Int?
    /// `id` and `type` are set in a call's first delta only.
    package var id: String?
    /// `function` or `custom`.
    package var type: String?
    package var function: Function?
    package var custom: Custom?

    package init(
        index: Int? = nil, id: String? = nil, type: String? = nil, function: Function? = nil, custom: Custom? = nil
    ) {
        self.index = index
        self.id = id
        self.type = type
        self.function = function
        self.custom = custom
    }

    /// The name under which the model knows a tool: with its namespace, if it has one.
    package static func name(_ name: String, in namespace: String?) -> String {
        guard let namespace, !namespace.isEmpty else { return name }
        return namespace + (namespace.hasSuffix("__") ? "" : "__") + name
    }
}
