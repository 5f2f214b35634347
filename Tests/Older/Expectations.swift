import Testing

// `#expect` and `#require` as functions. The macros of Swift 6.0 do not return errors, and expand some closures to what its
// compiler cannot compile. A failure names the place and the comment, but not the values.

func expectOlder(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
    if !condition { Issue.record(comment() ?? "expectation failed", sourceLocation: sourceLocation) }
}

func requireOlder(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    if !condition { throw Unmet(comment() ?? "requirement failed", sourceLocation) }
}

@discardableResult
func requireOlder<T>(
    _ value: T?, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) throws -> T {
    guard let value else { throw Unmet(comment() ?? "a value is missing", sourceLocation) }
    return value
}

@discardableResult
func expectOlder<E: Error, R>(
    throws type: E.Type, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, performing body: () throws -> R
) -> E? {
    do { _ = try body() } catch { return thrown(error, comment(), sourceLocation) }
    return thrown(nil, comment(), sourceLocation)
}

@_disfavoredOverload
@discardableResult
func expectOlder<E: Error, R>(
    throws type: E.Type, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, isolation: isolated (any Actor)? = #isolation,
    performing body: () async throws -> sending R
) async -> E? {
    do { _ = try await body() } catch { return thrown(error, comment(), sourceLocation) }
    return thrown(nil, comment(), sourceLocation)
}

func expectOlder<E: Error & Equatable, R>(
    throws expected: E, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, performing body: () throws -> R
) {
    let error = expectOlder(throws: E.self, comment(), sourceLocation: sourceLocation, performing: body)
    if let error { expectOlder(error == expected, "found \(error)", sourceLocation: sourceLocation) }
}

@_disfavoredOverload
func expectOlder<E: Error & Equatable, R>(
    throws expected: E, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, isolation: isolated (any Actor)? = #isolation,
    performing body: () async throws -> sending R
) async {
    let error = await expectOlder(throws: E.self, comment(), sourceLocation: sourceLocation, performing: body)
    if let error { expectOlder(error == expected, "found \(error)", sourceLocation: sourceLocation) }
}

func expectOlder<R>(
    _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    performing body: () throws -> R, throws matches: (any Error) throws -> Bool
) {
    let error = expectOlder(throws: (any Error).self, comment(), sourceLocation: sourceLocation, performing: body)
    if let error { expectOlder((try? matches(error)) == true, "found \(error)", sourceLocation: sourceLocation) }
}

@_disfavoredOverload
func expectOlder<R>(
    _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    isolation: isolated (any Actor)? = #isolation, performing body: () async throws -> sending R,
    throws matches: (any Error) throws -> Bool
) async {
    let error = await expectOlder(throws: (any Error).self, comment(), sourceLocation: sourceLocation, performing: body)
    if let error { expectOlder((try? matches(error)) == true, "found \(error)", sourceLocation: sourceLocation) }
}

@discardableResult
func requireOlder<E: Error, R>(
    throws type: E.Type, sourceLocation: SourceLocation = #_sourceLocation, performing body: () throws -> R
) throws -> E {
    try requireOlder(
        expectOlder(throws: type, sourceLocation: sourceLocation, performing: body), sourceLocation: sourceLocation)
}

@_disfavoredOverload
@discardableResult
func requireOlder<E: Error, R>(
    throws type: E.Type, sourceLocation: SourceLocation = #_sourceLocation,
    isolation: isolated (any Actor)? = #isolation, performing body: () async throws -> sending R
) async throws -> E {
    let error = await expectOlder(throws: type, sourceLocation: sourceLocation, performing: body)
    return try requireOlder(error, sourceLocation: sourceLocation)
}

private struct Unmet: Error {
    /// Reported here, where the place is known.
    init(_ comment: Comment, _ sourceLocation: SourceLocation) {
        Issue.record(comment, sourceLocation: sourceLocation)
    }
}

private func thrown<E: Error>(_ error: (any Error)?, _ comment: Comment?, _ sourceLocation: SourceLocation) -> E? {
    if let error = error as? E { return error }
    // `throws: Never.self` expects that nothing is thrown.
    if error == nil, E.self == Never.self { return nil }
    let found = error.map { "\($0)" } ?? "no error"
    Issue.record(
        "expected an error of \(E.self), found \(found) \(comment?.rawValue ?? "")", sourceLocation: sourceLocation)
    return nil
}
