public import Template

extension Dialect {
    /// Derives a model's notation of reasoning and tool calls from its chat template.
    ///
    /// The template renders sample conversations: with and without reasoning; with no call, one and two; with no
    /// argument, one and two, and values of each type. The text around the samples gives the markers. For what a
    /// template does not show, the most common notation is assumed; a few dialects that cannot be derived have parsers
    /// of their own.
    ///
    /// - Parameter variables: Variables of the template beside the conversation: `bos_token`, `eos_token`.
    public init(template: ChatTemplate, variables: TemplateObject = [:]) {
        self.init()
        let source = template.source
        var probe = Probe(template: template, variables: variables)
        if probe.render(probe.message(content: Probe.content)) == nil {
            // Old templates have other names for `tools`.
            let old = Self.oldVariables(tools: probe.tools, date: "Jan 01 2026")
            probe = Probe(template: template, variables: TemplateObject(variables.entries + old.entries))
        }
        history.argumentsAsText = Self.wantsText(&probe)
        history.showsTools = probe.render(nil, generation: true)?.contains(Probe.name1) ?? false
        var turn = Turn(probe)
        history.reasoningKey = turn.reasoningKey
        history.showsCalls = turn.call.map { $0.contains(Probe.name1) && $0.contains(Probe.key1) } ?? false
        var long = Probe.call1
        long.id = "call_0123456789abcdef"
        history.needsShortIDs = turn.call != nil && probe.render(probe.message(calls: [long])) == nil
        isHarmony = ["<|start|>", "<|channel|>", "<|message|>"].allSatisfy(source.contains)
        guard !isHarmony else { return }
        if turn.reasoned == nil, !source.contains("think>") {
            (thoughts.open, thoughts.close) = ("", "")
        }
        turn.readThoughts(&thoughts)
        turn.readContent(thoughts, &contentOpen, &contentClose, &turnEnd)
        if let syntax = CallDerivation(probe, turn, self, source).syntax() { calls = [syntax] }
        calls += Self.known(besides: calls, source)
        // Instructions then ask for this notation.
        if !history.showsTools, !calls.contains(where: { $0.each == Self.callInWords.each }) {
            calls.append(Self.callInWords)
        }
    }

    /// What templates from before `tools` and `strftime_now` read instead: `functions`, as JSON text, and `datetime`.
    package static func oldVariables(tools: TemplateValue?, date: String) -> TemplateObject {
        ["functions": .string(tools?.json ?? "[]"), "datetime": .string(date)]
    }

    /// Whether the template prints arguments correctly only if they are text.
    private static func wantsText(_ probe: inout Probe) -> Bool {
        for isText in [false, true] {
            probe.argumentsAsText = isText
            let text = probe.render(probe.message(calls: [Probe.call1]))
            guard let text, [Probe.name1, Probe.key1, Probe.value1].allSatisfy(text.contains) else { continue }
            // Printed as a Python object, or quoted twice.
            if text.contains("'\(Probe.key1)'") || text.contains("\\\"\(Probe.key1)") { continue }
            return isText
        }
        probe.argumentsAsText = false
        return false
    }
}

/// Renderings of the assistant's turn.
struct Turn {
    /// With content only; below: with reasoning, with a call, and the prompt for an answer.
    let content: [UInt8]?
    private(set) var reasoned: [UInt8]?
    let call: [UInt8]?
    let prompt: [UInt8]?
    private(set) var reasoningKey: String?
    /// Bytes of the renderings before the assistant's text.
    private(set) var start = 0

    init(_ probe: Probe) {
        func bytes(_ text: String?) -> [UInt8]? { text.map { Array($0.utf8) } }
        content = bytes(probe.render(probe.message(content: Probe.content)))
        call = bytes(probe.render(probe.message(calls: [Probe.call1])))
        prompt = bytes(probe.render(nil, generation: true))
        search: for calls in [[], [Probe.call1]] {
            for key in ["reasoning_content", "reasoning", "thinking"] {
                let content = calls.isEmpty ? Probe.content : ""
                let message = probe.message(content: content, thoughts: (key, Probe.thoughts), calls: calls)
                guard let text = probe.render(message), text.contains(Probe.thoughts) else { continue }
                (reasoned, reasoningKey) = (Array(text.utf8), key)
                break search
            }
        }
        // A template without support for parts prints them unchanged.
        if reasoned == nil, let text = probe.render(Self.parts), let place = Array(text.utf8).place(of: Probe.thoughts),
            !Array(text.utf8)[..<place].suffix(16).contains("thinking")
        {
            reasoned = Array(text.utf8)
        }
        start = commonBeginning([content, call, reasoned, prompt].compactMap(\.self))
    }

    /// A message with reasoning as a content part, for Mistral's templates.
    private static var parts: TemplateObject {
        [
            "role": .string("assistant"),
            "content": .array([
                .object(["type": .string("thinking"), "thinking": .string(Probe.thoughts)]),
                .object(["type": .string("text"), "text": .string(Probe.content)]),
            ]),
        ]
    }

    mutating func readThoughts(_ thoughts: inout Dialect.Thoughts) {
        guard let reasoned, let place = reasoned.place(of: Probe.thoughts), start <= place else { return }
        let after = place + Probe.thoughts.utf8.count
        let before = reasoned[start..<place]
        thoughts.afterOpen = trailingSpace(before)
        thoughts.open = trimmed(before)
        let end = reasoned.place(of: Probe.content, from: after)
        let rest = reasoned[after..<(end ?? reasoned.count)]
        guard let first = pieces(rest).first else { return }
        thoughts.close = end == nil ? first : trimmed(rest)
        thoughts.beforeClose = leadingSpace(rest)
        thoughts.afterClose = end == nil ? "" : trailingSpace(rest)
        if let content, let end = content.place(of: Probe.content), start <= end {
            // Markers of the content do not belong to the reasoning.
            let open = trimmed(content[start..<end])
            if thoughts.close.hasSuffix(open), thoughts.close != open {
                thoughts.close = trimmed(thoughts.close.dropLast(open.count).utf8)
            } else if let range = open.firstRange(of: first), open.count > first.count {
                let contentOpen = trimmed(open[range.upperBound...].utf8)
                if !contentOpen.isEmpty, thoughts.close.hasSuffix(contentOpen) {
                    thoughts.close = trimmed(thoughts.close.dropLast(contentOpen.count).utf8)
                }
            }
        }
        guard thoughts.open.isEmpty else { return }
        // Either each rendering begins with the marker, or only the prompt contains it.
        let common = reasoned[..<start]
        let isClosed = content.map { trimmed($0[start...]).hasPrefix(thoughts.close) } ?? false
        let promptEnd = prompt.map { trimmed($0.dropFirst(start)) } ?? ""
        if promptEnd.isEmpty || isClosed, let last = pieces(common).last {
            thoughts.open = last
            start = common.lastRange(of: last)?.lowerBound ?? start
            thoughts.afterOpen = trailingSpace(common)
        } else {
            thoughts.open = promptEnd
        }
    }

    func readContent(
        _ thoughts: Dialect.Thoughts, _ open: inout String, _ close: inout String, _ turnEnd: inout [String]
    ) {
        guard let content, let place = content.place(of: Probe.content), start <= place else { return }
        open = without(thoughts, content[start..<place].text)
        var after = pieces(content[(place + Probe.content.utf8.count)...])
        if !open.isEmpty, !after.isEmpty { close = after.removeFirst() }
        let begins = [thoughts.open, thoughts.close, open]
        turnEnd = Array(after.prefix { piece in !begins.contains { !$0.isEmpty && $0.contains(piece) } })
    }

    private func without(_ thoughts: Dialect.Thoughts, _ text: String) -> String {
        var text = text
        for marker in [thoughts.open, thoughts.close] where !marker.isEmpty { text = text.replacing(marker, with: "") }
        return trimmed(text.utf8)
    }
}

extension BidirectionalCollection<UInt8> where SubSequence == Bytes, Index == Int {
    fileprivate func lastRange(of text: String) -> Range<Int>? {
        let text = Array(text.utf8)
        guard count >= text.count else { return nil }
        var place = endIndex - text.count
        while place >= startIndex {
            if self[place..<(place + text.count)].elementsEqual(text) { return place..<(place + text.count) }
            place -= 1
        }
        return nil
    }
}
