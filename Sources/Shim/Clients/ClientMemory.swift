import Wire

/// What is remembered of clients from one request to the next, and with a file, from one process to the next: sessions, and
/// the signatures that could be sent again.
struct ClientMemory: Sendable {
    /// Sessions that an app can have; the oldest makes room for one more.
    static let maximumSessions = 4096

    /// A line of the file: a session, or a signature.
    private struct Record: Codable, Sendable {
        var session: AppSession?
        var seen: SeenSignatures.Mark?
        var time: Int?
        var signer: String?
    }

    /// By app, the oldest first.
    private(set) var sessions: [String: [AppSession]] = [:]
    /// By whose they are.
    private var seen: [String: SeenSignatures] = [:]
    private var journal: Journal<Record>?

    init(file: String?, now: Int) throws {
        guard let file else { return }
        for record in try Journal<Record>.read(file) {
            if let session = record.session {
                keep(session, now: now)
            } else if let mark = record.seen, let time = record.time, let signer = record.signer {
                _ = seen[signer, default: .init()].insert(mark, time: time, now: now)
            }
        }
        journal = try Journal(file, records)
    }

    mutating func add(_ session: AppSession, now: Int) throws {
        keep(session, now: now)
        try note(Record(session: session))
    }

    private mutating func keep(_ session: AppSession, now: Int) {
        var ofApp = (sessions[session.app] ?? []).filter { now < $0.expires } + [session]
        if ofApp.count > Self.maximumSessions { ofApp.removeFirst() }
        sessions[session.app] = ofApp
    }

    mutating func insert(
        _ signature: [UInt8], time: Int, from principal: Principal, now: Int
    ) throws -> SeenSignatures.Verdict {
        let signer = "\(principal.kind.rawValue) \(principal.id)"
        let mark = SeenSignatures.mark(signature)
        let verdict = seen[signer, default: .init()].insert(mark, time: time, now: now)
        if verdict == .isNew { try note(Record(seen: mark, time: time, signer: signer)) }
        return verdict
    }

    /// Once most of the file is about what is over, or its last line is torn, it begins anew.
    private mutating func note(_ record: Record) throws {
        guard let file = journal else { return }
        let live = sessions.values.reduce(0) { $0 + $1.count } + seen.values.reduce(0) { $0 + $1.count }
        if file.count > 2 * live + 10_000 {
            journal = try Journal(file.path, records)
        } else {
            try journal?.append(record)
        }
    }

    private var records: [Record] {
        sessions.values.joined().map { Record(session: $0) }
            + seen.flatMap { signer, signatures in
                signatures.bySecond.flatMap { time, marks in
                    marks.map { Record(seen: $0, time: time, signer: signer) }
                }
            }
    }
}
