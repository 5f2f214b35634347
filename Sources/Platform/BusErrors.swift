/// Installs a handler for reads of memory that has nothing behind it (SIGBUS), such as a mapped file that was truncated.
///
/// Only on Linux; elsewhere such a read ends the process. To be called once.
///
/// - Parameter repair: Called by the signal handler with the address; returns whether the access may be repeated. If
///   not, the handler that was there before gets the signal. It may only call what is safe in a signal handler.
package func handleBusErrors(_ repair: @escaping @convention(c) (UInt) -> Bool) {
    #if os(Linux)
        repairBusError = repair
        sigaction(SIGBUS, nil, &previousHandler)
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { _, info, _ in
            let code = errno
            defer { errno = code }
            if let address = info?.pointee._sifields._sigfault.si_addr, let repair = repairBusError,
                repair(UInt(bitPattern: address))
            {
                return
            }
            // The fault repeats under the previous handler.
            sigaction(SIGBUS, &previousHandler, nil)
        }
        action.sa_flags = SA_SIGINFO | SA_ONSTACK
        sigaction(SIGBUS, &action, nil)
    #endif
}

#if os(Linux)
    // Written once, before the handler that reads them is installed.
    nonisolated(unsafe) private var previousHandler = sigaction()
    nonisolated(unsafe) private var repairBusError: (@convention(c) (UInt) -> Bool)?
#endif
