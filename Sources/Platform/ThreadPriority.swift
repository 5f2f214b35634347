/// Priorities of threads. On Linux the nice value is per thread; elsewhere no priority changes.
package enum ThreadPriority {
    package typealias ID = Int32

    /// The calling thread; `nil` if the system does not tell.
    package static var current: ID? {
        // The link reads "PROCESS/task/THREAD".
        var path = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/thread-self", &path, path.count)
        guard count > 0 else { return nil }
        let text = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: "/").last.flatMap { ID($0) }
    }

    /// Gives a thread of this process a low priority, for good.
    package static func lower(_ thread: ID) {
        #if os(Linux)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(thread), 15)
        #endif
    }
}
