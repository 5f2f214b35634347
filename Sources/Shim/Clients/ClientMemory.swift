import Wire

/// What is remembered of clients from one request to the next, and with a file, from one process to the next: sessions, and
/// the signatures that could be sent again.
///
/// What one device can make it remember is bounded, and where an app has too much of it, the device that has most of it
/// loses first.
struct ClientMemory: Sendable {
    /// Sessions that an app can have. One more ends the oldest of the network that has the most.
    static let maximumSessions = 4096
    /// Signatures of one session: more than 13 requests a second, all the time.
    static let signaturesOfSession = 1 << 13
    /// Signatures with an app's own key from one network: what every copy of the app has.
    static let signaturesOfNetwork = 1 << 13

    /// Who made a signature, as far as it is counted.
    private struct Signer: Hashable, Codable, Sendable {
        var kind: String
        var id: String
        var session: String?
        /// Of signatures with an app's own key.
        var network: String?

        init(_ principal: Principal, at network: String) {
            kind = principal.kind.rawValue
            id = principal.id
            session = principal.session
            self.network = principal.isManyDevices ? network : nil
        }

        /// Of a file that an earlier version has written, `kind id`.
        init(_ text: String) {
            let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
            kind = parts.first ?? ""
            id = parts.last ?? ""
        }

        var capacity: Int {
            if session != nil { return ClientMemory.signaturesOfSession }
            return network != nil ? ClientMemory.signaturesOfNetwork : SeenSignatures.capacity
        }
    }

    /// A line of the file: a session, or a signature.
    private struct Record: Codable, Sendable {
        var session: AppSession?
        var seen: SeenSignatures.Mark?
        var time: Int?
        var by: Signer?
        /// In files that an earlier version has written.
        var signer: String?
    }

    /// By app, the oldest first.
    private(set) var sessions: [String: [AppSession]] = [:]
    private var seen: [Signer: SeenSignatures] = [:]
    /// By app, an upper bound of how many signatures are remembered.
    private var counts: [String: Int] = [:]
    private var journal: Journal<Record>?

    init(file: String?, now: Int) throws {
        guard let file else { return }
        for record in try Journal<Record>.read(file) {
            if let session = record.session {
                keep(session, now: now)
            } else if let mark = record.seen, let time = record.time,
                let signer = record.by ?? record.signer.map({ Signer($0) })
            {
                _ = remember(mark, of: signer, time: time, now: now)
            }
        }
        journal = try Journal(file, records)
    }

    mutating func add(_ session: AppSession, now: Int) throws {
        keep(session, now: now)
        try note(Record(session: session))
    }

    private mutating func keep(_ session: AppSession, now: Int) {
        let known = sessions[session.app] ?? []
        for old in known where now >= old.expires { forget(old) }
        var ofApp = known.filter { now < $0.expires } + [session]
        if ofApp.count > Self.maximumSessions {
            let byNetwork = Dictionary(grouping: ofApp.indices) { ofApp[$0].network ?? "" }
            if let oldest = byNetwork.values.max(by: { $0.count < $1.count })?.first {
                forget(ofApp.remove(at: oldest))
            }
        }
        sessions[session.app] = ofApp
    }

    /// Forgets the signatures of a session that is over: nothing signed with it is accepted any more.
    private mutating func forget(_ session: AppSession) {
        seen[Signer(Principal(kind: .app, id: session.app, session: session.name), at: "")] = nil
    }

    /// - Parameter network: Where the request came from.
    mutating func insert(
        _ signature: [UInt8], time: Int, from principal: Principal, at network: String, now: Int
    ) throws -> SeenSignatures.Verdict {
        let signer = Signer(principal, at: network)
        let mark = SeenSignatures.mark(signature)
        let verdict = remember(mark, of: signer, time: time, now: now)
        if verdict == .isNew { try note(Record(seen: mark, time: time, by: signer)) }
        return verdict
    }

    private mutating func remember(
        _ mark: SeenSignatures.Mark, of signer: Signer, time: Int, now: Int
    ) -> SeenSignatures.Verdict {
        if counts[signer.id, default: 0] >= SeenSignatures.capacity { makeRoom(for: signer, now: now) }
        guard counts[signer.id, default: 0] < SeenSignatures.capacity else { return .isFull }
        let verdict = seen[signer, default: .init(capacity: signer.capacity)].insert(mark, time: time, now: now)
        if verdict == .isNew { counts[signer.id, default: 0] += 1 }
        return verdict
    }

    /// Forgets what is too old to be accepted. If that is not enough, ends the app's session that has signed the most.
    private mutating func makeRoom(for signer: Signer, now: Int) {
        let signers = seen.keys.filter { $0.id == signer.id }
        for other in signers { seen[other]?.forget(now: now) }
        func count() -> Int { signers.reduce(0) { $0 + (seen[$1]?.count ?? 0) } }
        counts[signer.id] = count()
        let busiest = signers.filter { $0.session != nil }.max { (seen[$0]?.count ?? 0) < (seen[$1]?.count ?? 0) }
        guard let busiest, counts[signer.id, default: 0] >= SeenSignatures.capacity else { return }
        sessions[signer.id]?.removeAll { $0.name == busiest.session }
        seen[busiest] = nil
        counts[signer.id] = count()
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
                    marks.map { Record(seen: $0, time: time, by: signer) }
                }
            }
    }
}
