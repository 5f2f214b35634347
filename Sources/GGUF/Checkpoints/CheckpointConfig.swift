import JSON

/// The text part of `config.json`: values in `text_config` take precedence over those beside it.
///
/// Getters come in pairs, as in `GGUFMetadata`: `int` throws without a value, `intIfPresent` returns `nil`. A missing
/// value has the default of the model's own configuration class.
struct CheckpointConfig {
    let path: String
    private let layers: [JSON]
    private let defaults: [String: Double]

    /// - Parameter defaults: Default numbers by name; true and false are 1 and 0.
    init(_ folder: SafetensorsFolder, defaults: [String: Double]) {
        path = folder.path + "/config.json"
        layers = [folder.config["text_config"] ?? folder.config["llm_config"], folder.config].compactMap { $0 }
        self.defaults = defaults
    }

    /// An object nested in a configuration, or another file.
    init(path: String, _ json: JSON) {
        self.path = path
        layers = [json]
        defaults = [:]
    }

    subscript(key: String) -> JSON? { layers.lazy.compactMap { $0[key] }.first }

    /// A property that is an object.
    func object(_ key: String) -> CheckpointConfig? {
        guard let json = self[key], json.object != nil else { return nil }
        return CheckpointConfig(path: path, json)
    }

    /// The object whose name is the layer's number, with or without leading zeros.
    func object(ofLayer index: Int) -> CheckpointConfig? {
        let members = layers.lazy.compactMap(\.object?.members).joined()
        let found = members.first { Int($0.name) == index }
        return found.flatMap { $0.value.object != nil ? CheckpointConfig(path: path, $0.value) : nil }
    }

    /// Whether there is a property of this name. Other than for the getters, `null` counts as one.
    func declares(_ key: String) -> Bool {
        layers.contains { $0.object?[key] != nil }
    }

    /// The value of the first name that has one.
    func intIfPresent(_ keys: String...) throws(ModelFileError) -> Int? { try int(keys) }

    func int(_ keys: String...) throws(ModelFileError) -> Int {
        guard let value = try int(keys) else { throw missing(keys[0]) }
        return value
    }

    /// A value in 1...2²⁴, so that products of two do not overflow.
    func positive(_ keys: String...) throws(ModelFileError) -> Int {
        guard let value = try int(keys) else { throw missing(keys[0]) }
        guard (1...1 << 24).contains(value) else { throw wrong(keys[0], "a number from 1 to 2^24") }
        return value
    }

    private func int(_ keys: [String]) throws(ModelFileError) -> Int? {
        for key in keys {
            guard let json = self[key] else { continue }
            guard let value = json.int else { throw wrong(key, "a whole number") }
            return value
        }
        return keys.lazy.compactMap { defaults[$0] }.first.map { Int($0) }
    }

    func doubleIfPresent(_ keys: String...) throws(ModelFileError) -> Double? {
        for key in keys {
            guard let json = self[key] else { continue }
            guard let value = json.double, value.isFinite else { throw wrong(key, "a number") }
            return value
        }
        return keys.lazy.compactMap { defaults[$0] }.first
    }

    func double(_ keys: String...) throws(ModelFileError) -> Double {
        for key in keys { if let value = try doubleIfPresent(key) { return value } }
        throw missing(keys[0])
    }

    func bool(_ key: String) throws(ModelFileError) -> Bool {
        guard let json = self[key] else { return defaults[key] == 1 }
        guard let value = json.bool else { throw wrong(key, "true or false") }
        return value
    }

    func string(_ key: String) -> String? { self[key]?.string }

    func strings(_ key: String) throws(ModelFileError) -> [String]? {
        try list(key, "an array of strings") { $0.string }
    }

    func doubles(_ key: String) throws(ModelFileError) -> [Double]? {
        try list(key, "an array of numbers") { $0.double }
    }

    func ints(_ key: String) throws(ModelFileError) -> [Int]? {
        try list(key, "an array of whole numbers") { $0.int }
    }

    /// Token IDs, one or a list, of the text part and of what is beside it.
    func tokens(_ key: String) throws(ModelFileError) -> [Int] {
        var ids: [Int] = []
        for json in layers.compactMap({ $0[key] }) {
            let found = json.array?.map(\.int) ?? [json.int]
            guard !found.contains(where: { $0 == nil }) else { throw wrong(key, "a whole number or a list of them") }
            for id in found.compactMap({ $0 }) where !ids.contains(id) { ids.append(id) }
        }
        return ids
    }

    private func list<T>(
        _ key: String, _ expected: String, _ get: (JSON) -> T?
    ) throws(ModelFileError) -> [T]? {
        guard let json = self[key] else { return nil }
        let values = json.array?.map(get)
        guard let values, !values.contains(where: { $0 == nil }) else { throw wrong(key, expected) }
        return values.compactMap { $0 }
    }

    func wrong(_ key: String, _ expected: String) -> ModelFileError {
        let found = self[key].map { summary($0) } ?? "missing"
        return ModelFileError(.badMetadata, "'\(key)' must be \(expected), but is \(found).", path: path)
    }

    /// A value for messages.
    func summary(_ value: JSON) -> String {
        value.bool.map { "\($0)" } ?? value.int.map { "\($0)" } ?? value.double.map { "\($0)" }
            ?? value.string.map { "'\($0)'" } ?? value.kind
    }

    private func missing(_ key: String) -> ModelFileError {
        ModelFileError(.missingMetadata, "'\(key)' is missing.", path: path)
    }
}
