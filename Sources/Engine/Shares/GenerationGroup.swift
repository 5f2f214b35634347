import Synchronization

/// Generations that belong together, such as the choices of one request.
///
/// At most 16 of a group run at once, and waiting sequences of the group with the fewest running are admitted first, so
/// that a request for a hundred texts does not block requests for one. Between clients (`FairShare.client`), the one
/// with the fewest running sequences goes first.
package struct GenerationGroup: Sendable {
    let number: Int
    /// How many generations it will have. The queue takes all of them or none.
    let size: Int

    private static let last = Atomic<Int>(0)

    /// - Parameter size: How many generations it will have, if that is known: the first is refused where there is no room for
    ///   all.
    package init(size: Int = 1) {
        number = Self.last.add(1, ordering: .relaxed).newValue
        self.size = max(1, size)
    }
}
