import CIntrinsics

/// Whether this processor and operating system have the instructions of these kernels.
public func isSupported() -> Bool { cpu_has_avx512_vnni() != 0 }

/// Whether the registers hold the sums of two groups of 16 rows by six columns.
@inline(__always) var fitsTwoGroups: Bool { true }
