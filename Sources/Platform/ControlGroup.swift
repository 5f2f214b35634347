import Foundation

/// A control group (cgroup) that limits this process: its own or an ancestor, version 1 or 2.
struct ControlGroup {
    let version: Int
    /// Directory of its files.
    let path: String

    /// The groups of one controller, innermost first. Some directories may not exist.
    ///
    /// In a container the own group is often mounted as the root, while `/proc/self/cgroup` gives the path on the host;
    /// directories on that path that do not exist impose no limit.
    ///
    /// - Parameter root: Prefix of the kernel's paths, for tests.
    static func all(controller: String, root: String = "") -> [ControlGroup] {
        var groups: [ControlGroup] = []
        for line in (kernelFile(root + "/proc/self/cgroup") ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let version = fields[0] == "0" && fields[1].isEmpty ? 2 : 1
            guard version == 2 || fields[1].split(separator: ",").contains(Substring(controller)) else { continue }
            let mount = root + "/sys/fs/cgroup" + (version == 2 ? "" : "/\(controller)")
            var path = fields[2]
            while true {
                groups.append(ControlGroup(version: version, path: mount + (path == "/" ? "" : path)))
                guard path != "/", let slash = path.lastIndex(of: "/") else { break }
                path = slash == path.startIndex ? "/" : path[..<slash]
            }
        }
        return groups
    }
}
