/// An expression. `height` is the longest path to a leaf; it is limited by the parser, which bounds the recursion of
/// evaluating and freeing a tree.
struct Expression: Sendable {
    indirect enum Kind: Sendable {
        case none
        case bool(Bool)
        case int(Int)
        case double(Double)
        case string(String)
        case name(Symbol)
        case list([Expression])
        case tuple([Expression])
        case dict([DictEntry])
        case attribute(Expression, String)
        case item(Expression, Expression)
        case slice(Expression, start: Expression?, stop: Expression?, step: Expression?)
        case call(Expression, CallArguments)
        /// `input` is nil in `{% filter %}` and `{% set x | f %}`: the rendered body is the input.
        case filter(input: Expression?, FilterName, CallArguments)
        case test(Expression, TestName, CallArguments)
        case not(Expression)
        case negative(Expression)
        case positive(Expression)
        case and(Expression, Expression)
        case or(Expression, Expression)
        case binary(BinaryOperator, Expression, Expression)
        case concat([Expression])
        case compare(Expression, [Comparison])
        case conditional(test: Expression, then: Expression, otherwise: Expression?)
    }

    let kind: Kind
    let line: Int
    let height: Int
}

struct DictEntry: Sendable {
    let key: Expression
    let value: Expression
}

struct Comparison: Sendable {
    let comparator: Comparator
    let right: Expression
}

enum BinaryOperator: String, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case floorDivide = "//"
    case modulo = "%"
    case power = "**"
}

enum Comparator: String, Sendable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case isIn = "in"
    case notIn = "not in"
}

struct CallArguments: Sendable {
    var positional: [Expression] = []
    var named: [NamedArgument] = []
    var unpackedList: Expression?
    var unpackedDict: Expression?

    static let none = CallArguments()
    var isEmpty: Bool { positional.isEmpty && named.isEmpty && unpackedList == nil && unpackedDict == nil }
}

struct NamedArgument: Sendable {
    let name: String
    let value: Expression
}

/// A filter by name; `known` is nil for an unknown name, which fails only when it is evaluated.
struct FilterName: Sendable {
    let name: String
    let known: JinjaFilter?
}

struct TestName: Sendable {
    let name: String
    let known: JinjaTest?
}

/// A variable's name, as an index into ``ParsedTemplate/symbols``.
typealias Symbol = Int

/// Targets of assignment in `set`, `for` and `with`.
indirect enum Target: Sendable {
    case name(Symbol)
    case namespaceAttribute(Symbol, String)
    case tuple([Target])
}

struct Statement: Sendable {
    indirect enum Kind: Sendable {
        case text(String)
        case output(Expression)
        case evaluate(Expression)
        case forLoop(ForLoop)
        case ifElse([Branch], otherwise: [Statement])
        case set(Target, Expression)
        case setBlock(Target, filter: Expression?, body: [Statement])
        case macro(MacroDefinition)
        case callBlock(MacroDefinition, call: Expression)
        case filterBlock(Expression, body: [Statement])
        case with([WithBinding], body: [Statement])
        /// A body with its own scope: `autoescape` and `generation`.
        case scope([Statement])
        /// A `block`, which has access to the top level's variables only.
        case block([Statement])
        case breakLoop
        case continueLoop
    }

    let kind: Kind
    let line: Int
}

struct Branch: Sendable {
    let test: Expression
    let body: [Statement]
}

struct WithBinding: Sendable {
    let target: Target
    let value: Expression
}

struct ForLoop: Sendable {
    let target: Target
    let iterable: Expression
    let test: Expression?
    let body: [Statement]
    let otherwise: [Statement]
    let isRecursive: Bool
}

struct MacroDefinition: Sendable {
    struct Parameter: Sendable {
        let name: String
        let symbol: Symbol
        let defaultValue: Expression?
    }

    /// nil for the body of a `call` block.
    let name: String?
    let symbol: Symbol
    let parameters: [Parameter]
    let body: [Statement]
    // The special names that the body mentions determine which arguments the macro accepts.
    let usesCaller: Bool
    let usesVarargs: Bool
    let usesKwargs: Bool
}

struct ParsedTemplate: Sendable {
    let body: [Statement]
    let symbols: SymbolTable
}

/// Numbers the variable names of a template.
struct SymbolTable: Sendable {
    private(set) var names: [String] = []
    private var index: [String: Symbol] = [:]

    // Fixed numbers, so that the interpreter needs no look-up.
    static let loop: Symbol = 0
    static let caller: Symbol = 1
    static let varargs: Symbol = 2
    static let kwargs: Symbol = 3

    init() {
        for name in ["loop", "caller", "varargs", "kwargs"] { _ = intern(name) }
    }

    mutating func intern(_ name: String) -> Symbol {
        if let symbol = index[name] { return symbol }
        names.append(name)
        index[name] = names.count - 1
        return names.count - 1
    }

    func find(_ name: String) -> Symbol? { index[name] }
}
