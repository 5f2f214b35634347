import Foundation

/// Why a model command failed, with advice for the user.
struct PullError: Error, Equatable, CustomStringConvertible, LocalizedError {
    let description: String
    init(_ description: String) { self.description = description }
    var errorDescription: String? { description }
}

/// `1.24 GB`
func size(_ bytes: Int) -> String { rounded(bytes) + "B" }
