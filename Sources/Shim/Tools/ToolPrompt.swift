import Dialects

extension OfferedTools {
    /// Forced beginning of an answer that must be a call: its markers, and the name if only one tool may be called.
    func forcedBeginning(_ dialect: Dialect, after prompt: String) -> String {
        guard areCallable, choice != .auto else { return "" }
        return dialect.callBeginning(name: declared.count == 1 ? declared[0].name : nil, after: prompt)
    }
}
