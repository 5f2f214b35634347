package import Dialects
import Synchronization
package import Template

/// How answers to prompts of a chat template are written.
package struct ChatMarkup: Sendable, Equatable {
    /// The markup of reasoning and tool calls.
    package let dialect: Dialect
    /// Control tokens that are part of the dialect's markers.
    package let markerTokens: Set<Int32>

    package init(_ dialect: Dialect, markerTokens: Set<Int32> = []) {
        self.dialect = dialect
        self.markerTokens = markerTokens
    }
}

/// The markups of the templates that requests brought last. Deriving one renders the template about twenty times.
final class MarkupCache: Sendable {
    static let capacity = 16

    /// The most recently used one comes last.
    private let entries = Mutex<[(source: String, markup: ChatMarkup)]>([])

    var count: Int { entries.withLock { $0.count } }

    func markup(of template: ChatTemplate, derive: (ChatTemplate) -> ChatMarkup) -> ChatMarkup {
        let source = template.source
        let known = entries.withLock { entries -> ChatMarkup? in
            guard let index = entries.firstIndex(where: { $0.source == source }) else { return nil }
            entries.append(entries.remove(at: index))
            return entries.last?.markup
        }
        if let known { return known }
        let markup = derive(template)
        // A cancelled task renders nothing.
        guard source.utf8.count <= LocalModel.maximumTemplateBytes, !Task.isCancelled else { return markup }
        entries.withLock { entries in
            if entries.contains(where: { $0.source == source }) { return }
            if entries.count == Self.capacity { entries.removeFirst() }
            entries.append((source, markup))
        }
        return markup
    }
}

extension LocalModel {
    /// Bytes of the longest template in a request. Those of models have at most 20 KB.
    package static let maximumTemplateBytes = 256 << 10

    /// - Parameter template: The template of a request; `nil`: the model's own.
    package func markup(of template: ChatTemplate?) -> ChatMarkup {
        guard let template, template.source != format.templateSource else { return markup }
        return markups.markup(of: template, derive: format.markup)
    }
}
