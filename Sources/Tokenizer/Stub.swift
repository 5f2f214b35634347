public enum TemplateValue: Sendable { case string(String), bool(Bool), array([TemplateValue]), object([String: TemplateValue]) }
public struct TemplateError: Error {}
public struct ChatTemplate: Sendable { public init(_ s: String) throws(TemplateError) {}
 public func render(_ v: [String: TemplateValue]) throws(TemplateError) -> String { "" }
 public static let fallback = try! ChatTemplate("") }
