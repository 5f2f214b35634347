import JSON

/// An item of a tool that OpenAI's API runs itself, in the history of a responses request: another server, or the
/// upstream, wrote it. This server runs no such tools.
///
/// The fields of each type follow OpenAI's specification of the responses API.
package struct HostedItem: Codable, Sendable {
    /// Fields that an item must have, by its type.
    static let required: [String: [String]] = [
        "web_search_call": [], "image_generation_call": [], "file_search_call": [], "code_interpreter_call": [],
        "mcp_call": ["name", "arguments"], "mcp_list_tools": [], "mcp_approval_request": [],
        "mcp_approval_response": [], "local_shell_call": ["action"], "local_shell_call_output": ["output"],
        "shell_call": ["action"], "shell_call_output": ["output"], "apply_patch_call": ["operation"],
        "apply_patch_call_output": [], "tool_search_call": ["arguments"], "tool_search_output": ["tools"],
        "compaction": [], "compaction_summary": [],
    ]

    private let members: JSON.Object

    package init(from decoder: any Decoder) throws { members = try JSON.Object(from: decoder) }

    package func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

    private var type: String { text("type") ?? "" }

    func validate(at path: String) throws(APIError) {
        for name in Self.required[type] ?? [] where text(name) == nil { throw .init(missing: "\(path).\(name)") }
    }

    /// What the model sees of the item: an assistant's call, a call's result, or both. Empty for items without a result
    /// that could be shown: a search whose results are in the answer behind it, an image, encrypted text.
    var messages: [RequestMessage] {
        switch type {
        case "file_search_call": text("results").map { exchange("file_search", arguments("queries"), $0) } ?? []
        case "code_interpreter_call": exchange("code_interpreter", arguments("code"), text("outputs") ?? "")
        case "mcp_call":
            exchange(text("name") ?? "", text("arguments") ?? "{}", text("output") ?? text("error") ?? "")
        case "local_shell_call": [call("local_shell", text("action") ?? "{}")]
        case "shell_call": [call("shell", text("action") ?? "{}")]
        case "apply_patch_call": [call("apply_patch", text("operation") ?? "{}")]
        case "tool_search_call": [call("tool_search", text("arguments") ?? "{}")]
        case "local_shell_call_output", "shell_call_output": [result(text("output") ?? "")]
        case "apply_patch_call_output": [result(text("output") ?? text("status") ?? "")]
        case "tool_search_output": [result(text("tools") ?? "[]")]
        case "compaction", "compaction_summary":
            text("encrypted_content").flatMap { Compaction.summary($0) }
                .map { [RequestMessage(role: "user", content: .text(Compaction.introduction + $0))] } ?? []
        default: []
        }
    }

    /// Id that a call and its result share. Calls that OpenAI's API runs itself may have no `call_id`.
    private var callID: String { text("call_id") ?? text("id") ?? "hosted" }

    private func exchange(_ name: String, _ arguments: String, _ text: String) -> [RequestMessage] {
        [call(name, arguments), result(text)]
    }

    private func call(_ name: String, _ arguments: String) -> RequestMessage {
        var message = RequestMessage(role: "assistant", content: nil)
        message.toolCalls = [
            ToolCall(id: callID, type: "function", function: .init(name: name, arguments: arguments))
        ]
        return message
    }

    private func result(_ text: String) -> RequestMessage {
        var message = RequestMessage(role: "tool", content: .text(text))
        message.toolCallID = callID
        return message
    }

    /// A JSON object with this member.
    private func arguments(_ name: String) -> String {
        JSON.object([name: members[name] ?? .null]).text
    }

    /// A string's text, or another value's JSON; `nil` if it is absent or null.
    private func text(_ name: String) -> String? {
        guard let value = members[name], !value.isNull else { return nil }
        return value.string ?? value.text
    }
}
