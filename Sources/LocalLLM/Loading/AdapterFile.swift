public import Foundation

extension LocalModel {
    /// A LoRA adapter to load with a model.
    public struct AdapterFile: Sendable, Equatable {
        /// GGUF file, or folder as PEFT saves it.
        public var url: URL
        /// Scale for requests without `adapterScales`; 0: off.
        public var scale: Double

        /// The file is read when the model is loaded, not before.
        public init(url: URL, scale: Double = 1) {
            self.url = url
            self.scale = scale
        }

        /// Parses the command line form `FILE` or `FILE:SCALE`.
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
