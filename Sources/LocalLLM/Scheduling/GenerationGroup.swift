import Synchronization

/// Generations that belong together, such as the choices of one request.
///
/// At most 16 of a group run at once, and waiting sequences of the group with the fewest running are admitted first, so
/// that a request for a hundred texts does not block requests for one. Between clients (`LocalModel.client`), the one
/// with the fewest running sequences goes first.
public struct GenerationGroup: Sendable {
    let number: Int

    private static let last = Atomic<Int>(0)

    public init() { number = Self.last.add(1, ordering: .relaxed).newValue }
}
