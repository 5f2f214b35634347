/// A keyword of JSON Schema that means something here.
enum Keyword: String, CaseIterable, Sendable {
    case schema = "$schema"
    case id = "$id"
    case idOfDraft4 = "id"
    case ref = "$ref"
    case dynamicRef = "$dynamicRef"
    case recursiveRef = "$recursiveRef"
    case anchor = "$anchor"
    case dynamicAnchor = "$dynamicAnchor"
    case defs = "$defs"
    case definitions, extends, disallow, divisibleBy
    case type, `enum`, const
    case minLength, maxLength, pattern, format, contentSchema
    case minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
    case properties, patternProperties, additionalProperties, propertyNames, required, minProperties, maxProperties
    case dependentRequired, dependencies, dependentSchemas, unevaluatedProperties
    case prefixItems, items, additionalItems, contains, minContains, maxContains, uniqueItems, minItems, maxItems
    case unevaluatedItems
    case allOf, anyOf, oneOf, not, `if`, then, `else`

    private static let longest = 21
    /// By their length in bytes.
    private static let byLength: [[(text: [UInt8], keyword: Keyword)]] = {
        var lists = [[(text: [UInt8], keyword: Keyword)]](repeating: [], count: longest + 1)
        for keyword in allCases { lists[keyword.rawValue.utf8.count].append((Array(keyword.rawValue.utf8), keyword)) }
        return lists
    }()

    /// - Returns: `nil` for other text.
    init?(_ text: [UInt8]) {
        guard text.count <= Self.longest, let known = Self.byLength[text.count].first(where: { $0.text == text }) else {
            return nil
        }
        self = known.keyword
    }

    /// Whether its value is an object of schemas.
    var isMapOfSchemas: Bool {
        switch self {
        case .properties, .patternProperties, .defs, .definitions, .dependentSchemas, .dependencies: true
        default: false
        }
    }

    /// Whether its value may be an array of schemas.
    var isListOfSchemas: Bool {
        switch self {
        case .allOf, .anyOf, .oneOf, .items, .prefixItems: true
        default: false
        }
    }

    /// Whether its value may be a schema.
    var isSchema: Bool {
        switch self {
        case .not, .if, .then, .else, .items, .additionalItems, .contains, .additionalProperties, .propertyNames,
            .unevaluatedItems, .unevaluatedProperties, .contentSchema:
            true
        default: false
        }
    }

    /// The keywords to drop if this one cannot be enforced: it, and those that would allow less without it.
    var droppedWithIt: Set<Keyword> {
        let evaluations: Set<Keyword> = [self, .unevaluatedProperties, .unevaluatedItems]
        return switch self {
        case .properties, .patternProperties: evaluations.union([.additionalProperties])
        case .prefixItems, .items: evaluations.union([.items, .additionalItems])
        case .minContains: evaluations.union([.contains])
        case .if, .then, .else: evaluations.union([.if])
        default: evaluations
        }
    }
}

/// What a document's keywords say about it as a whole. One walk answers it, and spares most documents the others.
struct SchemaSurvey {
    /// Number of schemas, those in unknown keywords left out.
    private(set) var schemas = 0
    /// Whether some schema may have a URI or an anchor.
    private(set) var hasIdentifiers = false
    private(set) var hasReferences = false
    private(set) var hasKeywordsSince2019 = false
    private(set) var hasKeywordsUntil2019 = false
    private(set) var hasKeywordsSince6 = false
    /// Whether it is written as only draft 4 has it.
    private(set) var hasFormsOf4 = false

    init(_ document: SchemaJSON) {
        if case .object(let members) = document, case .string? = members[.idOfDraft4] { hasFormsOf4 = true }
        walk(document)
    }

    private mutating func walk(_ schema: SchemaJSON) {
        schemas += 1
        guard case .object(let members) = schema else { return }
        for member in members.list {
            guard let keyword = member.keyword else { continue }
            note(keyword, member.value)
            SchemaJSON.forEachSchema(of: keyword, member.value) { value, _ in walk(value) }
        }
    }

    private mutating func note(_ keyword: Keyword, _ value: SchemaJSON) {
        switch keyword {
        case .idOfDraft4: hasIdentifiers = true
        case .id: (hasIdentifiers, hasKeywordsSince6) = (true, true)
        case .anchor, .dynamicAnchor: (hasIdentifiers, hasKeywordsSince2019) = (true, true)
        case .ref: hasReferences = true
        case .dynamicRef: (hasReferences, hasKeywordsSince2019) = (true, true)
        case .defs, .prefixItems, .dependentSchemas, .dependentRequired, .unevaluatedItems,
            .unevaluatedProperties, .minContains, .maxContains:
            hasKeywordsSince2019 = true
        case .definitions, .dependencies, .additionalItems: hasKeywordsUntil2019 = true
        case .items: if case .array = value { hasKeywordsUntil2019 = true }
        case .const, .contains, .propertyNames, .if: hasKeywordsSince6 = true
        case .exclusiveMinimum, .exclusiveMaximum: if case .bool = value { hasFormsOf4 = true }
        default: break
        }
    }
}

extension SchemaJSON {
    /// Calls `body` with each schema that the value of a keyword contains directly, and its place below the keyword.
    static func forEachSchema(of keyword: Keyword, _ value: SchemaJSON, _ body: (SchemaJSON, Pointer.Position) -> Void)
    {
        switch value {
        case .object(let inner) where keyword.isMapOfSchemas:
            for entry in inner.list { body(entry.value, .key(entry.key)) }
        case .array(let items) where keyword.isListOfSchemas:
            for (index, item) in items.enumerated() { body(item, .index(index)) }
        case .object where keyword.isSchema, .bool where keyword.isSchema: body(value, .itself)
        default: break
        }
    }
}
