import Foundation

/// Tells generated values apart. While a value is streamed, its ID and those of the elements in it stay the same.
public struct GenerationID: Sendable, Hashable {
    private let response: UUID
    /// Where in the response the value is: a key or an index a level.
    private let path: [String]

    public init() { self.init(response: UUID(), path: []) }

    private init(response: UUID, path: [String]) {
        self.response = response
        self.path = path
    }

    /// The ID of a value inside the one that has this ID.
    func inside(_ place: String) -> GenerationID { GenerationID(response: response, path: path + [place]) }
}
