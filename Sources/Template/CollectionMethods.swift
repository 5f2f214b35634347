// Non-mutating methods of lists, tuples and dicts.
extension Renderer {
    func sequenceMethod(_ name: String, _ items: Items) -> Value? {
        switch name {
        case "count":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let value = try arguments.bind("count", ["value"], required: 1, renderer)[0] ?? .null
                var count = 0
                for item in items.values where try renderer.areEqual(item, value) { count += 1 }
                return .int(count)
            }
        case "index":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let value = try arguments.bind("index", ["value"], required: 1, renderer)[0] ?? .null
                for (at, item) in items.values.enumerated() where try renderer.areEqual(item, value) {
                    return .int(at)
                }
                throw renderer.fail("\(try renderer.repr(value)) is not in the list")
            }
        default: return nil
        }
    }

    func dictMethod(_ name: String, _ dict: Dict) -> Value? {
        switch name {
        case "get":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let bound = try arguments.bind("get", ["key", "default"], required: 1, renderer)
                let key = bound[0] ?? .null
                guard try renderer.isHashable(key) else { throw renderer.fail("unhashable type: '\(key.typeName)'") }
                return dict[key] ?? bound[1] ?? .null
            }
        case "items", "keys", "values":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                try arguments.rejectAll(name, renderer)
                try renderer.charge(2 * dict.count)
                let values: [Value]
                switch name {
                case "keys": values = dict.keys
                case "values": values = dict.values
                default: values = dict.entries.map { .tuple(Items([$0, $1])) }
                }
                return try renderer.object(DictView("dict_\(name)", values))
            }
        case "copy": return function(name) { _, _ in .dict(dict) }
        default: return nil
        }
    }
}
