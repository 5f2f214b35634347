extension GenerationFields {
    /// Maximum of `n`.
    static let maximumChoices: Int64 = 16

    /// `n` of a validated request.
    package var choices: Int { Int(n?.value ?? 1) }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    func validate() throws(APIError) {
        try checkRange("n", n, 1...Self.maximumChoices)
        if streamOptions != nil, stream != true {
            throw .invalid("stream_options", "allowed only when stream is true")
        }
        _ = try requestedFormat()
    }
}

func checkRange(_ name: String, _ value: Double?, _ range: ClosedRange<Double>) throws(APIError) {
    guard let value, !range.contains(value) else { return }
    throw .invalid(
        name, "must be between \(short(range.lowerBound)) and \(short(range.upperBound)), got \(short(value))")
}

func checkRange(_ name: String, _ number: WholeNumber?, _ range: ClosedRange<Int64>) throws(APIError) {
    try checkRange(name, number?.value, range)
}

func checkRange(_ name: String, _ value: Int64?, _ range: ClosedRange<Int64>) throws(APIError) {
    guard let value, !range.contains(value) else { return }
    guard range.upperBound == .max else {
        throw .invalid(name, "must be between \(range.lowerBound) and \(range.upperBound), got \(value)")
    }
    throw .invalid(name, "must be at least \(range.lowerBound), got \(value)")
}
