import JSON

/// Compiles a JSON Schema to a `SchemaPlan`. Keywords of drafts 4 to 2020-12 are compiled or rejected with their path.
struct SchemaCompiler {
    private(set) var plan: SchemaPlan
    let index: SchemaIndex
    /// Whether a keyword that cannot be enforced is left out instead of refused. That only ever allows more: what would
    /// allow less without it is left out as well.
    let dropsUnenforceable: Bool
    /// Whether `format` is only an annotation, as in draft 2020-12 if the document declares that draft.
    let formatsAnnotate: Bool

    /// A schema in a dynamic scope. Without `$dynamicRef` in the document the scope is always empty.
    private struct ScopedPointer: Hashable {
        var pointer: Pointer
        var scope: [String]
    }
    /// Empty in a document without references, which has one way to each schema.
    private var ids: [ScopedPointer: SchemaNode.ID] = [:]
    private let hasReferences: Bool
    private var pending: [(value: SchemaJSON, place: ScopedPointer, id: SchemaNode.ID)] = []
    private var patterns: [String: Int] = [:]
    private let isDynamic: Bool
    private let work = WorkMeter()
    /// Nodes that allow more than their schemas, since keywords were dropped.
    private var loosened: [SchemaNode.ID] = []

    static let maximumNodes = 50_000
    /// Maximum nesting of schemas that apply to the same value.
    static let maximumNesting = 100

    static func compile(
        _ text: ArraySlice<UInt8>, dropsUnenforceable: Bool = false, enforcesFormats: Bool = true
    ) throws(ConstraintError) -> SchemaPlan {
        let document: SchemaJSON
        do {
            document = try SchemaJSON(parsing: text)
        } catch {
            throw ConstraintError(.schema, "#", "not JSON: \(error.message) at byte \(error.offset)")
        }
        let unknown = ConstraintError(.schema, "#/$schema", "this dialect is not known; drafts 4 to 2020-12 are")
        let survey = SchemaSurvey(document)
        let declared = Draft(document, survey)
        guard let draft = declared ?? (dropsUnenforceable ? Draft(guessedFrom: survey) : nil) else { throw unknown }
        var declares = false
        if draft == .draft2020, case .object(let members) = document { declares = members[.schema] != nil }
        var compiler = SchemaCompiler(
            index: SchemaIndex(document, draft, survey), survey, dropsUnenforceable: dropsUnenforceable,
            formatsAnnotate: declares && !enforcesFormats)
        if declared == nil { compiler.note(unknown) }
        do throws(ConstraintError) {
            return try compiler.run()
        } catch {
            guard dropsUnenforceable, error.kind != .budget else { throw error }
            compiler.note(error)
            return .anything(likeRootOf: document, unenforced: compiler.plan.unenforced)
        }
    }

    private init(index: SchemaIndex, _ survey: SchemaSurvey, dropsUnenforceable: Bool, formatsAnnotate: Bool) {
        plan = SchemaPlan(terms: RegexTerms.initial.copy(work))
        plan.nodes.reserveCapacity(min(survey.schemas, Self.maximumNodes))
        hasReferences = survey.hasReferences
        self.formatsAnnotate = formatsAnnotate
        self.index = index
        self.dropsUnenforceable = dropsUnenforceable
        isDynamic = !index.dynamicAnchors.isEmpty
    }

    private mutating func run() throws(ConstraintError) -> SchemaPlan {
        plan.root = try node(index.document, Pointer(), scope: isDynamic ? [index.base(at: Pointer())] : [])
        while let (value, place, id) = pending.popLast() {
            work.spend(4)
            try compile(value, place, into: id)
            if work.isStopped { throw work.error }
        }
        var heights = [Int](repeating: -1, count: plan.nodes.count)
        for id in plan.nodes.indices { _ = try height(SchemaNode.ID(id), &heights, depth: 0) }
        if work.isStopped { throw work.error }
        guard !plan.terms.isExhausted else { throw ConstraintError(.schema, "#", "its patterns are too large") }
        loosen()
        return plan
    }

    /// Remembers a keyword that is not enforced, once: a schema is compiled again for each keyword dropped from it.
    private mutating func note(_ error: ConstraintError) {
        let text = "\(error.path): \(error.message)"
        guard plan.unenforced.count < SchemaPlan.maximumNotes, !plan.unenforced.contains(text) else { return }
        plan.unenforced.append(text)
    }

    // MARK: Nodes

    private mutating func add(_ node: SchemaNode) throws(ConstraintError) -> SchemaNode.ID {
        guard plan.nodes.count < Self.maximumNodes else {
            throw ConstraintError(.schema, node.path, "the document has more than \(Self.maximumNodes) schemas")
        }
        plan.nodes.append(node)
        return SchemaNode.ID(plan.nodes.count - 1)
    }

    /// The node of the schema at `pointer`; a new one is compiled later.
    private mutating func node(_ value: SchemaJSON, _ pointer: Pointer, scope: [String]) throws(ConstraintError)
        -> SchemaNode.ID
    {
        var scope = scope
        if isDynamic {
            let base = index.base(at: pointer)
            if !scope.contains(base) { scope.append(base) }
        }
        let place = ScopedPointer(pointer: pointer, scope: scope)
        if hasReferences, let id = ids[place] { return id }
        let id = try add(SchemaNode(pointer: pointer))
        if hasReferences { ids[place] = id }
        pending.append((value, place, id))
        return id
    }

    /// Nesting depth of a node's applicators; throws for cycles and above the maximum.
    private mutating func height(_ id: SchemaNode.ID, _ heights: inout [Int], depth: Int) throws(ConstraintError) -> Int
    {
        if heights[Int(id)] >= 0 { return heights[Int(id)] }
        if plan.nodes[Int(id)].applicators.isEmpty {
            heights[Int(id)] = 0
            return 0
        }
        var result = 0
        if depth <= Self.maximumNesting {
            for child in plan.nodes[Int(id)].applied {
                result = max(result, try height(child, &heights, depth: depth + 1) + 1)
            }
            // Below, a circle through this node may have been cut here.
            if plan.nodes[Int(id)].applicators.isEmpty { result = 0 }
        }
        if depth > Self.maximumNesting || result > Self.maximumNesting {
            let error = ConstraintError(
                .schema, plan.nodes[Int(id)].path,
                "schemas apply through one another more than \(Self.maximumNesting) deep or in a circle")
            guard dropsUnenforceable else { throw error }
            note(error)
            plan.nodes[Int(id)].applicators = []
            loosened.append(id)
            result = 0
        }
        heights[Int(id)] = result
        return result
    }

    // MARK: Dropped keywords

    /// Removes what would allow less after keywords were dropped below it: `not {pattern}` must not become `not {}`.
    private mutating func loosen() {
        guard !loosened.isEmpty else { return }
        var users: [[SchemaNode.ID]] = Array(repeating: [], count: plan.nodes.count)
        for (id, node) in plan.nodes.enumerated() {
            for child in node.children { users[Int(child)].append(SchemaNode.ID(id)) }
        }
        var isLoose = Array(repeating: false, count: plan.nodes.count)
        var pending = loosened
        while let id = pending.popLast() {
            guard !isLoose[Int(id)] else { continue }
            isLoose[Int(id)] = true
            pending += users[Int(id)]
        }
        for id in plan.nodes.indices where isLoose[id] { plan.nodes[id].loosen { isLoose[Int($0)] } }
    }

    private mutating func compile(_ value: SchemaJSON, _ place: ScopedPointer, into id: SchemaNode.ID)
        throws(ConstraintError)
    {
        switch value {
        case .bool(let isTrue): if !isTrue { plan.nodes[Int(id)].types = [] }
        case .object(let members): try compile(members, place, into: id)
        default:
            let error = ConstraintError(
                .schema, place.pointer.text, "a schema is an object or a boolean, this is \(value.kind)")
            guard dropsUnenforceable else { throw error }
            note(error)
            loosened.append(id)
        }
    }

    private mutating func compile(
        _ members: SchemaJSON.Members, _ place: ScopedPointer, into id: SchemaNode.ID
    ) throws(ConstraintError) {
        var members = members
        let (nodes, waiting) = (plan.nodes.count, pending.count)
        while true {
            var reading = Reading(members: members, place: place, node: SchemaNode(pointer: place.pointer))
            do throws(ConstraintError) {
                try compile(&reading)
                plan.nodes[Int(id)] = reading.node
                return
            } catch {
                guard dropsUnenforceable, let keyword = error.keyword(in: place.pointer), members[keyword] != nil
                else { throw error }
                note(error)
                loosened.append(id)
                if !hasReferences {
                    // The schema's children are found again.
                    plan.nodes.removeLast(plan.nodes.count - nodes)
                    pending.removeLast(pending.count - waiting)
                }
                let hidesAll = keyword == .ref && index.draft.hidesSiblingsOfReferences
                members = hidesAll ? .init([:]) : members.without(keyword.droppedWithIt)
            }
        }
    }

    /// A schema object being compiled.
    private struct Reading {
        let members: SchemaJSON.Members
        let place: ScopedPointer
        var node: SchemaNode

        func fail(_ keyword: Keyword, _ message: String) -> ConstraintError {
            ConstraintError(.schema, place.pointer.appending(keyword).text, message)
        }

        func expected(_ what: String, _ keyword: Keyword, _ found: SchemaJSON) -> ConstraintError {
            fail(keyword, "expected \(what), found \(found.kind)")
        }

        func count(_ keyword: Keyword) throws(ConstraintError) -> Int? {
            guard let value = members[keyword] else { return nil }
            guard case .number(let number) = value, number.isInteger, !number.isNegative else {
                throw expected("a whole number that is not negative", keyword, value)
            }
            return number.smallInteger ?? 1_000_000_000
        }

        func number(_ keyword: Keyword) throws(ConstraintError) -> Decimal? {
            guard let value = members[keyword] else { return nil }
            guard case .number(let number) = value else { throw expected("a number", keyword, value) }
            guard !number.isCut else { throw fail(keyword, "more than \(Decimal.digits) digits are not supported") }
            return number
        }

        func strings(_ keyword: Keyword, _ value: SchemaJSON) throws(ConstraintError) -> [[UInt8]] {
            guard case .array(let items) = value else { throw expected("an array of strings", keyword, value) }
            var result: [[UInt8]] = []
            for item in items {
                guard case .string(let text) = item else { throw expected("an array of strings", keyword, item) }
                result.append(text)
            }
            return result
        }

        func flag(_ keyword: Keyword) throws(ConstraintError) -> Bool {
            guard let value = members[keyword] else { return false }
            guard case .bool(let flag) = value else { throw expected("a boolean", keyword, value) }
            return flag
        }
    }

    private mutating func compile(_ reading: inout Reading) throws(ConstraintError) {
        try references(&reading)
        if index.draft.hidesSiblingsOfReferences, reading.members[.ref] != nil { return }
        try types(&reading)
        try enumerations(&reading)
        try strings(&reading)
        try numbers(&reading)
        try objects(&reading)
        try arrays(&reading)
        try applicators(&reading)
    }

    private mutating func child(
        _ reading: Reading, _ keyword: Keyword, _ value: SchemaJSON, at place: Pointer.Position = .itself
    ) throws(ConstraintError) -> SchemaNode.ID {
        try node(value, reading.place.pointer.appending(keyword).appending(place), scope: reading.place.scope)
    }

    private mutating func childIfPresent(
        _ reading: Reading, _ keyword: Keyword
    ) throws(ConstraintError) -> SchemaNode.ID? {
        guard let value = reading.members[keyword] else { return nil }
        return try child(reading, keyword, value)
    }

    private mutating func children(_ reading: Reading, _ keyword: Keyword) throws(ConstraintError) -> [SchemaNode.ID]? {
        guard let value = reading.members[keyword] else { return nil }
        guard case .array(let items) = value else { throw reading.expected("an array of schemas", keyword, value) }
        var result: [SchemaNode.ID] = []
        for (index, item) in items.enumerated() {
            result.append(try child(reading, keyword, item, at: .index(index)))
        }
        return result
    }

    // MARK: Keywords

    private mutating func references(_ reading: inout Reading) throws(ConstraintError) {
        for keyword in [Keyword.recursiveRef, .extends, .disallow, .divisibleBy] where reading.members[keyword] != nil {
            if keyword != .recursiveRef && index.draft != .draft4 { continue }
            throw reading.fail(keyword, "this keyword is not supported")
        }
        for keyword in [Keyword.ref, .dynamicRef] {
            guard let value = reading.members[keyword] else { continue }
            if keyword == .dynamicRef, !index.draft.hasAnchors { continue }
            guard case .string(let bytes) = value else { throw reading.expected("a string", keyword, value) }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let target = index.resolve(text, base: index.base(at: reading.place.pointer)) else {
                throw reading.fail(keyword, "\"\(text)\" is not in this document; remote references are not fetched")
            }
            var pointer: Pointer
            switch target {
            case .place(let place): pointer = place
            case .dynamic(let place, let name):
                pointer = place
                if keyword == .dynamicRef {
                    for resource in reading.place.scope {
                        guard let outer = index.dynamicAnchors[resource]?[name] else { continue }
                        pointer = outer
                        break
                    }
                }
            }
            guard let value = index.value(at: pointer) else { continue }
            reading.node.applicators.append(.all([try node(value, pointer, scope: reading.place.scope)]))
        }
    }

    private func types(_ reading: inout Reading) throws(ConstraintError) {
        guard let value = reading.members[.type] else { return }
        var names: [[UInt8]] = []
        if case .string(let name) = value { names = [name] } else { names = try reading.strings(.type, value) }
        var types: TypeSet = []
        for name in names {
            switch String(decoding: name, as: UTF8.self) {
            case "null": types.insert(.null)
            case "boolean": types.insert(.boolean)
            case "integer": types.insert(.integer)
            case "number": types.formUnion(.number)
            case "string": types.insert(.string)
            case "array": types.insert(.array)
            case "object": types.insert(.object)
            case "any" where index.draft == .draft4: types = .all
            case let other: throw reading.fail(.type, "\"\(other)\" is not a type")
            }
        }
        reading.node.types = types
    }

    private mutating func enumerations(_ reading: inout Reading) throws(ConstraintError) {
        for keyword in [Keyword.enum, .const] {
            guard let value = reading.members[keyword] else { continue }
            var values = [value]
            if keyword == .enum {
                guard case .array(let items) = value else { throw reading.expected("an array", keyword, value) }
                values = items
            } else if index.draft == .draft4 {
                continue
            }
            var node = SchemaNode(pointer: reading.place.pointer.appending(keyword))
            let composed = try enumerate(values, in: &node)
            let scalars = try add(node)
            reading.node.applicators.append(composed.isEmpty ? .all([scalars]) : .any([scalars] + composed))
        }
    }

    /// Makes `node` accept the listed scalars; listed arrays and objects get nodes of their own.
    private mutating func enumerate(
        _ values: [SchemaJSON], in node: inout SchemaNode
    ) throws(ConstraintError) -> [SchemaNode.ID] {
        var (list, strings, composed) = (SchemaNode.Enumeration(), [[UInt8]](), [SchemaNode.ID]())
        for value in values {
            switch value {
            case .null: list.null = true
            case .bool(true): list.isTrue = true
            case .bool(false): list.isFalse = true
            case .number(let number): list.numbers.insert(number)
            case .string(let text): strings.append(text)
            case .array, .object: composed.append(try constant(value, at: node.pointer))
            }
        }
        if !strings.isEmpty {
            list.strings = plan.atoms.count
            plan.atoms.append(.text(.members(StringSet(strings))))
        }
        node.enumeration = list
        return composed
    }

    /// A node that accepts exactly one value.
    private mutating func constant(_ value: SchemaJSON, at pointer: Pointer) throws(ConstraintError) -> SchemaNode.ID {
        var node = SchemaNode(pointer: pointer)
        switch value {
        case .array(let items):
            node.types = .array
            for item in items { node.arrays.prefix.append(try constant(item, at: pointer)) }
            node.arrays.items = try nothing(pointer)
            node.arrays.minimum = items.count
        case .object(let members):
            node.types = .object
            for member in members.list {
                node.objects.properties.append((member.key, try constant(member.value, at: pointer)))
                node.objects.required.append(member.key)
            }
            node.objects.additional = try nothing(pointer)
        default: _ = try enumerate([value], in: &node)
        }
        return try add(node)
    }

    private mutating func nothing(_ pointer: Pointer) throws(ConstraintError) -> SchemaNode.ID {
        var node = SchemaNode(pointer: pointer)
        node.types = []
        return try add(node)
    }

    private mutating func pattern(_ source: String) throws(RegexError) -> Int {
        if let known = patterns[source] { return known }
        return add(.text(.pattern(try RegexParser.search(source, in: plan.terms))), source)
    }

    private mutating func add(_ atom: SchemaAtom, _ source: String) -> Int {
        plan.atoms.append(atom)
        patterns[source] = plan.atoms.count - 1
        return plan.atoms.count - 1
    }

    private mutating func strings(_ reading: inout Reading) throws(ConstraintError) {
        if let count = try reading.count(.minLength) { reading.node.strings.minimum = count }
        if let count = try reading.count(.maxLength) { reading.node.strings.maximum = count }
        if let value = reading.members[.pattern] {
            guard case .string(let bytes) = value else { throw reading.expected("a string", .pattern, value) }
            let atom = try checked(
                String(decoding: bytes, as: UTF8.self), at: reading.place.pointer.appending(.pattern))
            reading.node.strings.atoms.append(atom)
        }
        guard let value = reading.members[.format], !formatsAnnotate else { return }
        guard case .string(let bytes) = value else { throw reading.expected("a string", .format, value) }
        let name = String(decoding: bytes, as: UTF8.self)
        switch Formats.rule(name) {
        case .pattern(let source, let maximum)?:
            reading.node.strings.atoms.append(patterns[source] ?? add(.format(source), source))
            if let maximum { reading.node.strings.maximum = min(reading.node.strings.maximum, maximum) }
        case .integers(let low, let high)?:
            reading.node.numbers.lower.append(.init(value: low, isExclusive: false))
            reading.node.numbers.upper.append(.init(value: high, isExclusive: false))
        case .annotation?: break
        // An annotation, as the specification has it.
        case nil: note(reading.fail(.format, "the format \"\(name.prefix(64))\" is not known"))
        }
    }

    private mutating func checked(_ source: String, at pointer: Pointer) throws(ConstraintError) -> Int {
        do throws(RegexError) {
            return try pattern(source)
        } catch {
            throw ConstraintError(.schema, pointer.text, error.message)
        }
    }

    private func numbers(_ reading: inout Reading) throws(ConstraintError) {
        for isLower in [true, false] {
            let keyword: Keyword = isLower ? .minimum : .maximum
            let exclusive: Keyword = isLower ? .exclusiveMinimum : .exclusiveMaximum
            var bounds: [SchemaNode.Bound] = []
            // In draft 4 a flag makes the other bound exclusive; generators write it into schemas of other drafts too.
            if case .bool(let flag)? = reading.members[exclusive] {
                if let bound = try reading.number(keyword) { bounds.append(.init(value: bound, isExclusive: flag)) }
            } else {
                if let bound = try reading.number(keyword) { bounds.append(.init(value: bound, isExclusive: false)) }
                if let bound = try reading.number(exclusive) { bounds.append(.init(value: bound, isExclusive: true)) }
            }
            if isLower { reading.node.numbers.lower += bounds } else { reading.node.numbers.upper += bounds }
        }
        if let step = try reading.number(.multipleOf) {
            guard !step.isNegative, !step.isZero else { throw reading.fail(.multipleOf, "expected more than 0") }
            guard step.mantissa < 1_000_000_000_000_000_000 else {
                throw reading.fail(.multipleOf, "more than 18 digits are not supported")
            }
            reading.node.numbers.multiples.append(step)
        }
    }

    private mutating func objects(_ reading: inout Reading) throws(ConstraintError) {
        var rules = SchemaNode.Objects()
        func members(_ keyword: Keyword) throws(ConstraintError) -> SchemaJSON.Members? {
            guard let value = reading.members[keyword] else { return nil }
            guard case .object(let members) = value else { throw reading.expected("an object", keyword, value) }
            return members
        }
        for (key, _, value) in try members(.properties)?.list ?? [] {
            rules.properties.append((key, try child(reading, .properties, value, at: .key(key))))
        }
        for (key, _, value) in try members(.patternProperties)?.list ?? [] {
            let pointer = reading.place.pointer.appending(.patternProperties).appending(key)
            let atom = try checked(String(decoding: key, as: UTF8.self), at: pointer)
            rules.patterns.append((atom, try child(reading, .patternProperties, value, at: .key(key))))
        }
        rules.additional = try childIfPresent(reading, .additionalProperties)
        if index.draft != .draft4 { rules.names = try childIfPresent(reading, .propertyNames) }
        if let value = reading.members[.required] { rules.required = try reading.strings(.required, value) }
        if let count = try reading.count(.minProperties) { rules.minimum = count }
        if let count = try reading.count(.maxProperties) { rules.maximum = count }
        for keyword in [Keyword.dependentRequired, .dependencies, .dependentSchemas] {
            if keyword != .dependencies, index.draft != .draft2020 { continue }
            for (key, _, value) in try members(keyword)?.list ?? [] {
                if case .array = value, keyword != .dependentSchemas {
                    rules.dependentRequired.append((key, try reading.strings(keyword, value)))
                } else if case .string(let name) = value, keyword == .dependencies, index.draft == .draft4 {
                    rules.dependentRequired.append((key, [name]))
                } else if keyword == .dependentRequired {
                    throw reading.expected("an array of strings", keyword, value)
                } else {
                    reading.node.applicators.append(
                        .dependent(name: key, try child(reading, keyword, value, at: .key(key))))
                }
            }
        }
        if index.draft == .draft2020 { rules.unevaluated = try childIfPresent(reading, .unevaluatedProperties) }
        reading.node.objects = rules
    }

    private mutating func arrays(_ reading: inout Reading) throws(ConstraintError) {
        var rules = SchemaNode.Arrays()
        var rest = Keyword.items
        if let prefix = try children(reading, .prefixItems), index.draft == .draft2020 {
            rules.prefix = prefix
        } else if case .array? = reading.members[.items] {
            rules.prefix = try children(reading, .items) ?? []
            rest = .additionalItems
        }
        rules.items = try childIfPresent(reading, rest)
        if index.draft != .draft4, let contained = try childIfPresent(reading, .contains) {
            rules.contains = contained
            rules.containsEvaluates = index.draft == .draft2020
            if index.draft == .draft2020 {
                rules.minimumContained = try reading.count(.minContains) ?? 1
                rules.maximumContained = try reading.count(.maxContains) ?? .max
            }
        }
        rules.isUnique = try reading.flag(.uniqueItems)
        if let count = try reading.count(.minItems) { rules.minimum = count }
        if let count = try reading.count(.maxItems) { rules.maximum = count }
        if index.draft == .draft2020 { rules.unevaluated = try childIfPresent(reading, .unevaluatedItems) }
        reading.node.arrays = rules
    }

    private mutating func applicators(_ reading: inout Reading) throws(ConstraintError) {
        for keyword in [Keyword.allOf, .anyOf, .oneOf] {
            guard let list = try children(reading, keyword) else { continue }
            guard !list.isEmpty else { throw reading.fail(keyword, "at least one schema is expected") }
            switch keyword {
            case .allOf: reading.node.applicators.append(.all(list))
            case .anyOf: reading.node.applicators.append(.any(list))
            default: reading.node.applicators.append(.one(list))
            }
        }
        if let negated = try childIfPresent(reading, .not) { reading.node.applicators.append(.not(negated)) }
        if index.draft != .draft4, let condition = try childIfPresent(reading, .if) {
            let then = try childIfPresent(reading, .then)
            let otherwise = try childIfPresent(reading, .else)
            reading.node.applicators.append(.conditional(if: condition, then: then, else: otherwise))
        }
    }
}

extension ConstraintError {
    /// The keyword of the schema at `pointer` that the error is about.
    fileprivate func keyword(in pointer: Pointer) -> Keyword? {
        let start = pointer.text + "/"
        return path.hasPrefix(start) ? Keyword(Array(path.dropFirst(start.count).prefix { $0 != "/" }.utf8)) : nil
    }
}

extension SchemaNode {
    /// The schemas that it refers to.
    fileprivate var children: [ID] {
        applied + objects.properties.map(\.schema) + objects.patterns.map(\.schema) + arrays.prefix
            + [
                objects.additional, objects.names, objects.unevaluated, arrays.items, arrays.contains,
                arrays.unevaluated,
            ].compactMap { $0 }
    }

    /// Allows everything that the schema allows, given that some of its children allow more than theirs.
    fileprivate mutating func loosen(_ isLoose: (ID) -> Bool) {
        if applied.contains(where: isLoose) || arrays.contains.map(isLoose) == true {
            // What an applied schema evaluates may depend on what was dropped.
            (objects.unevaluated, arrays.unevaluated) = (nil, nil)
        }
        applicators = applicators.compactMap { applicator in
            switch applicator {
            case .not(let id) where isLoose(id): nil
            case .conditional(let condition, _, _) where isLoose(condition): nil
            case .one(let list) where list.contains(where: isLoose): .any(list)
            default: applicator
            }
        }
        if let id = arrays.contains, isLoose(id) { arrays.maximumContained = .max }
    }

    /// The schemas of its applicators.
    var applied: [ID] {
        applicators.flatMap { applicator -> [ID] in
            switch applicator {
            case .all(let list), .any(let list), .one(let list): list
            case .not(let id), .dependent(_, let id): [id]
            case .conditional(let condition, let then, let otherwise):
                [condition] + [then, otherwise].compactMap { $0 }
            }
        }
    }
}
