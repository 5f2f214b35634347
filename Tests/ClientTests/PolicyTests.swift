import Client
import Testing

@Suite("Fallback policy")
struct PolicyTests {
    /// They are stored with the conversation.
    @Test(arguments: zip(FallbackPolicy.allCases, ["localFirst", "cloudFirst", "localOnly", "cloudOnly"]))
    func `names`(policy: FallbackPolicy, name: String) { #expect(policy.rawValue == name) }
}
