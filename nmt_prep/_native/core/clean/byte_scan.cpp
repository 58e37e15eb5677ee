#include "clean/byte_scan.h"

#include <algorithm>

#include "text/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nmt_prep::clean {

ByteScan::ByteScan(const ByteSet& set, bool double_spaces) : set_(set), double_spaces_(double_spaces) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
        if (!set[byte]) continue;
        auto& table = byte < 0x80 ? ascii_ : high_;
        table[byte & 15] = static_cast<std::uint8_t>(table[byte & 15] | 1 << (byte >> 4 & 7));
    }
}

std::uint64_t ByteScan::hits(const std::uint8_t* data, std::size_t size) const {
#if defined(__x86_64__)
    // Requires one byte more than a block: the byte after a space.
    if (simd() >= Simd::kSse42 && size > 64) return hits_sse42(data);
#endif
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 64); ++i) {
        const bool doubled = double_spaces_ && data[i] == ' ' && i + 1 < size && data[i + 1] == ' ';
        bits |= std::uint64_t{set_[data[i]] || doubled} << i;
    }
    return bits;
}

#if defined(__x86_64__)
NMT_PREP_SSE42 std::uint64_t ByteScan::hits_sse42(const std::uint8_t* data) const {
    const auto load = [](const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
    const __m128i ascii = load(ascii_.data());
    const __m128i high = load(high_.data());
    const __m128i bits = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201u));
    const __m128i index = _mm_set1_epi8(static_cast<char>(0x8F));
    const __m128i flip = _mm_set1_epi8(static_cast<char>(0x80));
    const __m128i half = _mm_set1_epi8(0x0F);
    const __m128i space = _mm_set1_epi8(' ');
    const __m128i pairs = _mm_set1_epi8(static_cast<char>(double_spaces_ ? 0xFF : 0));
    std::uint64_t result = 0;
    for (unsigned at = 0; at < 64; at += 16) {
        const __m128i block = load(data + at);
        // A shuffle gives 0 if the highest bit of the index is set, so only one of the two tables contributes to each
        // byte.
        const __m128i low = _mm_and_si128(block, index);
        const __m128i halves =
            _mm_or_si128(_mm_shuffle_epi8(ascii, low), _mm_shuffle_epi8(high, _mm_xor_si128(low, flip)));
        const __m128i upper = _mm_shuffle_epi8(bits, _mm_and_si128(_mm_srli_epi16(block, 4), half));
        const __m128i in_set = _mm_cmpeq_epi8(_mm_and_si128(halves, upper), upper);
        const __m128i doubled = _mm_and_si128(_mm_cmpeq_epi8(block, space), _mm_cmpeq_epi8(load(data + at + 1), space));
        const auto found =
            static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(in_set, _mm_and_si128(doubled, pairs))));
        result |= std::uint64_t{found} << at;
    }
    return result;
}
#endif

}  // namespace nmt_prep::clean
