extension Dialect {
    /// How calls are written where the template shows no tools, so that the model is told in words.
    public static let callInWords: CallSyntax = {
        var syntax = CallSyntax(
            each: [.text("<tool_call>")], eachClose: [.text("</tool_call>")], body: .object(ObjectKeys()))
        syntax.beforeName = "<tool_call>\n{\"name\": \""
        syntax.afterName = "\", \"arguments\": "
        return syntax
    }()

    /// How this model writes calls; `nil` where that is not known.
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

    /// Text that makes an answer begin with a call.
    ///
    /// - Parameters:
    ///   - name: The function, if there is no choice.
    ///   - prompt: What the answer follows. Thoughts that it has begun are closed first.
    public func callBeginning(name: String?, after prompt: String) -> String {
        guard let call = callSyntax else { return "" }
        var text = call.textBeforeName
        if let name { text += name + call.textAfterName }
        // Models write the space before a value as the beginning of its first token.
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return isHarmony ? text : closing(after: prompt) + text
    }

    /// What closes the thoughts that a prompt has begun; empty if it has begun none.
    public func closing(after prompt: String) -> String {
        let end = prompt.reversed().drop { $0.isWhitespace }
        guard !thoughts.open.isEmpty, end.starts(with: thoughts.open.reversed()) else { return "" }
        return thoughts.beforeClose + thoughts.close + thoughts.afterClose
    }
}

extension CallSyntax {
    /// What is written before the name of the first call.
    public var textBeforeName: String { beforeName.isEmpty ? assembledBeginning : beforeName }
    /// What is written between a name and its arguments.
    public var textAfterName: String { beforeName.isEmpty ? assembledAfterName : afterName }

    /// The same for syntaxes that no template shows.
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
