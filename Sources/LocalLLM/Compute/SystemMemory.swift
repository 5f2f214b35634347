/// The memory that this process may use.
enum SystemMemory {
    /// Bytes that new allocations can have without swapping and without being killed: what the kernel estimates for the
    /// machine, or what a control group or `ulimit` leaves of its limit. 1 GiB where the kernel says nothing.
    ///
    /// - Parameter root: What the paths of the kernel's files start with; tests have their own.
    static func available(root: String = "") -> Int {
        let machine = value(of: "MemAvailable:", in: root + "/proc/meminfo").map { $0 << 10 } ?? 1 << 30
        return ControlGroup.all(controller: "memory", root: root).compactMap(room)
            .reduce(min(machine, addressSpace(root) ?? machine), min)
    }

    /// Of a limited address space (`ulimit -v`, RLIMIT_AS): what stacks of threads and malloc's arenas reserve of it later.
    private static let reservedAddresses = 256 << 20

    /// What a limit of the process leaves of its address space; `nil` where there is none. Beyond it nothing can be allocated.
    private static func addressSpace(_ root: String) -> Int? {
        let line = (kernelFile(root + "/proc/self/limits") ?? "").split(separator: "\n")
            .first { $0.hasPrefix("Max address space") }
        guard let limit = line?.split(separator: " ").dropFirst(3).first.flatMap({ Int($0) }),
            let used = value(of: "VmSize:", in: root + "/proc/self/status")
        else { return nil }
        return max(0, limit - (used << 10) - reservedAddresses)
    }

    /// What a group has left. The contents of files count as used but are dropped when memory runs short.
    private static func room(in group: ControlGroup) -> Int? {
        let isVersion2 = group.version == 2
        let (limitFile, usageFile) =
            isVersion2 ? ("memory.max", "memory.current") : ("memory.limit_in_bytes", "memory.usage_in_bytes")
        // "max" is no limit. Version 1 then has a number near 2^63, which limits nothing either.
        guard let limit = kernelFile("\(group.path)/\(limitFile)").flatMap({ Int($0) }),
            let usage = kernelFile("\(group.path)/\(usageFile)").flatMap({ Int($0) })
        else { return nil }
        // Of version 1, the sums over a group and those below it begin with "total_".
        let prefix = isVersion2 ? "" : "total_"
        let files = ["inactive_file", "active_file"].reduce(0) {
            $0 + (value(of: prefix + $1, in: "\(group.path)/memory.stat") ?? 0)
        }
        return max(0, limit - max(0, usage - files))
    }

    /// The number after a name in one of the kernel's lists.
    private static func value(of name: String, in path: String) -> Int? {
        for line in (kernelFile(path) ?? "").split(separator: "\n") {
            let fields = line.split(whereSeparator: \.isWhitespace)
            if fields.count >= 2, fields[0] == name { return Int(fields[1]) }
        }
        return nil
    }
}
