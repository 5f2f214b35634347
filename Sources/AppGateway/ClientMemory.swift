import Shim
import Wire

/// Sessions, and the signatures that could be replayed. A state file keeps both across restarts.
///
/// One device can only fill a bounded share. When an app's share is full, the network or session with the most entries
/// loses some first.
struct ClientMemory: Sendable {
    /// Sessions per app. One more ends the oldest session of the network that has the most.
    static let maximumSessions = 4096
    /// Signatures kept per session: enough for 27 requests a second, or 13 from a clock that is 300 s fast.
    static let signaturesOfSession = 1 << 13
    /// Signatures with an app's auth key kept per network. Every copy of the app has that key.
    static let signaturesOfNetwork = 1 << 13

    /// Key under which signatures are counted.
    private struct Signer: Hashable, Codable, Sendable {
        var kind: String
        var id: String
        var session: String?
        /// Set for signatures with an app's auth key only.
        var network: String?

        init(_ principal: Principal, at network: String) {
            kind = principal.kind.rawValue
            id = principal.id
            session = principal.session
            self.network = principal.isManyDevices ? network : nil
        }

        /// Parses `kind id`, the form in state files of earlier versions.
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

    /// A line of the state file: a session or a signature.
    private struct Record: Codable, Sendable {
        var session: AppSession?
        var seen: SeenSignatures.Mark?
        var time: Int?
        var by: Signer?
        /// `kind id`, in state files of earlier versions.
        var signer: String?
    }

    /// By app id, oldest first.
    private(set) var sessions: [String: [AppSession]] = [:]
    private var seen: [Signer: SeenSignatures] = [:]
    /// By app id, an upper bound of the signatures kept.
    private var counts: [String: Int] = [:]
    private var journal: Journal<Record>?

    init(file: String?, now: Int) throws {
        guard let file else { return }
        let found = try Journal<Record>.read(file)
        // A clock that is ahead while the server starts must not make all later timestamps too old: when the newest signature
        // came, it was at most `window` earlier than that says.
        let newest = max(found.lazy.compactMap(\.time).max() ?? 0, SeenSignatures.window)
        let knownNow = min(now, newest - SeenSignatures.window)
        for record in found {
            if let session = record.session {
                keep(session, now: now)
            } else if let mark = record.seen, let time = record.time,
                let signer = record.by ?? record.signer.map({ Signer($0) })
            {
                _ = remember(mark, of: signer, time: time, now: knownNow)
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

    /// Drops the signatures of an expired session, whose key is no longer accepted.
    private mutating func forget(_ session: AppSession) {
        seen[Signer(Principal(kind: .app, id: session.app, session: session.name), at: "")] = nil
    }

    /// - Parameter network: Network that the request came from.
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

    /// Drops expired signatures. If that does not suffice, ends the app's session with the most signatures.
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

    /// Appends a record. Rewrites the file once most of its lines are stale or its last line may be torn.
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
