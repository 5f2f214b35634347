import Synchronization

/// Generations that belong together, such as the choices of one request.
///
/// At most 16 of a group run at once, and those of a group with fewer running go first: whoever asks for a hundred
/// texts at once does not shut out those who ask for one. Of several clients, those with fewer running go before that
/// (`LocalModel.client`).
public struct GenerationGroup: Sendable {
    let number: Int

    private static let last = Atomic<Int>(0)

    public init() { number = Self.last.add(1, ordering: .relaxed).newValue }
}
