package import Dialects
package import Template

/// The tools that a conversation offers: what the template prints, what may be called, and how.
package struct ToolOffer: Sendable {
    package enum Choice: Sendable, Equatable {
        case none, auto, required
        case named(String)
    }

    /// Definitions in the chat endpoint's form, on which models are trained.
    package var definitions: [TemplateValue] = []
    /// The tools that may be called.
    package var declared: [DeclaredTool] = []
    /// The same tools with the schemas of their arguments.
    package var callable: [CallableTool] = []
    /// What errors call a tool's schema, such as the field of a request, by the tool's name.
    package var fields: [String: String] = [:]
    /// Tools that take text instead of JSON.
    package var custom: Set<String> = []
    package var choice = Choice.auto
    package var allowsSeveralCalls = true
    /// Whether an answer that is nothing but JSON may be calls.
    package var readsBareCalls = true

    package init() {}

    /// The definitions that the model sees.
    var shown: [TemplateValue] { choice == .none ? [] : definitions }

    /// Whether the model can call anything.
    var areCallable: Bool { choice != .none && !declared.isEmpty }

    /// Forced beginning of an answer that must be a call: its markers, and the name if only one tool may be called.
    func forcedBeginning(_ dialect: Dialect, after prompt: String) -> String {
        guard areCallable, choice != .auto else { return "" }
        return dialect.callBeginning(name: declared.count == 1 ? declared[0].name : nil, after: prompt)
    }
}
