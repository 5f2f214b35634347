public struct TokenizerError: Error {}
extension TextTokenizer {
  public init(_ d: TokenizerDescription) throws(TokenizerError) { self.init() }
  public func encode(_ text: String, addSpecial: Bool, parseSpecial: Bool) -> [Int32] { [] }
  public var beginningOfSequence: Int32? { nil }
  public var endOfSequence: Int32? { nil }
  public var endOfGeneration: Set<Int32> { [] }
  public var addsBeginningOfSequence: Bool { false }
  public func bytes(of id: Int32, includingControl: Bool) -> [UInt8] { [] }
}
public struct StreamingDecoder { public init(_ t: TextTokenizer) {} ; public mutating func decode(_ id: Int32) -> String { "" } ; public mutating func finish() -> String { "" } }
