/// An increment of one choice of an answer. The sum of all deltas is the whole choice.
package struct ChoiceDelta: Sendable, Equatable {
    package struct Finish: Sendable, Equatable {
        package var reason: FinishReason
        package var usage: Usage
        /// Generated tokens that are reasoning.
        package var reasoningTokens = 0
        /// Whether the prompt's tokens count for this choice: only for the first choice of a prompt.
        package var countsPrompt = true
        /// Whether the choice has tool calls.
        package var hasCalls = false
        /// The stop string that ended the choice, if any.
        package var stopString: String?

        package init(
            reason: FinishReason, usage: Usage, reasoningTokens: Int = 0, countsPrompt: Bool = true,
            hasCalls: Bool = false, stopString: String? = nil
        ) {
            self.reason = reason
            self.usage = usage
            self.reasoningTokens = reasoningTokens
            self.countsPrompt = countsPrompt
            self.hasCalls = hasCalls
            self.stopString = stopString
        }
    }

    package var choice: Int
    package var reasoning = ""
    package var content = ""
    package var calls: [CallDelta] = []
    /// Empty unless the request asked for probabilities.
    package var tokens: [ListedToken] = []
    /// Set in the last delta only.
    package var finish: Finish?
    /// Token counts and times so far; `nil` unless requested. A sum has the last one.
    package var usage: Usage?
    /// `nil` unless requested. A delta with progress has no other content.
    package var progress: PromptProgress?
    /// Ids of the sampled tokens.
    package var ids: [Int32] = []

    package init(choice: Int, finish: Finish? = nil) {
        self.choice = choice
        self.finish = finish
    }

    package static func += (whole: inout Self, delta: Self) {
        whole.reasoning += delta.reasoning
        whole.content += delta.content
        for call in delta.calls { whole.calls += call }
        whole.tokens += delta.tokens
        whole.finish = delta.finish
        whole.usage = delta.usage ?? whole.usage
        whole.ids += delta.ids
    }
}

/// An increment of a tool call.
package struct CallDelta: Sendable, Equatable {
    /// Number of the call in its choice, from 0.
    package var index: Int
    /// `id` and `name` are set in a call's first delta only.
    package var id: String?
    package var name: String?
    /// Whether the tool takes text; `arguments` is then the whole text.
    package var isCustom = false
    package var arguments = ""

    package init(index: Int, id: String? = nil, name: String? = nil, isCustom: Bool = false, arguments: String = "") {
        self.index = index
        self.id = id
        self.name = name
        self.isCustom = isCustom
        self.arguments = arguments
    }

    package static func += (calls: inout [CallDelta], delta: CallDelta) {
        if delta.index < calls.count {
            calls[delta.index].arguments += delta.arguments
        } else {
            calls.append(delta)
        }
    }
}
