/// Instructions and tools that depend on the state of the app. A session evaluates the body before each request to the
/// model, so it must have no effects.
///
///     struct Presentation: DynamicInstructions {
///         var isEditing: Bool
///         var body: some DynamicInstructions {
///             Instructions("Help people improve their presentation.")
///             ListPhotos()
///             if isEditing { EditingInstructions() }
///         }
///     }
///
/// What seldom changes belongs to the beginning: a change there makes the model compute all that follows it again.
@_typeEraser(AnyDynamicInstructions)
public protocol DynamicInstructions {
    /// The type of the body; inferred.
    associatedtype Body: DynamicInstructions
    /// Instructions and tools, in the order in which the model reads them. Evaluated before each request to the model.
    @DynamicInstructionsBuilder var body: Body { get }
}

/// What dynamic instructions say at one moment.
struct ResolvedInstructions {
    var parts: [Prompt.Part] = []
    var tools: [any Tool] = []
}

/// Instructions that are resolved here, not by a body.
protocol PrimitiveInstructions: DynamicInstructions {
    func resolve(into resolved: inout ResolvedInstructions)
}

extension DynamicInstructions {
    /// Adds the instructions and tools, in the order in which they are declared.
    func add(to resolved: inout ResolvedInstructions) {
        // By the type: an optional is not to be unwrapped.
        if let primitive = Self.self as? any PrimitiveInstructions.Type {
            Self.resolve(self, as: primitive, &resolved)
        } else {
            body.add(to: &resolved)
        }
    }

    private static func resolve<Primitive: PrimitiveInstructions>(
        _ instructions: Self, as _: Primitive.Type, _ resolved: inout ResolvedInstructions
    ) {
        (instructions as! Primitive).resolve(into: &resolved)
    }
}

extension Never: DynamicInstructions {
    public typealias Body = Never
    public var body: Never { fatalError("There is no value of this type.") }
}

/// The body of what has none.
extension PrimitiveInstructions where Body == Never {
    var none: Never { fatalError("\(Self.self) has no body; a session resolves it.") }
}

extension Instructions: PrimitiveInstructions {
    public typealias Body = Never
    public var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) { resolved.parts += parts }
}

extension Optional: DynamicInstructions where Wrapped: DynamicInstructions {
    public typealias Body = Never
    public var body: Never { none }
}

extension Optional: PrimitiveInstructions where Wrapped: DynamicInstructions {
    func resolve(into resolved: inout ResolvedInstructions) { self?.add(to: &resolved) }
}

/// A tool among instructions.
struct ToolInstructions: PrimitiveInstructions {
    typealias Body = Never
    let tool: any Tool
    var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) { resolved.tools.append(tool) }
}

/// Instructions of any type.
public struct AnyDynamicInstructions: PrimitiveInstructions {
    public typealias Body = Never
    private let wrapped: any DynamicInstructions

    /// Hides the type, for instance to return instructions of different types from a function.
    public init(_ dynamicInstructions: any DynamicInstructions) { wrapped = dynamicInstructions }
    /// The same for the compiler, which erases the type where a body can be replaced while the app runs.
    public init(erasing dynamicInstructions: some DynamicInstructions) { self.init(dynamicInstructions) }

    public var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) { wrapped.add(to: &resolved) }
}

/// No instructions and no tools.
public struct EmptyDynamicInstructions: PrimitiveInstructions, Sendable {
    public typealias Body = Never
    /// Adds nothing to what is around it.
    public init() {}
    public var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) {}
}

/// Several instructions, one after the other.
public struct TupleDynamicInstructions<each Content: DynamicInstructions>: PrimitiveInstructions {
    public typealias Body = Never
    private let contents: (repeat each Content)

    /// What a body of several lines becomes.
    public init(_ contents: repeat each Content) { self.contents = (repeat each contents) }

    public var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) {
        repeat (each contents).add(to: &resolved)
    }
}

/// One of two instructions.
public struct ConditionalDynamicInstructions<TrueContent: DynamicInstructions, FalseContent: DynamicInstructions>:
    PrimitiveInstructions
{
    public typealias Body = Never

    /// The branch that was taken.
    public enum Branch {
        /// The condition held.
        case trueContent(TrueContent)
        /// The condition did not hold.
        case falseContent(FalseContent)
    }

    private let branch: Branch

    /// What an `if` with `else`, or a `switch`, in a body becomes.
    public init(_ branch: Branch) { self.branch = branch }

    public var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) {
        switch branch {
        case .trueContent(let content): content.add(to: &resolved)
        case .falseContent(let content): content.add(to: &resolved)
        }
    }
}

/// Instructions for each element of a collection.
public struct DynamicInstructionsForEach<
    Data: RandomAccessCollection, ID: Hashable, Content: DynamicInstructions
>: PrimitiveInstructions {
    public typealias Body = Never
    private let data: Data
    private let content: (Data.Element) -> Content

    /// - Parameter id: Identifies an element.
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>,
        @DynamicInstructionsBuilder content: @escaping (Data.Element) -> Content
    ) {
        self.data = data
        self.content = content
    }

    public var body: Never { none }
    func resolve(into resolved: inout ResolvedInstructions) {
        for element in data { content(element).add(to: &resolved) }
    }
}

extension DynamicInstructionsForEach where ID == Data.Element.ID, Data.Element: Identifiable {
    /// Instructions for each element, in the collection's order.
    public init(_ data: Data, @DynamicInstructionsBuilder content: @escaping (Data.Element) -> Content) {
        self.init(data, id: \.id, content: content)
    }
}

extension DynamicInstructions {
    /// Lets a body say `ForEach(items) { … }`.
    public typealias ForEach = DynamicInstructionsForEach
}

/// Builds dynamic instructions from instructions, tools and conditions.
@resultBuilder
public struct DynamicInstructionsBuilder {
    /// A tool stands for itself: the model may call it while it is in the body.
    public static func buildExpression<T: Tool>(_ expression: T) -> some DynamicInstructions {
        ToolInstructions(tool: expression)
    }

    /// A line of a body as it is.
    public static func buildExpression<T: DynamicInstructions>(_ expression: T) -> T { expression }

    /// A line with a list of tools. Of tools with the same name the first is called.
    public static func buildExpression(_ tools: [any Tool]) -> some DynamicInstructions {
        DynamicInstructionsForEach(tools, id: \.name) { AnyDynamicInstructions(ToolInstructions(tool: $0)) }
    }

    /// A body of several lines.
    @_disfavoredOverload
    public static func buildBlock<each Content: DynamicInstructions>(
        _ contents: repeat each Content
    ) -> TupleDynamicInstructions<repeat each Content> {
        TupleDynamicInstructions(repeat each contents)
    }

    /// A body of one line, without a type around it.
    public static func buildBlock<T: DynamicInstructions>(_ content: T) -> T { content }

    /// A body without lines.
    public static func buildBlock() -> EmptyDynamicInstructions { EmptyDynamicInstructions() }

    /// The branch whose condition held.
    public static func buildEither<TrueContent: DynamicInstructions, FalseContent: DynamicInstructions>(
        first content: TrueContent
    ) -> ConditionalDynamicInstructions<TrueContent, FalseContent> {
        ConditionalDynamicInstructions(.trueContent(content))
    }

    /// The branch of `else`.
    public static func buildEither<TrueContent: DynamicInstructions, FalseContent: DynamicInstructions>(
        second content: FalseContent
    ) -> ConditionalDynamicInstructions<TrueContent, FalseContent> {
        ConditionalDynamicInstructions(.falseContent(content))
    }

    /// An `if` without `else`: nothing unless its condition held.
    public static func buildOptional<Content: DynamicInstructions>(_ content: Content?) -> Content? { content }

    /// The content of `if #available`, whose type other systems may lack.
    public static func buildLimitedAvailability(_ content: some DynamicInstructions) -> AnyDynamicInstructions {
        AnyDynamicInstructions(content)
    }
}
