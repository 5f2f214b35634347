/// An option of a command.
public struct Option: Sendable {
    /// Names with their dashes, the long one last.
    public let names: [String]
    /// Placeholder of the value in the help; `nil`: no value.
    public let value: String?
    /// Whether the option may be given several times, each time with another value.
    public let repeats: Bool
    /// What applies without the option, as text.
    public let `default`: String?
    /// With the default.
    public let help: String

    public init(
        _ names: String..., value: String? = nil, default: String? = nil, repeats: Bool = false, help: String
    ) {
        self.names = names
        self.value = value
        self.default = `default`
        self.repeats = repeats
        self.help = help + (`default`.map { " (default: \($0))" } ?? "") + (repeats ? "; repeatable" : "")
    }

    /// Whether the value is a path.
    public var isPath: Bool { value == "FILE" || value == "DIR" }

    /// Name in a configuration file: `models_dir` for `--models-dir`.
    public var key: String {
        names.last!.drop { $0 == "-" }.map { $0 == "-" ? "_" : String($0) }.joined()
    }
}

/// An invalid command line. The message says what to change.
public struct UsageError: Error, Equatable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    /// - Parameters:
    ///   - name: The option.
    ///   - names: The values that it may have.
    init(_ name: String, expected names: [String], found text: String) {
        let list = names.dropLast().joined(separator: ", ") + (names.count > 1 ? " or " : "") + (names.last ?? "")
        description = "\(name): expected \(list), found '\(text)'"
    }
}

/// A parsed command line. Options are looked up by any of their names.
///
/// Accepts `--name value`, `--name=value` and, for options without a value, `--name`. The last occurrence of an option
/// counts, except that lists are joined.
public struct Arguments: Sendable {
    private let options: [Option]
    private var values: [String: [String]] = [:]
    /// Where values come from that are not on the command line: by the first name of an option, text for errors.
    private var origins: [String: String] = [:]
    /// Arguments that are neither options nor their values.
    public private(set) var operands: [String] = []

    /// - Parameter takesOperands: Whether operands, such as files, are allowed.
    public init(
        _ arguments: some Sequence<String>, options: [Option], takesOperands: Bool = false
    ) throws(UsageError) {
        self.options = options
        var iterator = arguments.makeIterator()
        while let argument = iterator.next() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let isAssignment = argument.utf8.starts(with: "--".utf8) && parts.count == 2
            let name = isAssignment ? String(parts[0]) : argument
            guard let option = options.first(where: { $0.names.contains(name) }) else {
                guard takesOperands, !argument.hasPrefix("-") else {
                    // A mistyped short name could mean any other.
                    let longNames = argument.count > 3 ? options.map { $0.names.last! } : []
                    let near = nearestWord(to: name, in: longNames).map { "; did you mean \($0)?" } ?? ""
                    throw UsageError("unknown argument '\(argument)'\(near)")
                }
                operands.append(argument)
                continue
            }
            if option.value == nil {
                guard !isAssignment else { throw UsageError("\(name) takes no value") }
                values[option.names[0], default: []].append("")
            } else {
                guard let value = isAssignment ? String(parts[1]) : iterator.next() else {
                    throw UsageError("\(name) needs a value")
                }
                values[option.names[0], default: []].append(value)
            }
        }
    }

    /// Whether the option was given.
    public func has(_ name: String) -> Bool { !strings(name).isEmpty }

    /// Every value of an option, in the order given.
    public func strings(_ name: String) -> [String] {
        guard let option = options.first(where: { $0.names.contains(name) }) else {
            preconditionFailure("\(name) is not among the command's options")
        }
        return values[option.names[0]] ?? []
    }

    /// Gives an option values that are not on the command line. Those on the command line stay.
    ///
    /// - Parameter origin: Names the place in errors, as in `shim.json: port`.
    public mutating func setDefault(_ name: String, _ strings: [String], from origin: String) {
        guard let option = options.first(where: { $0.names.contains(name) }), !has(name) else { return }
        values[option.names[0]] = strings
        origins[option.names[0]] = origin
    }

    /// What errors call the option: its name, or the place that its value comes from.
    public func label(_ name: String) -> String {
        let first = options.first { $0.names.contains(name) }?.names[0]
        return first.flatMap { origins[$0] } ?? name
    }

    public func string(_ name: String) -> String? { strings(name).last }

    public func required(_ name: String) throws(UsageError) -> String {
        guard let value = string(name) else { throw UsageError("\(name) is missing") }
        return value
    }

    public func int(_ name: String, in range: ClosedRange<Int> = 0...Int.max) throws(UsageError) -> Int? {
        guard let text = string(name) else { return nil }
        return try Self.int(text, label(name), range)
    }

    /// The comma-separated values of all occurrences of the option.
    public func ints(_ name: String, in range: ClosedRange<Int> = 0...Int.max) throws(UsageError) -> [Int]? {
        has(name) ? try lists(name, in: range).flatMap { $0 } : nil
    }

    /// The comma-separated values of each occurrence of the option.
    public func lists(_ name: String, in range: ClosedRange<Int> = 0...Int.max) throws(UsageError) -> [[Int]] {
        var lists: [[Int]] = []
        for text in strings(name) {
            var list: [Int] = []
            for item in text.split(separator: ",", omittingEmptySubsequences: false) {
                list.append(try Self.int(String(item), label(name), range))
            }
            lists.append(list)
        }
        return lists
    }

    public func double(
        _ name: String, in range: ClosedRange<Double> = -.greatestFiniteMagnitude ... .greatestFiniteMagnitude
    ) throws(UsageError) -> Double? {
        guard let text = string(name) else { return nil }
        return try Self.double(text, label(name), range)
    }

    /// The comma-separated values of all occurrences of the option.
    public func doubles(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> [Double]? {
        guard has(name) else { return nil }
        var numbers: [Double] = []
        for text in strings(name) {
            for item in text.split(separator: ",", omittingEmptySubsequences: false) {
                numbers.append(try Self.double(String(item), label(name), range))
            }
        }
        return numbers
    }

    private static func double(
        _ text: String, _ name: String, _ range: ClosedRange<Double>
    ) throws(UsageError) -> Double {
        guard let value = Double(text), range.contains(value) else {
            let isAny = range.upperBound == .greatestFiniteMagnitude
            let expected = isAny ? "a number" : "a number from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("\(name): expected \(expected), found '\(text)'")
        }
        return value
    }

    /// The value as a case of an enumeration.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, of type: Choice.Type = Choice.self
    ) throws(UsageError) -> Choice? {
        guard let text = string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw UsageError(label(name), expected: Choice.allCases.map(\.rawValue), found: text)
        }
        return choice
    }

    private static func int(_ text: String, _ name: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let value = Int(text), range.contains(value) else {
            let expected =
                range.upperBound == Int.max
                ? "a whole number from \(range.lowerBound)"
                : "a whole number in \(range.lowerBound)...\(range.upperBound)"
            throw UsageError("\(name): expected \(expected), found '\(text)'")
        }
        return value
    }
}
