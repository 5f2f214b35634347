package import Foundation

/// This program and its process.
package enum ThisProcess {
    /// The folder of the program's file, with links resolved.
    package static var folder: URL {
        #if os(Linux)
            let program = URL(fileURLWithPath: "/proc/self/exe")
        #else
            let program = URL(fileURLWithPath: CommandLine.arguments[0])
        #endif
        return program.resolvingSymlinksInPath().deletingLastPathComponent()
    }

    /// Peak resident memory in bytes, including mapped files; 0 if unknown.
    package static var peakResidentBytes: Int {
        let kilobytes = field("VmHWM", of: "/proc/self/status")?.split(separator: " ").first.flatMap { Int($0) }
        return (kilobytes ?? 0) * 1024
    }
}
