// Checks without a test library: Swift's standard library for ARM is not needed, only its embedded mode.

import TestSupport

nonisolated(unsafe) var checks = 0
nonisolated(unsafe) var failures = 0
/// What is being checked, for messages.
nonisolated(unsafe) var subject = ""

/// Counts a check; the first failures of a subject are printed.
func check(_ holds: Bool, _ what: @autoclosure () -> String) {
    checks += 1
    guard !holds else { return }
    failures += 1
    if failures <= 40 { print("failed: \(subject): \(what())") }
}

/// Checks that each value is within the tolerance of the expected one; NaN equals NaN.
func check(
    _ found: [Float], _ expected: [Float], _ what: @autoclosure () -> String, tolerance: (Float) -> Float
) {
    check(found.count == expected.count, "\(what()): \(found.count) values for \(expected.count)")
    for (index, (a, b)) in zip(found, expected).enumerated() {
        let isNear = a == b || (a.isNaN && b.isNaN) || abs(a - b) <= tolerance(b)
        if !isNear { return check(false, "\(what()), value \(index): \(text(a)) for \(text(b))") }
    }
    check(true, "")
}

func checkBits(_ found: [Float], _ expected: [Float], _ what: @autoclosure () -> String) {
    for (index, (a, b)) in zip(found, expected).enumerated() where a.bitPattern != b.bitPattern {
        return check(false, "\(what()), value \(index): \(text(a)) for \(text(b))")
    }
    check(found.count == expected.count, what())
}

func random(_ count: Int, seed: UInt64, _ range: ClosedRange<Float> = -1...1) -> [Float] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in Float.random(in: range, using: &generator) }
}

/// A number in millionths, and its bits. (Embedded Swift has no text of floats.)
private func text(_ value: Float) -> String {
    let millionths = value.isFinite && abs(value) < 1e12 ? "\(Int(value * 1e6))e-6" : "not finite or large"
    return "\(millionths) (bits \(value.bitPattern))"
}
