public import Observation
import Synchronization

/// The values of a session that its profiles, instructions and tools share.
///
///     extension SessionPropertyValues {
///         @SessionPropertyEntry var count = 0
///     }
///
/// Read and written as `@SessionProperty(\.count) var count` in profiles, modifiers, instructions and tools, and as
/// `session.properties.count`.
public final class SessionPropertyValues: Observable, Sendable {
    /// `@unchecked Sendable`: a value that is not `Sendable` is the app's to protect, as any state that its tools share.
    private struct Stored: @unchecked Sendable {
        let value: Any
    }

    private let values = Mutex<[ObjectIdentifier: Stored]>([:])
    private let registrar = ObservationRegistrar()
    private let sessionReference = Mutex(WeakSession())

    private struct WeakSession: Sendable {
        weak var session: LanguageModelSession?
    }

    init() {}

    /// The session whose values these are.
    var session: LanguageModelSession? {
        get { sessionReference.withLock { $0.session } }
        set { sessionReference.withLock { $0.session = newValue } }
    }

    /// The value under a key; its default until one is set. Reading and setting are observable.
    public subscript<Key: SessionPropertyKey>(key: Key.Type) -> Key.Value {
        get {
            registrar.access(self, keyPath: \.session)
            let stored = values.withLock { $0[ObjectIdentifier(key)] }
            return stored?.value as? Key.Value ?? Key.defaultValue
        }
        set {
            let stored = Stored(value: newValue)
            values.withLock { $0[ObjectIdentifier(key)] = stored }
            registrar.withMutation(of: self, keyPath: \.session) {}
        }
    }
}

extension SessionPropertyValues {
    /// The transcript without the leading instructions. Assigning changes the transcript for all profiles; it is allowed
    /// while the session is idle and in callbacks of profiles. A tool or instructions that assign end the request with
    /// `LanguageModelSession.Error.transcriptMutationWhileResponding`.
    public var history: ArraySlice<Transcript.Entry> {
        get { session?.transcript.history ?? [] }
        set { session?.change { $0.history = newValue } }
    }
}

/// The key of a session property, with its first value.
public protocol SessionPropertyKey: SendableMetatype {
    /// The property's type. A value that is not `Sendable` is the app's to protect.
    associatedtype Value
    /// What the property is in a session that has not set it. Read each time, so it should be cheap.
    static var defaultValue: Value { get }
}

/// Where code runs on behalf of a session.
struct SessionScope: Sendable {
    @TaskLocal static var current: SessionScope?

    let properties: SessionPropertyValues
    /// Whether the code is a callback of a profile, which may change the history.
    var isCallback = false
}

extension LanguageModelSession {
    /// A session property, in a profile, a modifier, instructions or a tool. Outside of a session's work it has its first
    /// value, and does not keep another.
    @propertyWrapper
    public struct SessionProperty<Value> {
        private let keyPath: ReferenceWritableKeyPath<SessionPropertyValues, Value>

        /// As `@SessionProperty(\.count) var count`.
        public init(_ keyPath: ReferenceWritableKeyPath<SessionPropertyValues, Value>) { self.keyPath = keyPath }

        /// The value in the session that the code runs for.
        public var wrappedValue: Value {
            get { properties[keyPath: keyPath] }
            nonmutating set { properties[keyPath: keyPath] = newValue }
        }

        private var properties: SessionPropertyValues { SessionScope.current?.properties ?? SessionPropertyValues() }
    }
}

/// `@unchecked`: a key path to a property has no state that changes.
extension LanguageModelSession.SessionProperty: @unchecked Sendable where Value: Sendable {}

extension DynamicInstructions {
    /// Lets instructions say `@SessionProperty(\.count) var count`.
    public typealias SessionProperty = LanguageModelSession.SessionProperty
}

extension Tool {
    /// Lets a tool say `@SessionProperty(\.count) var count`.
    public typealias SessionProperty = LanguageModelSession.SessionProperty
}

extension LanguageModelSession.DynamicProfile {
    /// Lets a profile say `@SessionProperty(\.count) var count`.
    public typealias SessionProperty = LanguageModelSession.SessionProperty
}

extension LanguageModelSession.DynamicProfileModifier {
    /// Lets a modifier say `@SessionProperty(\.count) var count`.
    public typealias SessionProperty = LanguageModelSession.SessionProperty
}

#if LOCALLLM_MACROS
    /// Declares a session property, in an extension of `SessionPropertyValues`. It needs an initial value.
    @attached(accessor)
    @attached(peer, names: prefixed(__Key_))
    public macro SessionPropertyEntry() = #externalMacro(module: "LocalLLMMacros", type: "SessionPropertyEntryMacro")

    /// Turns the initial value of a session property into a computed one. For code that `@SessionPropertyEntry` generates.
    @attached(accessor)
    public macro __SessionPropertyEntryDefaultValue() =
        #externalMacro(module: "LocalLLMMacros", type: "SessionPropertyEntryDefaultValueMacro")
#endif
