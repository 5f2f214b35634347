/// A LoRA adapter of the server and its scale, as in llama.cpp's API.
package struct AdapterScale: Codable, Sendable, Equatable {
    /// Index in the list of `GET /lora-adapters`.
    package var id: WholeNumber
    package var scale: Double

    package init(id: WholeNumber, scale: Double) {
        self.id = id
        self.scale = scale
    }
}

extension [AdapterScale] {
    /// - Parameter name: Name of the field in the request, for errors.
    package func validate(at name: String) throws(APIError) {
        var seen: Set<Int64> = []
        for (index, entry) in enumerated() {
            try checkRange("\(name)[\(index)].id", entry.id, 0...Int64(Int32.max))
            try checkRange("\(name)[\(index)].scale", entry.scale, -1e6...1e6)
            guard seen.insert(entry.id.value).inserted else {
                throw .invalid("\(name)[\(index)].id", "duplicate adapter id \(entry.id.value)")
            }
        }
    }

    /// Scales by id, of a validated list.
    package var byID: [Int: Double] { Dictionary(uniqueKeysWithValues: map { (Int($0.id.value), $0.scale) }) }
}
