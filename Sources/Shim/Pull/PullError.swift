import Foundation

/// Why a model command failed, with advice for the user.
struct PullError: Error, Equatable, CustomStringConvertible, LocalizedError {
    let description: String
    init(_ description: String) { self.description = description }
    var errorDescription: String? { description }
}
