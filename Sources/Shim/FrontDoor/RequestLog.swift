import Dispatch
import Foundation
import HTTP
import JSON
import Synchronization
import Wire

/// Writes one line per request: JSON for programs, or text for a terminal.
///
/// A slow reader never blocks the server (`LogWriter`): lines are dropped, and the next line gives their number.
final class RequestLog: Sendable {
    enum Form: Sendable { case json, text }

    private let writer: LogWriter
    private let form: Form
    private let dropped = Mutex(0)
    /// Warnings that were logged; a client repeats its schemas with every request.
    private let warned = Mutex<Set<String>>([])
    private static let maximumWarned = 1000

    init(_ writer: LogWriter = .standardError, form: Form = .json) {
        self.writer = writer
        self.form = form
    }

    func write(_ record: RequestRecord) {
        let lost = dropped.withLock { dropped in
            defer { dropped = 0 }
            return dropped
        }
        let warnings = new((record.notes as? RequestTrace)?.fields.warnings ?? [])
        let line =
            switch form {
            case .json: Self.line(record, at: Date(), warnings, dropped: lost)
            case .text: Self.text(record, at: Date(), warnings, dropped: lost)
            }
        if !writer.write(line) { dropped.withLock { $0 += lost + 1 } }
    }

    /// The warnings that are not in the log yet.
    private func new(_ warnings: [String]) -> [String] {
        guard !warnings.isEmpty else { return [] }
        return warned.withLock { warned in
            warnings.filter { warning in
                if warned.count >= Self.maximumWarned { warned = [] }
                return warned.insert(warning).inserted
            }
        }
    }

    /// Returns when every line is written, or after `patience`.
    func flush(patience: DispatchTimeInterval = .seconds(1)) { writer.flush(patience: patience) }

    /// One log line. JSON escapes control characters; other characters that a terminal or an editor might interpret are
    /// escaped here.
    static func line(_ record: RequestRecord, at time: Date, _ warnings: [String] = [], dropped: Int = 0) -> [UInt8] {
        var fields = (record.notes as? RequestTrace)?.fields.json ?? [:]
        fields["time"] = .string(.timestamp(time))
        fields["id"] = .string(record.id)
        fields["client"] = .string(record.peer)
        fields["method"] = record.method.map { .string($0) }
        fields["path"] = record.path.map { .string($0) }
        fields["status"] = record.status.map { JSON($0) }
        fields["bytes"] = JSON(record.bytes)
        fields["duration_ms"] = JSON(milliseconds(record.duration))
        fields["first_byte_ms"] = record.timeToFirstByte.map { JSON(milliseconds($0)) }
        fields["failure"] = record.failure.map { .string($0.rawValue) }
        if !warnings.isEmpty { fields["warnings"] = .array(warnings.map { .string($0) }) }
        if dropped > 0 { fields["dropped_lines"] = JSON(dropped) }
        // Only strings and finite numbers, so encoding cannot fail.
        let json = (try? JSON.encode(fields)) ?? []
        return Array(escaped(String(decoding: json, as: UTF8.self)).utf8) + [0x0a]
    }

    /// `14:03:22 200 POST /v1/chat/completions 1.25 s  Qwen3-0.6B  12+80 tokens`
    static func text(_ record: RequestRecord, at time: Date, _ warnings: [String] = [], dropped: Int = 0) -> [UInt8] {
        let trace = (record.notes as? RequestTrace)?.fields ?? .init()
        let clock = Date.ISO8601FormatStyle(timeZone: .current).time(includingFractionalSeconds: false)
        let seconds = record.duration / .seconds(1)
        var parts = [
            "\(time.formatted(clock)) \(record.status.map { "\($0)" } ?? "---") \(record.method ?? "-") "
                + "\(record.path ?? "-") " + String(format: seconds < 10 ? "%.2f s" : "%.0f s", seconds)
        ]
        if let model = trace.model { parts.append(model) }
        if trace.engine == .upstream { parts.append("upstream") }
        if let prompt = trace.promptTokens { parts.append("\(prompt)+\(trace.completionTokens ?? 0) tokens") }
        if let leftOut = trace.leftOut { parts.append("left out: \(leftOut)") }
        if let code = trace.code { parts.append(code) }
        if let failure = record.failure { parts.append(failure.rawValue) }
        if let error = trace.error { parts.append(error) }
        parts += warnings.map { "warning: \($0)" }
        if let body = trace.body { parts.append(body) }
        if dropped > 0 { parts.append("\(dropped) lines were dropped") }
        return Array(escaped(parts.joined(separator: "  ")).utf8) + [0x0a]
    }

    /// Rounded to a tenth.
    private static func milliseconds(_ duration: Duration) -> Double { (duration / .milliseconds(0.1)).rounded() / 10 }

    private static func escaped(_ json: String) -> String {
        json.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension RequestTrace.Fields {
    /// The fields under their names in the log.
    fileprivate var json: [String: JSON] {
        var fields: [String: JSON] = [:]
        fields["principal"] = principal.map { .string("\($0.kind.rawValue) \($0.id)") }
        fields["app"] = app.map { .string($0) }
        fields["model"] = model.map { .string($0) }
        fields["engine"] = engine.map { .string($0.rawValue) }
        fields["passed_over"] = passedOver.map { .string($0.rawValue) }
        fields["prompt_tokens"] = promptTokens.map { JSON($0) }
        fields["completion_tokens"] = completionTokens.map { JSON($0) }
        fields["left_out"] = leftOut.map { .string($0) }
        fields["code"] = code.map { .string($0) }
        fields["error"] = error.map { .string($0) }
        fields["request"] = body.map { .string($0) }
        return fields
    }
}

extension String {
    /// RFC 3339, in UTC.
    static func timestamp(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
