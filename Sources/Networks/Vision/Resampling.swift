import Compute

extension RGBImage {
    /// The image in another size, stretched if the aspect ratio differs.
    ///
    /// Columns first, then rows, as Pillow does, which models' own preprocessing uses.
    func resized(to target: Size, _ filter: ResamplingFilter) -> RGBImage {
        var result = self
        if target.width != size.width {
            result = RGBImage(
                unchecked: Size(width: target.width, height: size.height),
                Resampling.columns(bytes, width: size.width, to: target.width, filter))
        }
        if target.height != size.height {
            result = RGBImage(
                unchecked: target, Resampling.rows(result.bytes, width: target.width, to: target.height, filter))
        }
        return result
    }

    /// The image scaled to fit a frame of another size, centered on a background color.
    func fitted(into target: Size, _ filter: ResamplingFilter, background: (UInt8, UInt8, UInt8)) -> RGBImage {
        guard target != size else { return self }
        let scale = min(Float(target.width) / Float(size.width), Float(target.height) / Float(size.height))
        let inner = Size(
            width: min(max(1, Int((Float(size.width) * scale).rounded(.up))), target.width),
            height: min(max(1, Int((Float(size.height) * scale).rounded(.up))), target.height))
        let content = resized(to: inner, filter)
        guard inner != target else { return content }
        return RGBImage(target, filledWith: background)
            .covered(by: content, x: (target.width - inner.width) / 2, y: (target.height - inner.height) / 2)
    }
}
