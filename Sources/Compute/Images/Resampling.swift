import Platform

/// Interpolation for resizing images.
package enum ResamplingFilter: Sendable {
    case bilinear
    /// Bicubic with a = −0.5.
    case bicubic
    case lanczos

    /// Support in pixels on either side, when not shrinking.
    fileprivate var reach: Double {
        switch self {
        case .bilinear: 1
        case .bicubic: 2
        case .lanczos: 3
        }
    }

    /// The weight of a pixel at this distance.
    fileprivate func weight(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .bilinear: return max(0, 1 - x)
        case .bicubic:
            if x < 1 { return (1.5 * x - 2.5) * x * x + 1 }
            return x < 2 ? ((5 - x) * x - 8) * x * 0.5 + 2 : 0
        case .lanczos:
            func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
            return x < 3 ? sinc(x) * sinc(x / 3) : 0
        }
    }
}

/// Resizing of images in one direction. Pixels are three bytes each, row by row.
///
/// Reproduces Pillow byte for byte: weights as integers in units of 2⁻²², rounding to bytes (Pillow, Resample.c).
package enum Resampling {
    /// Resizes `bytes`, rows of `width` pixels, to rows of `target` pixels.
    package static func columns(_ bytes: [UInt8], width: Int, to target: Int, _ filter: ResamplingFilter) -> [UInt8] {
        let (taps, height) = (Taps(from: width, to: target, filter), bytes.count / 3 / width)
        return [UInt8](unsafeUninitializedCapacity: 3 * target * height) { output, count in
            bytes.withUnsafeBufferPointer { input in
                taps.weights.withUnsafeBufferPointer { weights in
                    var next = output.baseAddress!
                    for row in 0..<height {
                        let line = input.baseAddress! + 3 * row * width
                        for column in 0..<target {
                            var pixel = line + 3 * taps.first[column]
                            var (red, green, blue) = (Taps.half, Taps.half, Taps.half)
                            let start = column * taps.most
                            for index in start..<start + taps.count[column] {
                                let weight = weights[index]
                                red &+= Int32(pixel[0]) &* weight
                                green &+= Int32(pixel[1]) &* weight
                                blue &+= Int32(pixel[2]) &* weight
                                pixel += 3
                            }
                            (next[0], next[1], next[2]) = (Taps.byte(red), Taps.byte(green), Taps.byte(blue))
                            next += 3
                        }
                    }
                }
            }
            count = 3 * target * height
        }
    }

    /// Resizes `bytes`, rows of `width` pixels, to `target` rows.
    package static func rows(_ bytes: [UInt8], width: Int, to target: Int, _ filter: ResamplingFilter) -> [UInt8] {
        let rowBytes = 3 * width
        let taps = Taps(from: bytes.count / rowBytes, to: target, filter)
        var sums = [Int32](repeating: 0, count: rowBytes)
        return [UInt8](unsafeUninitializedCapacity: rowBytes * target) { output, count in
            bytes.withUnsafeBufferPointer { input in
                sums.withUnsafeMutableBufferPointer { sums in
                    for row in 0..<target {
                        sums.update(repeating: Taps.half)
                        for tap in 0..<taps.count[row] {
                            let weight = taps.weights[row * taps.most + tap]
                            let line = input.baseAddress! + (taps.first[row] + tap) * rowBytes
                            for index in 0..<rowBytes { sums[index] &+= Int32(line[index]) &* weight }
                        }
                        let line = output.baseAddress! + row * rowBytes
                        for index in 0..<rowBytes { line[index] = Taps.byte(sums[index]) }
                    }
                }
            }
            count = rowBytes * target
        }
    }
}

/// The input pixels and weights of each output pixel along one line.
private struct Taps {
    /// First input pixel, by output pixel.
    private(set) var first: [Int] = []
    private(set) var count: [Int] = []
    /// `[outputs][most]`, in units of 2⁻²².
    private(set) var weights: [Int32] = []
    /// Weights per output pixel, padded.
    let most: Int

    private static let bits: Int32 = 22
    /// One half before the shift: sums start with it, so that the shift rounds.
    static let half: Int32 = 1 << (bits - 1)

    static func byte(_ sum: Int32) -> UInt8 { UInt8(clamping: sum >> bits) }

    init(from inputs: Int, to outputs: Int, _ filter: ResamplingFilter) {
        let scale = Double(inputs) / Double(outputs)
        // When shrinking, the filter is stretched, which antialiases.
        let stretch = max(1, scale)
        let reach = filter.reach * stretch
        most = Int(reach.rounded(.up)) * 2 + 1
        weights = Array(repeating: 0, count: outputs * most)
        for output in 0..<outputs {
            let center = (Double(output) + 0.5) * scale
            let start = max(0, Int(center - reach + 0.5))
            let end = min(inputs, Int(center + reach + 0.5))
            let raw = (start..<end).map { filter.weight((Double($0) - center + 0.5) * (1 / stretch)) }
            let sum = raw.reduce(0, +)
            for (index, weight) in raw.enumerated() {
                let share = sum == 0 ? weight : weight / sum
                weights[output * most + index] = Int32(share * Double(1 << Self.bits) + (share < 0 ? -0.5 : 0.5))
            }
            first.append(start)
            count.append(end - start)
        }
    }
}
