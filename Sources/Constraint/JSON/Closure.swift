/// The schemas that apply to one value: the given ones, and all that their applicators apply to the same value.
final class Closure {
    enum Applicator {
        case all([Int])
        case any([Int])
        case one([Int])
        case not(Int)
        case conditional(if: Int, then: Int?, else: Int?)
        case dependent(name: [UInt8], Int)
    }

    struct Local {
        let node: SchemaNode.ID
        var applicators: [Applicator] = []
        /// The schemas of `properties`, by index in the closure's names, and these indices.
        var properties: [Int32: SchemaNode.ID] = [:]
        var declared = Bits()
        /// Indices of the names in `required`.
        var required = Bits()
        var dependentRequired: [(name: Int, required: Bits)] = []
    }

    let id: Int32
    private(set) var locals: [Local] = []
    /// Index in `locals` of each given schema.
    private(set) var slots: [Int] = []
    /// Names in `properties`, `required` and similar keywords, in their order in the schemas.
    private(set) var names: [[UInt8]] = []
    let nameSet: StringSet
    private(set) var nameIndex: [[UInt8]: Int] = [:]
    /// Atoms of `patternProperties`.
    private(set) var patterns: [Int] = []
    private(set) var patternIndex: [Int: Int] = [:]
    /// Schemas of `propertyNames`, with the index in `locals` of their owner.
    private(set) var nameSchemas: [(local: Int, node: SchemaNode.ID)] = []
    /// Largest number of properties, and of items, that makes a difference.
    private(set) var largestCount = 0
    private(set) var largestIndex = 0
    private(set) var isUnique = false
    /// How names are read; created on first use.
    var keys: KeyContext?

    init(id: Int32, _ nodes: [SchemaNode.ID], _ plan: SchemaPlan) {
        self.id = id
        var places: [SchemaNode.ID: Int] = [:]
        var (locals, names, nameIndex) = ([Local](), [[UInt8]](), [[UInt8]: Int]())
        @discardableResult
        func name(_ text: [UInt8]) -> Int {
            if let known = nameIndex[text] { return known }
            nameIndex[text] = names.count
            names.append(text)
            return names.count - 1
        }
        func bits(_ texts: [[UInt8]]) -> Bits {
            var bits = Bits()
            for text in texts { bits.insert(name(text)) }
            return bits
        }
        func place(_ node: SchemaNode.ID) -> Int {
            if let known = places[node] { return known }
            let index = locals.count
            places[node] = index
            locals.append(Local(node: node))
            let schema = plan.nodes[Int(node)]
            for property in schema.objects.properties {
                let own = name(property.name)
                locals[index].declared.insert(own)
                if locals[index].properties[Int32(own)] == nil {
                    locals[index].properties[Int32(own)] = property.schema
                }
            }
            let applicators = schema.applicators.map { applicator -> Applicator in
                switch applicator {
                case .all(let list): .all(list.map(place))
                case .any(let list): .any(list.map(place))
                case .one(let list): .one(list.map(place))
                case .not(let id): .not(place(id))
                case .conditional(let condition, let then, let otherwise):
                    .conditional(if: place(condition), then: then.map(place), else: otherwise.map(place))
                case .dependent(let name, let id): .dependent(name: name, place(id))
                }
            }
            locals[index].applicators = applicators
            return index
        }
        let slots = nodes.map(place)
        for (index, local) in locals.enumerated() {
            let schema = plan.nodes[Int(local.node)]
            locals[index].required = bits(schema.objects.required)
            locals[index].dependentRequired = schema.objects.dependentRequired.map {
                (name: name($0.name), required: bits($0.required))
            }
            for case .dependent(let text, _) in local.applicators { name(text) }
            for pattern in schema.objects.patterns where patternIndex[pattern.atom] == nil {
                patternIndex[pattern.atom] = patterns.count
                patterns.append(pattern.atom)
            }
            if let node = schema.objects.names { nameSchemas.append((index, node)) }
            let (objects, arrays) = (schema.objects, schema.arrays)
            largestCount = max(largestCount, objects.minimum, objects.maximum == .max ? 0 : objects.maximum + 1)
            if !objects.required.isEmpty, objects.maximum != .max {
                largestCount = max(largestCount, objects.maximum + 1)
            }
            largestIndex = max(
                largestIndex, arrays.prefix.count, arrays.minimum, arrays.maximum == .max ? 0 : arrays.maximum + 1)
            if arrays.isUnique { isUnique = true }
        }
        (self.locals, self.slots, self.names, self.nameIndex) = (locals, slots, names, nameIndex)
        nameSet = StringSet(names)
    }
}
