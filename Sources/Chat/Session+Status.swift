import Client
import CommandLineParsing
import FoundationModels
import Foundation
import LocalLLM

/// What the session says about itself and its answers.
extension Session {
    /// Shows how far the local model is loaded until the first message can be answered.
    func showLoading() async {
        guard terminal.isInput, terminal.isOutput, chat.isLocalOn, engines.has(.local), chat.availability == .available
        else { return }
        terminal.interrupts.onInterrupt { exit(130) }
        let spinner = Spinner(terminal) { [chat] in chat.statusMessage }
        // What went wrong is the answer to the first message, if it is still wrong then.
        try? await engines.load()
        await spinner.stop()
        terminal.interrupts.onInterrupt(nil)
    }

    /// The model, its size and context, and where answers come from.
    var introduction: String {
        var parts: [String] = []
        if let file = engines.file {
            parts.append(DownloadedModels.name(of: file))
            if let info = try? LocalModel.info(of: file) {
                parts.append(size(info.fileBytes))
                if let context = engines.contextSize, context > 0 { parts.append("context \(context)") }
            } else {
                parts.append(chat.statusMessage)
            }
        }
        let places = engines.places(chat.policy)
        parts.append("answers from " + places.joined(separator: ", else "))
        return parts.joined(separator: " · ")
    }

    /// Which engine is asked next, and how it is.
    var status: String {
        let asked = engines.isChoice ? "\(chat.policy) · " : ""
        return [asked + chat.statusMessage, answerLine].filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// Speed, tokens and share of the context of the last answer; empty if nothing is known.
    var answerLine: String {
        var parts: [String] = []
        if engines.isChoice, let engine = chat.answeredBy { parts.append("\(engine)") }
        if let usage = chat.usage {
            if let speed = usage.tokensPerSecond { parts.append(String(format: "%.1f tokens/s", speed)) }
            parts.append("\(usage.completionTokens) tokens")
            if let context = usage.contextSize, context > 0 {
                let share = (usage.promptTokens + usage.completionTokens) * 100 / context
                parts.append("\(share == 0 ? "under 1" : "\(share)") % of the context of \(context)")
            }
        }
        return parts.joined(separator: " · ")
    }
}
