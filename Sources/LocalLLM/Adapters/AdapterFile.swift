public import Foundation

extension LocalModel {
    /// A LoRA adapter to load with a model.
    public struct AdapterFile: Sendable, Equatable {
        public var url: URL
        /// How strongly it acts where a request says nothing; 0: not at all.
        public var scale: Double

        public init(url: URL, scale: Double = 1) {
            self.url = url
            self.scale = scale
        }

        /// From `FILE` or `FILE:SCALE`, as command lines have it.
        package init(argument: String) {
            if let colon = argument.lastIndex(of: ":"), let scale = Double(argument[argument.index(after: colon)...]),
                scale.isFinite
            {
                self.init(url: URL(fileURLWithPath: String(argument[..<colon])), scale: scale)
            } else {
                self.init(url: URL(fileURLWithPath: argument))
            }
        }
    }
}
