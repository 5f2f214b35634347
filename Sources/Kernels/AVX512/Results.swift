// Swift 6.0 takes a vector of 512 bits that a C function returns apart into quarters, and its LLVM leaves up to three moves
// for each when it joins them again. With that compiler the kernels call these functions in place of C's with the same
// names: C writes the result to memory, which becomes a register.
#if compiler(<6.1)

    import CIntrinsics

    @inline(__always)
    private func result<Vector: SIMD>(_ write: (UnsafeMutableRawPointer) -> Void) -> Vector {
        var vector = Vector()
        withUnsafeMutablePointer(to: &vector) { write($0) }
        return vector
    }

    // MARK: Floats

    @inline(__always) func _mm512_add_ps(_ a: __m512, _ b: __m512) -> __m512 { result { _mm512_add_ps_at($0, a, b) } }
    @inline(__always) func _mm512_sub_ps(_ a: __m512, _ b: __m512) -> __m512 { result { _mm512_sub_ps_at($0, a, b) } }
    @inline(__always) func _mm512_mul_ps(_ a: __m512, _ b: __m512) -> __m512 { result { _mm512_mul_ps_at($0, a, b) } }
    @inline(__always) func _mm512_div_ps(_ a: __m512, _ b: __m512) -> __m512 { result { _mm512_div_ps_at($0, a, b) } }
    @inline(__always) func _mm512_min_ps(_ a: __m512, _ b: __m512) -> __m512 { result { _mm512_min_ps_at($0, a, b) } }
    @inline(__always) func _mm512_max_ps(_ a: __m512, _ b: __m512) -> __m512 { result { _mm512_max_ps_at($0, a, b) } }
    @inline(__always) func _mm512_scalef_ps(_ a: __m512, _ b: __m512) -> __m512 {
        result { _mm512_scalef_ps_at($0, a, b) }
    }
    @inline(__always)
    func _mm512_fmadd_ps(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 { result { _mm512_fmadd_ps_at($0, a, b, c) } }
    @inline(__always)
    func _mm512_fnmadd_ps(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 {
        result { _mm512_fnmadd_ps_at($0, a, b, c) }
    }
    @inline(__always) func _mm512_abs_ps(_ a: __m512) -> __m512 { result { _mm512_abs_ps_at($0, a) } }
    @inline(__always) func _mm512_sqrt_ps(_ a: __m512) -> __m512 { result { _mm512_sqrt_ps_at($0, a) } }

    // MARK: Integers

    @inline(__always)
    func _mm512_add_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_add_epi32_at($0, a, b) } }
    @inline(__always)
    func _mm512_sub_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_sub_epi32_at($0, a, b) } }
    @inline(__always)
    func _mm512_mullo_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_mullo_epi32_at($0, a, b) } }
    @inline(__always)
    func _mm512_max_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_max_epi32_at($0, a, b) } }
    @inline(__always)
    func _mm512_dpbusd_epi32(_ a: __m512i, _ b: __m512i, _ c: __m512i) -> __m512i {
        result { _mm512_dpbusd_epi32_at($0, a, b, c) }
    }
    @inline(__always)
    func _mm512_dpwssd_epi32(_ a: __m512i, _ b: __m512i, _ c: __m512i) -> __m512i {
        result { _mm512_dpwssd_epi32_at($0, a, b, c) }
    }
    @inline(__always)
    func _mm512_and_si512(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_and_si512_at($0, a, b) } }
    @inline(__always)
    func _mm512_andnot_si512(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_andnot_si512_at($0, a, b) } }
    @inline(__always)
    func _mm512_or_si512(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_or_si512_at($0, a, b) } }
    @inline(__always)
    func _mm512_xor_si512(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_xor_si512_at($0, a, b) } }
    @inline(__always)
    func _mm512_slli_epi16(_ a: __m512i, _ b: UInt32) -> __m512i { result { _mm512_slli_epi16_at($0, a, b) } }
    @inline(__always)
    func _mm512_slli_epi32(_ a: __m512i, _ b: UInt32) -> __m512i { result { _mm512_slli_epi32_at($0, a, b) } }
    @inline(__always)
    func _mm512_slli_epi64(_ a: __m512i, _ b: UInt32) -> __m512i { result { _mm512_slli_epi64_at($0, a, b) } }
    @inline(__always)
    func _mm512_srli_epi16(_ a: __m512i, _ b: UInt32) -> __m512i { result { _mm512_srli_epi16_at($0, a, b) } }
    @inline(__always)
    func _mm512_srai_epi32(_ a: __m512i, _ b: UInt32) -> __m512i { result { _mm512_srai_epi32_at($0, a, b) } }
    @inline(__always)
    func _mm512_shuffle_epi8(_ a: __m512i, _ b: __m512i) -> __m512i { result { _mm512_shuffle_epi8_at($0, a, b) } }

    // MARK: Conversions

    @inline(__always) func _mm512_cvtepi32_ps(_ a: __m512i) -> __m512 { result { _mm512_cvtepi32_ps_at($0, a) } }
    @inline(__always) func _mm512_cvtps_epi32(_ a: __m512) -> __m512i { result { _mm512_cvtps_epi32_at($0, a) } }
    @inline(__always) func _mm512_cvtph_ps(_ a: __m256i) -> __m512 { result { _mm512_cvtph_ps_at($0, a) } }
    @inline(__always) func _mm512_cvtepi8_epi32(_ a: __m128i) -> __m512i { result { _mm512_cvtepi8_epi32_at($0, a) } }
    @inline(__always) func _mm512_cvtepu8_epi32(_ a: __m128i) -> __m512i { result { _mm512_cvtepu8_epi32_at($0, a) } }
    @inline(__always) func _mm512_cvtepu16_epi32(_ a: __m256i) -> __m512i { result { _mm512_cvtepu16_epi32_at($0, a) } }
    @inline(__always) func _mm512_castsi512_ps(_ a: __m512i) -> __m512 { result { _mm512_castsi512_ps_at($0, a) } }
    @inline(__always) func _mm512_castps_si512(_ a: __m512) -> __m512i { result { _mm512_castps_si512_at($0, a) } }

    // MARK: Values

    @inline(__always) func _mm512_setzero_ps() -> __m512 { result { _mm512_setzero_ps_at($0) } }
    @inline(__always) func _mm512_setzero_si512() -> __m512i { result { _mm512_setzero_si512_at($0) } }
    @inline(__always) func _mm512_set1_ps(_ a: Float) -> __m512 { result { _mm512_set1_ps_at($0, a) } }
    @inline(__always) func _mm512_set1_epi8(_ a: CChar) -> __m512i { result { _mm512_set1_epi8_at($0, a) } }
    @inline(__always) func _mm512_set1_epi32(_ a: Int32) -> __m512i { result { _mm512_set1_epi32_at($0, a) } }
    @inline(__always) func _mm512_set1_epi64(_ a: Int64) -> __m512i { result { _mm512_set1_epi64_at($0, a) } }
    @inline(__always) func _mm512_broadcast_f32x8(_ a: __m256) -> __m512 { result { _mm512_broadcast_f32x8_at($0, a) } }

    // MARK: Loads and selections

    @inline(__always) func _mm512_loadu_ps(_ a: UnsafeRawPointer!) -> __m512 { result { _mm512_loadu_ps_at($0, a) } }
    @inline(__always)
    func _mm512_maskz_loadu_ps(_ a: __mmask16, _ b: UnsafeRawPointer!) -> __m512 {
        result { _mm512_maskz_loadu_ps_at($0, a, b) }
    }
    @inline(__always)
    func _mm512_mask_mov_ps(_ a: __m512, _ b: __mmask16, _ c: __m512) -> __m512 {
        result { _mm512_mask_mov_ps_at($0, a, b, c) }
    }
    @inline(__always)
    func _mm512_mask_mov_epi32(_ a: __m512i, _ b: __mmask16, _ c: __m512i) -> __m512i {
        result { _mm512_mask_mov_epi32_at($0, a, b, c) }
    }

    // MARK: Functions of CIntrinsics

    @inline(__always)
    func zero_below(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 { result { zero_below_at($0, a, b, c) } }
    @inline(__always)
    func select_above(_ a: __m512, _ b: __m512, _ c: __m512, _ d: __m512) -> __m512 {
        result { select_above_at($0, a, b, c, d) }
    }
    @inline(__always)
    func select_within(_ a: __m512i, _ b: __m512i, _ c: Int32, _ d: __m512, _ e: __m512) -> __m512 {
        result { select_within_at($0, a, b, c, d, e) }
    }
    @inline(__always)
    func add_products_of_words(_ a: __m512i, _ b: __m512i, _ c: __m512i) -> __m512i {
        result { add_products_of_words_at($0, a, b, c) }
    }
    @inline(__always) func join_halves(_ a: __m256, _ b: __m256) -> __m512 { result { join_halves_at($0, a, b) } }
    @inline(__always) func in_order_wide(_ a: __m512i) -> __m512i { result { in_order_wide_at($0, a) } }
    @inline(__always) func at_once(_ a: __m512) -> __m512 { result { at_once_at($0, a) } }

#endif
