import Foundation

/// The number of threads to use: one per usable physical core, limited by the control group's quota.
package enum ProcessorCount {
    package static func usable() -> Int {
        let allowed = affinity()
        let cores = Set(allowed.map { siblings(of: $0) })
        var count = max(1, cores.count)
        if let quota = controlGroupQuota() { count = min(count, max(1, Int(quota.rounded(.down)))) }
        return count
    }

    /// The processors in this process's affinity mask, from the kernel's list (`0-3,8`).
    private static func affinity() -> [Int] {
        let line = (kernelFile("/proc/self/status") ?? "").split(separator: "\n").first {
            $0.starts(with: "Cpus_allowed_list:")
        }
        let ranges = line?.split(whereSeparator: { ":\t ,".contains($0) }).dropFirst() ?? []
        return ranges.flatMap { range -> [Int] in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last, last < 1 << 16 else { return [] }
            return Array(first...last)
        }
    }

    /// The hardware threads that share a core with `cpu`, in the kernel's list format (`0,4`).
    private static func siblings(of cpu: Int) -> String {
        kernelFile("/sys/devices/system/cpu/cpu\(cpu)/topology/thread_siblings_list") ?? "\(cpu)"
    }

    /// The lowest CPU quota, in cores, of this process's control groups.
    private static func controlGroupQuota() -> Double? {
        ControlGroup.all(controller: "cpu").compactMap { $0.version == 2 ? quotaV2($0.path) : quotaV1($0.path) }.min()
    }

    private static func quotaV2(_ group: String) -> Double? {
        let fields = (kernelFile(group + "/cpu.max") ?? "").split(separator: " ")
        guard fields.count == 2, let quota = Double(fields[0]), let period = Double(fields[1]), period > 0 else {
            return nil  // "max 100000": no limit
        }
        return quota / period
    }

    private static func quotaV1(_ group: String) -> Double? {
        guard let quota = kernelFile(group + "/cpu.cfs_quota_us").flatMap(Double.init), quota > 0,
            let period = kernelFile(group + "/cpu.cfs_period_us").flatMap(Double.init), period > 0
        else { return nil }
        return quota / period
    }
}

/// The processor's caches and name, as the system's kernel gives them.
package enum ProcessorInfo {
    /// Such as `AMD EPYC 7543`; on ARM, where the kernel gives no name, the numbers of the implementer and the part.
    package static let name: String = {
        if let name = field("model name", of: "/proc/cpuinfo") { return name }
        guard let implementer = field("CPU implementer", of: "/proc/cpuinfo"),
            let part = field("CPU part", of: "/proc/cpuinfo")
        else { return "unknown" }
        return "ARM, implementer \(implementer), part \(part)"
    }()

    /// Bytes of the largest cache; 0 if unknown. (On AMD, `sysconf` gives the sum of all in a package.)
    package static func largestCache() -> Int {
        let sizes = (0..<6).compactMap { index -> Int? in
            guard let text = kernelFile("/sys/devices/system/cpu/cpu0/cache/index\(index)/size") else { return nil }
            let digits = text.prefix { $0.isNumber }
            let unit = text.dropFirst(digits.count).first == "M" ? 1 << 20 : 1 << 10
            return Int(digits).map { $0 * unit }
        }
        return sizes.max() ?? 0
    }
}
