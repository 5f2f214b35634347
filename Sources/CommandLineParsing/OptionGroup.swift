/// Options with one purpose, which stand together in a program's help.
public struct OptionGroup: Sendable {
    /// `nil` for the only group.
    public let title: String?
    public let options: [Option]

    public init(_ title: String?, _ options: [Option]) { (self.title, self.options) = (title, options) }

    /// An empty group has no title.
    fileprivate func help(width: Int) -> String? {
        guard !options.isEmpty else { return nil }
        return (title.map { "\($0):\n" } ?? "") + options.help(width: width)
    }
}

extension [OptionGroup] {
    public var options: [Option] { flatMap(\.options) }

    /// The groups with their titles, each option aligned with the others of its group.
    public func help(width: Int = helpWidth) -> String {
        compactMap { $0.help(width: width) }.joined(separator: "\n\n")
    }
}

extension [Option] {
    /// Names that leave no room for the text beside them have a line of their own.
    private static var longestNames: Int { 26 }

    /// The options with their texts beside them.
    ///
    /// - Parameter width: Columns of a line.
    public func help(width: Int) -> String {
        let names = map { option in
            "  " + option.names.joined(separator: ", ") + (option.value.map { " " + $0 } ?? "")
        }
        let indent = (names.map(\.count).filter { $0 <= Self.longestNames }.max() ?? 4) + 2
        return zip(names, self).map { names, option in
            let text = option.help.wrapped(to: width, indent: indent)
            let room = indent - names.count
            return names + (room > 1 ? "" : "\n") + String(repeating: " ", count: room > 1 ? room : indent) + text
        }.joined(separator: "\n")
    }
}
