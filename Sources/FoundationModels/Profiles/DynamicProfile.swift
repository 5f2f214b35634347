extension LanguageModelSession {
    /// What a session is at the moment: instructions, tools, model and options. A body resolves to one `Profile`; a
    /// session evaluates it before each request to the model, so it must have no effects.
    ///
    ///     struct Writing: LanguageModelSession.DynamicProfile {
    ///         var isCreative: Bool
    ///         var body: some DynamicProfile {
    ///             if isCreative {
    ///                 Profile { Instructions("Invent.") }.temperature(1)
    ///             } else {
    ///                 Profile { Instructions("Be exact.") }
    ///             }
    ///         }
    ///     }
    ///
    /// Options of a call win over those of a profile, and of several values the innermost wins. Callbacks and transforms of
    /// all levels run, outermost first.
    @_typeEraser(AnyDynamicProfile)
    public protocol DynamicProfile {
        /// The type of the body; inferred.
        associatedtype Body: DynamicProfile
        /// The profile that is active now. Evaluated before each request to the model.
        @DynamicProfileBuilder var body: Body { get }
    }

    /// Instructions and tools, to which modifiers add a model and options.
    public struct Profile: DynamicProfile {
        public typealias Body = Never
        fileprivate let instructions: any DynamicInstructions

        /// The closure is evaluated at once; state that it reads is that of this moment.
        public init<Content: DynamicInstructions>(@DynamicInstructionsBuilder _ dynamicInstructions: () -> Content) {
            instructions = dynamicInstructions()
        }

        public var body: Never { none }
    }

    /// A profile of any type.
    public struct AnyDynamicProfile: DynamicProfile {
        public typealias Body = Never
        fileprivate let wrapped: any DynamicProfile

        /// Hides the type, for instance to return profiles of different types from a function.
        public init(_ dynamicProfile: any DynamicProfile) { wrapped = dynamicProfile }
        /// The same for the compiler, which erases the type where a body can be replaced while the app runs.
        public init(erasing dynamicProfile: some DynamicProfile) { self.init(dynamicProfile) }

        public var body: Never { none }
    }

    /// One of two profiles.
    public enum ConditionalDynamicProfile<TrueContent: DynamicProfile, FalseContent: DynamicProfile>: DynamicProfile {
        public typealias Body = Never

        /// The condition held.
        case trueContent(TrueContent)
        /// The condition did not hold.
        case falseContent(FalseContent)

        public var body: Never { none }
    }

    /// Builds a profile. Conditions need both branches: exactly one profile is active.
    @resultBuilder
    public struct DynamicProfileBuilder {
        /// The single profile of a body.
        public static func buildBlock<T: DynamicProfile>(_ content: T) -> T { content }

        /// The branch whose condition held.
        public static func buildEither<TrueContent: DynamicProfile, FalseContent: DynamicProfile>(
            first content: TrueContent
        ) -> ConditionalDynamicProfile<TrueContent, FalseContent> {
            .trueContent(content)
        }

        /// The branch of `else`.
        public static func buildEither<TrueContent: DynamicProfile, FalseContent: DynamicProfile>(
            second content: FalseContent
        ) -> ConditionalDynamicProfile<TrueContent, FalseContent> {
            .falseContent(content)
        }

        /// Two profiles in one body: refused by the compiler, with a message.
        @available(
            *, unavailable, message: "The body of a 'DynamicProfile' must evaluate to a single active profile"
        )
        public static func buildBlock<each Content: DynamicProfile>(_ contents: repeat each Content) -> Never {
            fatalError("The body of a profile is a single profile.")
        }

        /// The content of `if #available`, whose type other systems may lack.
        public static func buildLimitedAvailability(_ component: some DynamicProfile) -> AnyDynamicProfile {
            AnyDynamicProfile(component)
        }
    }
}

extension LanguageModelSession.DynamicProfile {
    /// Lets a body say `Profile { … }`.
    public typealias Profile = LanguageModelSession.Profile
    /// The name by which a body declares its type: `some DynamicProfile`.
    public typealias DynamicProfile = LanguageModelSession.DynamicProfile
}

extension Never: LanguageModelSession.DynamicProfile {}

/// A profile that is resolved here, not by a body.
protocol PrimitiveProfile: LanguageModelSession.DynamicProfile {
    func resolve(into resolved: inout ResolvedProfile)
}

extension LanguageModelSession.DynamicProfile {
    func add(to resolved: inout ResolvedProfile) {
        if let primitive = self as? any PrimitiveProfile {
            primitive.resolve(into: &resolved)
        } else {
            resolved.path.append("\(Self.self)")
            body.add(to: &resolved)
        }
    }
}

extension LanguageModelSession.DynamicProfile where Body == Never {
    var none: Never { fatalError("\(Self.self) has no body; a session resolves it.") }
}

extension LanguageModelSession.Profile: PrimitiveProfile {
    func resolve(into resolved: inout ResolvedProfile) { instructions.add(to: &resolved.instructions) }
}

extension LanguageModelSession.AnyDynamicProfile: PrimitiveProfile {
    func resolve(into resolved: inout ResolvedProfile) { wrapped.add(to: &resolved) }
}

extension LanguageModelSession.ConditionalDynamicProfile: PrimitiveProfile {
    func resolve(into resolved: inout ResolvedProfile) {
        switch self {
        case .trueContent(let content):
            resolved.path.append("true")
            content.add(to: &resolved)
        case .falseContent(let content):
            resolved.path.append("false")
            content.add(to: &resolved)
        }
    }
}
