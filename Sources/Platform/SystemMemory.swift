/// The memory that this process may use.
package enum SystemMemory {
    /// Bytes that can be allocated without swapping or being killed: the smallest of the kernel's estimate for the
    /// machine and what remains of control group and `ulimit` limits. 1 GiB if the kernel gives no estimate.
    ///
    /// - Parameter root: Prefix of the kernel's paths, for tests.
    package static func available(root: String = "") -> Int {
        let machine = value(of: "MemAvailable:", in: root + "/proc/meminfo").map { $0 << 10 } ?? 1 << 30
        return ControlGroup.all(controller: "memory", root: root).compactMap(room)
            .reduce(min(machine, addressSpace(root) ?? machine), min)
    }

    /// Address space that thread stacks and malloc arenas reserve later, kept free under `ulimit -v` (RLIMIT_AS).
    private static let reservedAddresses = 256 << 20

    /// Bytes left of the process's address space limit; `nil`: no limit.
    private static func addressSpace(_ root: String) -> Int? {
        let line = (kernelFile(root + "/proc/self/limits") ?? "").split(separator: "\n")
            .first { $0.hasPrefix("Max address space") }
        guard let limit = line?.split(separator: " ").dropFirst(3).first.flatMap({ Int($0) }),
            let used = value(of: "VmSize:", in: root + "/proc/self/status")
        else { return nil }
        return max(0, limit - (used << 10) - reservedAddresses)
    }

    /// Bytes left in a group. The page cache counts as used, but is dropped under memory pressure.
    private static func room(in group: ControlGroup) -> Int? {
        let isVersion2 = group.version == 2
        let (limitFile, usageFile) =
            isVersion2 ? ("memory.max", "memory.current") : ("memory.limit_in_bytes", "memory.usage_in_bytes")
        // Without a limit, version 2 has "max", and version 1 a number near 2^63.
        guard let limit = kernelFile("\(group.path)/\(limitFile)").flatMap({ Int($0) }),
            let usage = kernelFile("\(group.path)/\(usageFile)").flatMap({ Int($0) })
        else { return nil }
        // In version 1, sums over a group and its descendants begin with "total_".
        let prefix = isVersion2 ? "" : "total_"
        let files = ["inactive_file", "active_file"].reduce(0) {
            $0 + (value(of: prefix + $1, in: "\(group.path)/memory.stat") ?? 0)
        }
        return max(0, limit - max(0, usage - files))
    }

    /// The number after a name in a kernel file with one entry per line.
    private static func value(of name: String, in path: String) -> Int? {
        for line in (kernelFile(path) ?? "").split(separator: "\n") {
            let fields = line.split(whereSeparator: \.isWhitespace)
            if fields.count >= 2, fields[0] == name { return Int(fields[1]) }
        }
        return nil
    }
}

/// Asks for pages of 2 MiB, which avoid TLB misses where memory is read from end to end.
///
/// - Returns: Whether the system may give them.
@discardableResult
package func preferHugePages(_ memory: UnsafeMutableRawPointer, bytes: Int) -> Bool {
    #if os(Linux)
        madvise(memory, bytes, MADV_HUGEPAGE) == 0
    #else
        false
    #endif
}
