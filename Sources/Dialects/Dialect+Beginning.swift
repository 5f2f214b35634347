extension Dialect {
    /// Text that makes an answer begin with a call.
    ///
    /// - Parameters:
    ///   - name: The function, if there is no choice.
    ///   - prompt: What the answer follows. Thoughts that it has begun are closed first.
    public func callBeginning(name: String?, after prompt: String) -> String {
        if isHarmony {
            return "<|channel|>commentary to=functions." + (name.map { "\($0) <|constrain|>json<|message|>" } ?? "")
        }
        guard let call = calls.first else { return "" }
        var text = call.beforeName.isEmpty ? call.assembledBeginning : call.beforeName
        if let name { text += name + (call.beforeName.isEmpty ? call.assembledAfterName : call.afterName) }
        // Models write the space before a value as the beginning of its first token.
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return closing(after: prompt) + text
    }

    /// What closes the thoughts that a prompt has begun; empty if it has begun none.
    public func closing(after prompt: String) -> String {
        let end = prompt.reversed().drop { $0.isWhitespace }
        guard !thoughts.open.isEmpty, end.starts(with: thoughts.open.reversed()) else { return "" }
        return thoughts.beforeClose + thoughts.close + thoughts.afterClose
    }
}

extension CallSyntax {
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
