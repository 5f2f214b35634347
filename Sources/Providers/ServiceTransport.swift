/// Sends the requests of a provider to its service, with the credentials of whoever asks, and names what goes wrong.
package protocol ServiceTransport: Sendable {
    /// Posts JSON and passes the data of each event of the answer on.
    ///
    /// - Throws: The transport's errors; those of `event`.
    func events(_ api: ServiceAPI, _ body: [UInt8], _ event: (String) throws -> Void) async throws
    /// The error to throw for a problem with an answer.
    func error(_ problem: ServiceProblem, of api: ServiceAPI) -> any Error
}

/// What is wrong with a service's answer.
package enum ServiceProblem: Error, Sendable {
    /// An event is not what the API documents. Has the reason.
    case unreadable(String)
    /// The stream ended before the answer was complete.
    case brokenOff
    /// An error event. Has its data, and the message in it.
    case reported(String, message: String?)
    /// The service's filter has stopped the answer, or its model declines.
    case refused
}
