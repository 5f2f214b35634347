import Foundation
public import LocalLLM

extension LocalModel.Configuration {
    /// Options that make answers worse or slower, as text for the user.
    ///
    /// - Parameter trained: Context size that the model was trained for, in tokens.
    public func warnings(trainedContext trained: Int) -> [String] {
        var warnings: [String] = []
        if let contextSize, contextSize > trained {
            warnings.append(
                "--context \(contextSize) exceeds the \(trained) tokens that the model was trained for: "
                    + "answers beyond them may be worse")
        }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        if let threads, threads > processors {
            warnings.append(
                "--threads \(threads) exceeds the \(processors) processors of this machine and is slower")
        }
        return warnings
    }
}
