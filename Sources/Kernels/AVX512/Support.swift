import CIntrinsics

/// Whether this processor and operating system have the instructions of these kernels.
public func isSupported() -> Bool { cpu_has_avx512_vnni() != 0 }

/// Whether two groups of 16 rows share each broadcast of activations: there are registers for the sums of both.
@inline(__always) var sharesBroadcasts: Bool { true }
