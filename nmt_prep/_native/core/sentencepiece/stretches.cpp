#include "sentencepiece/stretches.h"

#include <algorithm>
#include <bit>

#include "text/simd.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nmt_prep::sentencepiece {
namespace {

#if defined(__SSE2__)
// Adds the properties of 16 bytes.
void classify_part(__m128i bytes, unsigned shift, ByteClasses& classes) {
    const auto mask = [shift](__m128i found) {
        return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(found))} << shift;
    };
    const auto all = [](int byte) { return _mm_set1_epi8(static_cast<char>(byte)); };
    // Comparisons are of signed bytes, where 0x80 is the lowest. Adding moves the lowest byte of a range there.
    const auto in_range = [&](__m128i each, int lowest, int highest) {
        return _mm_cmpgt_epi8(all(0x80 + highest - lowest + 1), _mm_add_epi8(each, all(0x80 - lowest)));
    };
    classes.lower |= mask(in_range(bytes, 'a', 'z'));
    classes.upper |= mask(in_range(bytes, 'A', 'Z'));
    classes.spaces |= mask(_mm_cmpeq_epi8(bytes, all(' ')));
    if (_mm_movemask_epi8(bytes) == 0) return;
    classes.continuations |= mask(_mm_cmpgt_epi8(all(0xC0), bytes));
    classes.runs |= mask(_mm_or_si128(in_range(bytes, 0xE3, 0xE9), in_range(bytes, 0xEF, 0xFF)));
}

ByteClasses classify_by_vectors(const std::uint8_t* block) {
    ByteClasses classes;
    for (unsigned i = 0; i < ByteClasses::kBytes; i += 16)
        classify_part(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i)), i, classes);
    return classes;
}
#endif

ByteClasses classify_one_by_one(const std::uint8_t* block) {
    ByteClasses classes;
    for (std::size_t i = 0; i < ByteClasses::kBytes; ++i) {
        const std::uint8_t byte = block[i];
        const auto mask = [i](bool found) { return std::uint64_t{found} << i; };
        classes.lower |= mask(byte >= 'a' && byte <= 'z');
        classes.upper |= mask(byte >= 'A' && byte <= 'Z');
        classes.spaces |= mask(byte == ' ');
        classes.continuations |= mask(byte >= 0x80 && byte < 0xC0);
        classes.runs |= mask(begins_run(byte));
    }
    return classes;
}

inline bool is_run(const ByteClasses& classes, std::size_t size, int spaces) {
    constexpr int kRuns = 8;           // at most so many bytes for each character of the first kind
    constexpr int kContinuations = 3;  // at most so many bytes for each byte that continues a character
    const std::uint64_t all = size < ByteClasses::kBytes ? (std::uint64_t{1} << size) - 1 : ~std::uint64_t{0};
    const auto bytes = static_cast<int>(std::min(size, ByteClasses::kBytes));
    const int runs = std::popcount(classes.runs & all), continuations = std::popcount(classes.continuations & all);
    return ((runs != 0 && runs * kRuns >= bytes) || continuations * kContinuations >= bytes) &&
           std::popcount(classes.spaces & all) <= spaces;
}

#if defined(__x86_64__)
// The same, with instructions that count bits.
NMT_PREP_SSE42 bool is_run_sse42(const std::uint8_t* text, std::size_t size, int spaces) {
    return is_run(classify_by_vectors(text), size, spaces);
}
#endif

}  // namespace

bool is_run_of_text(const std::uint8_t* text, std::size_t size, int spaces) {
#if defined(__x86_64__)
    if (simd() >= Simd::kSse42) return is_run_sse42(text, size, spaces);
#endif
    return is_run(classify_bytes(text), size, spaces);
}

ByteClasses classify_bytes(const std::uint8_t* block) {
#if defined(__SSE2__)
    if (simd() > Simd::kScalar) return classify_by_vectors(block);
#endif
    return classify_one_by_one(block);
}

}  // namespace nmt_prep::sentencepiece
