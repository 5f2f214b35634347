import Foundation
import JSON
import Shim
import Wire

extension ClientConfiguration {
    /// Checks what `Decodable` cannot. Errors name the field's path in the file.
    func validate() throws(APIError) {
        guard !apps.isEmpty || !products.isEmpty || !partners.isEmpty else {
            throw .invalid("apps", "expected at least one of apps, products and partners")
        }
        try Self.checkIDs(apps.map(\.id), "apps")
        try Self.checkIDs(products.map(\.id), "products")
        try Self.checkIDs(partners.map(\.id), "partners")
        try Self.check(endpoints)
        for (index, app) in apps.enumerated() { try Self.checkLifetime(app.tokenSeconds, "apps[\(index)]") }
        for (index, product) in products.enumerated() {
            let path = "products[\(index)]"
            try Self.checkLifetime(product.tokenSeconds, path)
            guard UUID(uuidString: product.id) != nil else {
                throw .invalid("\(path).id", "expected a UUID, found \"\(product.id)\"")
            }
            guard product.secretKey != nil || product.publicKey != nil else {
                throw .invalid(path, "expected secret_key, public_key or both")
            }
        }
    }

    /// - Throws: `APIError` if a name is not one path segment, is used twice, or collides with a route of the server.
    private static func check(_ endpoints: [Endpoint]) throws(APIError) {
        for (index, endpoint) in endpoints.enumerated() {
            let path = "endpoints[\(index)]"
            let isSegment = endpoint.name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                    || [0x2d, 0x2e, 0x5f, 0x7e].contains($0)
            }
            guard isSegment, !endpoint.name.isEmpty, endpoint.name != ".", endpoint.name != ".." else {
                throw .invalid("\(path).name", "expected letters, digits and -._~, found \"\(endpoint.name)\"")
            }
            guard !endpoints[..<index].contains(where: { $0.name == endpoint.name }),
                !RouteTable.all.routes.contains(where: { route in
                    route.paths.contains { $0.match("/" + endpoint.name) != nil }
                })
            else { throw .invalid("\(path).name", "duplicate endpoint /\(endpoint.name)") }
            guard !endpoint.system.isEmpty else { throw .invalid("\(path).system", "must not be empty") }
        }
    }

    private static func checkIDs(_ ids: [String], _ list: String) throws(APIError) {
        let folded = ids.map { $0.lowercased() }
        for (index, id) in folded.enumerated() {
            guard APIKeys.canBeSent(id) else {
                throw .invalid("\(list)[\(index)].id", "expected visible ASCII without spaces")
            }
            guard !folded[..<index].contains(id) else {
                throw .invalid("\(list)[\(index)].id", "duplicate id \"\(ids[index])\"")
            }
        }
    }

    private static func checkLifetime(_ seconds: WholeNumber?, _ path: String) throws(APIError) {
        guard let seconds = seconds?.value, !(1...31_536_000).contains(seconds) else { return }
        throw .invalid("\(path).token_seconds", "expected 1 to 31536000 (a year), found \(seconds)")
    }

    /// Refuses unknown fields: a misspelt restriction would otherwise be ignored.
    static func checkNames(_ file: JSON) throws(APIError) {
        guard case .object(let members) = file else { return }
        try checkNames(members, CodingKeys.self, at: "")
        for (index, app) in elements(members["apps"]) {
            try checkNames(app, App.CodingKeys.self, at: "apps[\(index)].")
        }
        for (index, product) in elements(members["products"]) {
            try checkNames(product, Product.CodingKeys.self, at: "products[\(index)].")
        }
        for (index, partner) in elements(members["partners"]) {
            try checkNames(partner, Partner.CodingKeys.self, at: "partners[\(index)].")
        }
        for (index, endpoint) in elements(members["endpoints"]) {
            try checkNames(endpoint, Endpoint.CodingKeys.self, at: "endpoints[\(index)].")
        }
    }

    private static func elements(_ list: JSON?) -> [(Int, JSON.Object)] {
        guard case .array(let elements) = list else { return [] }
        return elements.enumerated().compactMap { index, element in
            if case .object(let members) = element { (index, members) } else { nil }
        }
    }

    /// Checks the field names of an object and of the objects in it, which are all `Secret`s.
    private static func checkNames<Key: CodingKey & CaseIterable>(
        _ object: JSON.Object, _: Key.Type, at path: String
    ) throws(APIError) {
        let known = Key.allCases.map(\.stringValue)
        for (name, value) in object.members {
            guard known.contains(name) else {
                throw .invalid(path + name, "unknown field; expected one of \(known.joined(separator: ", "))")
            }
            guard case .object(let secret) = value else { continue }
            try checkNames(secret, Secret.CodingKeys.self, at: "\(path)\(name).")
        }
    }
}
