import Foundation

/// A control group that limits this process: its own or one above it, of version 1 or 2.
struct ControlGroup {
    let version: Int
    /// The folder of its files.
    let path: String

    /// The groups of one controller that can be seen, the innermost first.
    ///
    /// A container often sees its own group as the root of the mount while `/proc/self/cgroup` names its place on the
    /// host; the folders on the way that do not exist limit nothing.
    ///
    /// - Parameter root: What the paths of the kernel's files start with; tests have their own.
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

/// The text of a small file of the kernel's.
func kernelFile(_ path: String) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
}
