import CIntrinsics

/// Whether this processor and operating system have the instructions of these kernels.
public func isSupported() -> Bool { cpu_has_avx512_vnni() != 0 }
