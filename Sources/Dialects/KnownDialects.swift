extension Dialect {
    /// Kimi K2's notation, and DeepSeek R1's in templates that cannot render calls.
    private static let kimi = CallSyntax(
        open: [.text("<|tool_calls_section_begin|>")], each: [.text("<|tool_call_begin|>"), .text("functions.")],
        eachClose: [.text("<|tool_call_end|>")], close: [.text("<|tool_calls_section_end|>")],
        body: .header([.name, .text(":"), .number, .text("<|tool_call_argument_begin|>")], .json))
    private static let deepSeek = CallSyntax(
        open: [.text("<｜tool▁calls▁begin｜>")], each: [.text("<｜tool▁call▁begin｜>"), .text("function<｜tool▁sep｜>")],
        eachClose: [.text("```"), .text("<｜tool▁call▁end｜>")], close: [.text("<｜tool▁calls▁end｜>")],
        body: .header([.name, .text("```json")], .json))

    /// Notations of calls that models use though their templates do not show them.
    static func known(besides derived: [CallSyntax], _ source: String) -> [CallSyntax] {
        let object = CallSyntax.Body.object(ObjectKeys())
        let bareObject = CallSyntax(body: object)
        let bareList = CallSyntax(body: .pythonic)
        guard let first = derived.first else {
            let own = [kimi, deepSeek].filter { $0.open.compactMap(\.text).allSatisfy(source.contains) }
            return own + [
                CallSyntax(open: [.text("<|tool_call_start|>")], close: [.text("<|tool_call_end|>")], body: .pythonic),
                CallSyntax(each: [.text("<tool_call>")], eachClose: [.text("</tool_call>")], body: object),
                CallSyntax(open: [.text("<|tool_call|>")], body: object),
                bareObject, bareList,
            ]
        }
        guard first.open.isEmpty, first.each.isEmpty, case .object(let keys) = first.body else { return [] }
        // Llama 3's template shows bare objects; the model also writes its code interpreter's marker before them, a tag
        // with the name, and lists.
        return [
            CallSyntax(each: [.text("<|python_tag|>")], body: .object(keys)),
            CallSyntax(
                each: [.text("<function=")], eachClose: [.text("</function>")],
                body: .header([.name, .text(">")], .json)),
            bareList,
        ]
    }
}
