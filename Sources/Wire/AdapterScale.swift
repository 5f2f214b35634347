/// An adapter of the server's and how strongly it acts, as in the requests of llama.cpp's server.
public struct AdapterScale: Codable, Sendable, Equatable {
    /// Its place in the list that `GET /lora-adapters` gives.
    public var id: WholeNumber
    public var scale: Double

    public init(id: WholeNumber, scale: Double) {
        self.id = id
        self.scale = scale
    }
}

extension [AdapterScale] {
    /// - Parameter name: Of the field, as the client spelled it.
    public func validate(at name: String) throws(APIError) {
        var seen: Set<Int64> = []
        for (index, entry) in enumerated() {
            try checkRange("\(name)[\(index)].id", entry.id, 0...Int64(Int32.max))
            try checkRange("\(name)[\(index)].scale", entry.scale, -1e6...1e6)
            guard seen.insert(entry.id.value).inserted else {
                throw .invalid("\(name)[\(index)].id", "the adapter \(entry.id.value) is named twice")
            }
        }
    }

    /// By id; of a list that was validated.
    public var byID: [Int: Double] { Dictionary(uniqueKeysWithValues: map { (Int($0.id.value), $0.scale) }) }
}
