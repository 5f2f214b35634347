import Foundation

/// Identifies a generated value. The ID of a value and of its elements is stable while the value is streamed.
public struct GenerationID: Sendable, Hashable {
    private let response: UUID
    /// Path of the value in the response: one key or index per level.
    private let path: [String]

    /// An id that no other value has. Values of one stream get theirs by their place in the answer instead.
    public init() { self.init(response: UUID(), path: []) }

    private init(response: UUID, path: [String]) {
        self.response = response
        self.path = path
    }

    /// The ID of a value nested in the value with this ID.
    func inside(_ place: String) -> GenerationID { GenerationID(response: response, path: path + [place]) }
}
