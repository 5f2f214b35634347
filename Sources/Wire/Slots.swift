/// Body of `POST /slots/{id}` of llama.cpp's API.
package struct SlotAction: Codable, Sendable {
    /// In the query.
    package enum Kind: String, CaseIterable, Sendable {
        case save, restore, erase
    }

    package var filename: String
}

/// Response of `POST /slots/{id}`.
package struct SlotReport: Codable, Sendable, Equatable {
    package struct Timings: Codable, Sendable, Equatable {
        package var saveMilliseconds: Double?
        package var restoreMilliseconds: Double?

        enum CodingKeys: String, CodingKey {
            case saveMilliseconds = "save_ms"
            case restoreMilliseconds = "restore_ms"
        }

        package init(saveMilliseconds: Double? = nil, restoreMilliseconds: Double? = nil) {
            (self.saveMilliseconds, self.restoreMilliseconds) = (saveMilliseconds, restoreMilliseconds)
        }
    }

    package var slot: Int
    /// Absent after `erase`.
    package var filename: String?
    /// Only after `save`: tokens and bytes in the file.
    package var savedTokens: Int?
    package var writtenBytes: Int?
    /// The same after `restore`.
    package var restoredTokens: Int?
    package var readBytes: Int?
    /// Only after `erase`.
    package var erasedTokens: Int?
    package var timings: Timings?

    enum CodingKeys: String, CodingKey {
        case filename, timings
        case slot = "id_slot"
        case savedTokens = "n_saved"
        case writtenBytes = "n_written"
        case restoredTokens = "n_restored"
        case readBytes = "n_read"
        case erasedTokens = "n_erased"
    }

    package init(_ slot: Int, filename: String? = nil, erasedTokens: Int? = nil) {
        (self.slot, self.filename, self.erasedTokens) = (slot, filename, erasedTokens)
    }
}
