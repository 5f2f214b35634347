import Foundation

/// Why a model could not be downloaded, and what can be done about it.
struct PullError: Error, Equatable, CustomStringConvertible, LocalizedError {
    let description: String
    init(_ description: String) { self.description = description }
    var errorDescription: String? { description }
}

/// `1.24 GB`
func size(_ bytes: Int) -> String { rounded(bytes) + "B" }
