package import Foundation

/// This program and its process.
package enum ThisProcess {
    /// The folder of the program's file, with links resolved.
    package static var folder: URL { file.deletingLastPathComponent() }

    /// The program's file, with links resolved.
    package static var file: URL {
        #if os(Linux)
            let program = URL(fileURLWithPath: "/proc/self/exe")
        #else
            let program = URL(fileURLWithPath: CommandLine.arguments[0])
        #endif
        return program.resolvingSymlinksInPath()
    }

    /// The number of open files, and their maximum (`ulimit -n`).
    package static var openFiles: (count: Int, limit: Int) {
        var limit = rlimit()
        #if os(Linux)
            let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let kind = RLIMIT_NOFILE
        #endif
        guard getrlimit(kind, &limit) == 0 else { return (0, .max) }
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        return (open, Int(clamping: limit.rlim_cur))
    }

    /// Peak resident memory in bytes, including mapped files; 0 if unknown.
    package static var peakResidentBytes: Int {
        let kilobytes = field("VmHWM", of: "/proc/self/status")?.split(separator: " ").first.flatMap { Int($0) }
        return (kilobytes ?? 0) * 1024
    }
}
