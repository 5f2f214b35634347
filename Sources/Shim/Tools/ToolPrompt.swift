import Dialects
import LocalLLM
import Tokenizer
import Wire

extension OfferedTools {
    /// Text that the answer must begin with, so that it is a call: its markers, and the name where there is no choice.
    func forcedBeginning(_ dialect: Dialect, after prompt: String) -> String {
        guard areCallable, choice != .auto else { return "" }
        let name = declared.count == 1 ? declared[0].name : nil
        if dialect.history.showsTools { return dialect.callBeginning(name: name, after: prompt) }
        // As the instructions say.
        return dialect.closing(after: prompt) + "<tool_call>\n{\"name\": \""
            + (name.map { "\($0)\", \"arguments\":" } ?? "")
    }
}
