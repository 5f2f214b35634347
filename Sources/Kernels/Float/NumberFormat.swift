/// Numbers of 32 or 16 bits in memory, in any alignment, which kernels read as floats.
public protocol NumberFormat {
    /// Bytes of a number.
    static var bytes: Int { get }
    static func load<V: KernelVector>(_ p: UnsafeRawPointer) -> V
}

public enum FloatNumbers: NumberFormat {
    @inlinable @inline(__always) public static var bytes: Int { 4 }
    @inlinable @inline(__always)
    public static func load<V: KernelVector>(_ p: UnsafeRawPointer) -> V {
        .load(p.assumingMemoryBound(to: Float.self))
    }
}

public enum HalfNumbers: NumberFormat {
    @inlinable @inline(__always) public static var bytes: Int { 2 }
    @inlinable @inline(__always)
    public static func load<V: KernelVector>(_ p: UnsafeRawPointer) -> V { .loadHalves(p) }
}

public enum BFloatNumbers: NumberFormat {
    @inlinable @inline(__always) public static var bytes: Int { 2 }
    @inlinable @inline(__always)
    public static func load<V: KernelVector>(_ p: UnsafeRawPointer) -> V { .loadBFloats(p) }
}
