public import KernelFormats
public func dequantize(_ type: TensorType, _ source: UnsafeRawPointer, into d: UnsafeMutablePointer<Float>, count: Int)
{
    if type == .F32 { for i in 0..<count { d[i] = (source + 4 * i).loadUnaligned(as: Float.self) } }
}
@inline(never)
public func halfToFloat(_ s: UnsafePointer<UInt16>, _ d: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<count { d[i] = floatFromHalf(s[i]) }
}
