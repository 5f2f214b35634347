extension Dialect {
    /// The notation of calls for templates that do not show tools, so that instructions have to describe it.
    public static let callInWords: CallSyntax = {
        var syntax = CallSyntax(
            each: [.text("<tool_call>")], eachClose: [.text("</tool_call>")], body: .object(ObjectKeys()))
        syntax.beforeName = "<tool_call>\n{\"name\": \""
        syntax.afterName = "\", \"arguments\": "
        return syntax
    }()

    /// The notation in which the model should write calls; `nil` if unknown.
    public var callSyntax: CallSyntax? {
        if isHarmony {
            var syntax = CallSyntax(body: .header([.name], .json))
            syntax.beforeName = "<|channel|>commentary to=functions."
            syntax.afterName = " <|constrain|>json<|message|>"
            syntax.allowsSeveral = false
            return syntax
        }
        return history.showsTools ? calls.first : Self.callInWords
    }

    /// Text to force an answer to begin with a call.
    ///
    /// - Parameters:
    ///   - name: The function, if it is given.
    ///   - prompt: The text before the answer. Reasoning that it has opened is closed first.
    public func callBeginning(name: String?, after prompt: String) -> String {
        guard let call = callSyntax else { return "" }
        var text = call.textBeforeName
        if let name { text += name + call.textAfterName }
        // A space before a value is usually part of the value's first token, so it is left to the model.
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return isHarmony ? text : closing(after: prompt) + text
    }

    /// Text after which an answer goes on with its content, without reasoning.
    public func contentBeginning(after prompt: String) -> String {
        isHarmony ? "<|channel|>final<|message|>" : closing(after: prompt)
    }

    /// Text that closes the reasoning opened by a prompt; empty if none is open.
    public func closing(after prompt: String) -> String {
        let end = prompt.reversed().drop { $0.isWhitespace }
        guard !thoughts.open.isEmpty, end.starts(with: thoughts.open.reversed()) else { return "" }
        return thoughts.beforeClose + thoughts.close + thoughts.afterClose
    }
}

extension CallSyntax {
    /// Text before the name of the first call.
    public var textBeforeName: String { beforeName.isEmpty ? assembledBeginning : beforeName }
    /// Text between the name and the arguments.
    public var textAfterName: String { beforeName.isEmpty ? assembledAfterName : afterName }

    /// As `textBeforeName`, for notations that no template shows.
    fileprivate var assembledBeginning: String {
        let lead = (open + each).compactMap(\.text).joined()
        switch body {
        case .object(let keys): return lead + "\n{\"\(keys.name)\": \""
        case .pythonic: return lead + "["
        case .header: return lead
        }
    }

    fileprivate var assembledAfterName: String {
        switch body {
        case .object(let keys): "\", \"\(keys.arguments)\": "
        case .pythonic: "("
        case .header(let pieces, _): pieces.dropFirst().prefix { $0.text != nil }.compactMap(\.text).joined()
        }
    }
}
