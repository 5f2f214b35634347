import Foundation
import TestSupport

/// OpenAI's published specification, as far as its schemas of answers go: JSON Schema 2020-12 without what those do not use.
struct OpenAPI {
    private let schemas: [String: Any]

    /// - Returns: `nil` where the fixtures are absent.
    init?() {
        guard let data = try? Data(contentsOf: Fixtures.url("openai/openapi.json")),
            let whole = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let components = whole["components"] as? [String: Any],
            let schemas = components["schemas"] as? [String: Any]
        else { return nil }
        self.schemas = schemas
    }

    /// What is wrong with a value of a named schema; empty for none.
    func problems(_ name: String, _ value: Any) -> [String] { check(["$ref": "/\(name)"], value, name) }

    /// The same for an event of a stream of responses, by its type.
    func problems(ofEvent event: [String: Any]) -> [String] {
        let union = schemas["ResponseStreamEvent"] as? [String: Any]
        let names = (union?["anyOf"] as? [[String: Any]] ?? []).compactMap { ($0["$ref"] as? String).map(Self.name) }
        let type = event["type"] as? String ?? ""
        let name = names.first { name in
            let properties = (schemas[name] as? [String: Any])?["properties"] as? [String: Any]
            return ((properties?["type"] as? [String: Any])?["enum"] as? [String]) == [type]
        }
        return name.map { problems($0, event) } ?? ["there is no event of type \(type)"]
    }

    private static func name(_ reference: String) -> String { String(reference.split(separator: "/").last ?? "") }

    private func check(_ schema: [String: Any], _ value: Any, _ path: String) -> [String] {
        var problems: [String] = []
        if value is NSNull, schema["nullable"] as? Bool == true { return [] }
        if let reference = schema["$ref"] as? String {
            guard let target = schemas[Self.name(reference)] as? [String: Any] else {
                return ["\(path): no schema \(reference)"]
            }
            problems += check(target, value, path)
        }
        for part in schema["allOf"] as? [[String: Any]] ?? [] { problems += check(part, value, path) }
        for key in ["anyOf", "oneOf"] {
            guard let parts = schema[key] as? [[String: Any]] else { continue }
            let tried = parts.map { check($0, value, path) }
            if !tried.contains([]) {
                let closest = tried.min { $0.count < $1.count } ?? []
                problems.append("\(path): none of \(parts.count) alternatives fits; the closest: \(closest)")
            }
        }
        if let values = schema["enum"] as? [Any], !values.contains(where: { "\($0)" == "\(value)" }) {
            problems.append("\(path): \(value) is not one of \(values)")
        }
        let types = (schema["type"] as? String).map { [$0] } ?? schema["type"] as? [String]
        if let types, !types.contains(where: { Self.isOf(type: $0, value) }) {
            return problems + ["\(path): expected \(types), found \(value)"]
        }
        if let number = Self.number(value) {
            if let least = schema["minimum"].flatMap(Self.number), number < least {
                problems.append("\(path): \(number) < \(least)")
            }
            if let most = schema["maximum"].flatMap(Self.number), number > most {
                problems.append("\(path): \(number) > \(most)")
            }
        }
        if let elements = value as? [Any], let items = schema["items"] as? [String: Any] {
            problems += elements.enumerated().flatMap { check(items, $0.element, "\(path)[\($0.offset)]") }
        }
        if let members = value as? [String: Any] { problems += check(schema, members: members, path) }
        return problems
    }

    private func check(_ schema: [String: Any], members: [String: Any], _ path: String) -> [String] {
        var problems = (schema["required"] as? [String] ?? []).filter { members[$0] == nil }.map {
            "\(path).\($0): missing"
        }
        let properties = schema["properties"] as? [String: Any] ?? [:]
        for (name, value) in members {
            if let property = properties[name] as? [String: Any] {
                problems += check(property, value, "\(path).\(name)")
            } else if schema["additionalProperties"] as? Bool == false {
                problems.append("\(path).\(name): not allowed")
            } else if let others = schema["additionalProperties"] as? [String: Any] {
                problems += check(others, value, "\(path).\(name)")
            }
        }
        return problems
    }

    private static func number(_ value: Any) -> Double? {
        value is Bool ? nil : (value as? Double) ?? (value as? Int).map(Double.init)
    }

    private static func isOf(type: String, _ value: Any) -> Bool {
        let number = value as? NSNumber
        let isBool = number.map(isBoolean) ?? false
        return switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "null": value is NSNull
        case "boolean": isBool
        case "integer": number.map { !isBool && $0.doubleValue.rounded() == $0.doubleValue } ?? false
        case "number": number != nil && !isBool
        default: false
        }
    }
}

/// Whether a number of Foundation's was `true` or `false` in JSON.
private func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
