/// A pointer in the arguments of a kernel, or `nil`.
///
/// It is stored as a number: to copy an optional out of a large structure, Swift 6.0 calls a function that it emits in each
/// module, so that the tiers would share it (Tests/House/tiers.sh).
@propertyWrapper
public struct OptionalPointer<Pointee> {
    /// 0 for `nil`.
    @usableFromInline var address: UInt

    @inlinable
    public init(wrappedValue: UnsafePointer<Pointee>?) { address = UInt(bitPattern: wrappedValue) }

    @inlinable
    public var wrappedValue: UnsafePointer<Pointee>? {
        get { UnsafePointer(bitPattern: address) }
        set { address = UInt(bitPattern: newValue) }
    }
}
