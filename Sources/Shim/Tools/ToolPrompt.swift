import Dialects

extension OfferedTools {
    /// Text that the answer must begin with, so that it is a call: its markers, and the name where there is no choice.
    func forcedBeginning(_ dialect: Dialect, after prompt: String) -> String {
        guard areCallable, choice != .auto else { return "" }
        return dialect.callBeginning(name: declared.count == 1 ? declared[0].name : nil, after: prompt)
    }
}
