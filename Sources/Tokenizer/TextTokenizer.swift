public struct TextTokenizer: Sendable {}
