import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Image encoders of the reference data.
struct ReferenceVisionTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let visionModels = ReferenceModel.all.filter { $0.imageSize != nil }

    /// A part of few rows has some of a window's, or of several.
    @Test(arguments: visionModels, [256, 7])
    func `an image's vectors are the reference's`(reference: ReferenceModel, rowsOfPart: Int) throws {
        let size = try #require(reference.imageSize)
        let encoder = try VisionBuilder(GGUFFile(path: reference.write(in: directory).path)).encoder()
        let image = try #require(
            RGBImage(size: .init(width: size.width, height: size.height), bytes: reference.imagePixels))
        let compute = Compute(kernels: .best, threads: 2)
        defer { compute.pool.stop() }
        let pass = encoder.pass(over: encoder.preprocessing.pieces(of: image).all, rowsOfPart: rowsOfPart)
        while pass.advance(on: compute) {}
        let values = pass.results.flatMap { rows in
            Array(UnsafeBufferPointer(start: rows.matrix.base, count: rows.matrix.rows * rows.matrix.columns))
        }
        #expect(encoder.rowWidth == reference.columns)
        #expect(normalizedMeanSquaredError(values, reference.results) < 1e-6)
    }
}
