// Validation of UTF-8 by blocks of 16 or 32 bytes, by the method of Keiser and Lemire ("Validating UTF-8 in less than
// one instruction per byte", 2021): three lookups by half bytes give the possible errors of a byte and its predecessor,
// and an error is one that all three give.
#include <cstring>

#include "text/simd.h"
#include "text/utf8.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace nmt_prep {

#if defined(__x86_64__) || defined(__aarch64__)
namespace {

// Errors of a byte and its predecessor. Two consecutive continuations are an error only if no lead byte requires them.
enum Error : std::uint8_t {
    kTooShort = 1,  // no continuation after a lead
    kTooLong = 2,   // a continuation after ASCII
    kOverlong3 = 4,
    kTooLarge = 8,
    kSurrogate = 16,
    kOverlong2 = 32,
    kOverlong4 = 64,
    kFarTooLarge = 64,  // shares a bit with kOverlong4, which needs another lead byte
    kTwoContinue = 128,
};
constexpr std::uint8_t kAnyLow = kTooShort | kTooLong | kTwoContinue;
constexpr std::uint8_t kLargeLow = kAnyLow | kTooLarge | kFarTooLarge;

// Tables by the upper half of the previous byte, its lower half, and the upper half of the byte itself.
// clang-format off
constexpr std::uint8_t kBeforeHigh[16] = {
    kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong,  // ASCII
    kTwoContinue, kTwoContinue, kTwoContinue, kTwoContinue,                          // continuations
    kTooShort | kOverlong2, kTooShort,                                               // leads of two bytes
    kTooShort | kOverlong3 | kSurrogate,                                             // leads of three bytes
    kTooShort | kTooLarge | kFarTooLarge | kOverlong4};                              // leads of four bytes
constexpr std::uint8_t kBeforeLow[16] = {
    kAnyLow | kOverlong2 | kOverlong3 | kOverlong4,                        // C0, E0, F0
    kAnyLow | kOverlong2,                                                  // C1
    kAnyLow, kAnyLow, kAnyLow | kTooLarge,                                 // F4
    kLargeLow, kLargeLow, kLargeLow, kLargeLow, kLargeLow, kLargeLow, kLargeLow, kLargeLow,
    kLargeLow | kSurrogate,                                                // ED
    kLargeLow, kLargeLow};
constexpr std::uint8_t kContinues = kTooLong | kOverlong2 | kTwoContinue;
constexpr std::uint8_t kHigh[16] = {
    kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort,
    kContinues | kOverlong3 | kFarTooLarge | kOverlong4,                   // 80 to 8F
    kContinues | kOverlong3 | kTooLarge,                                   // 90 to 9F
    kContinues | kSurrogate | kTooLarge, kContinues | kSurrogate | kTooLarge,
    kTooShort, kTooShort, kTooShort, kTooShort};
// clang-format on

#if defined(__x86_64__)
// Returns the errors of each byte of a block, 0 for none; `one`, `two`, `three`: the block shifted by that many bytes.
NMT_PREP_SSE42 __m128i errors_of(__m128i block, __m128i one, __m128i two, __m128i three) {
    const auto table = [](const std::uint8_t* of) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(of)); };
    const __m128i half = _mm_set1_epi8(0x0F);
    const __m128i before_high = _mm_and_si128(_mm_srli_epi16(one, 4), half);
    const __m128i before_low = _mm_and_si128(one, half);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(block, 4), half);
    const __m128i named = _mm_and_si128(_mm_and_si128(_mm_shuffle_epi8(table(kBeforeHigh), before_high),
                                                      _mm_shuffle_epi8(table(kBeforeLow), before_low)),
                                        _mm_shuffle_epi8(table(kHigh), high));
    // The highest bit is set where a lead byte requires a second or third continuation, the only place for consecutive
    // ones.
    const __m128i asked =
        _mm_or_si128(_mm_subs_epu8(two, _mm_set1_epi8(0xE0 - 0x80)), _mm_subs_epu8(three, _mm_set1_epi8(0xF0 - 0x80)));
    return _mm_xor_si128(_mm_and_si128(asked, _mm_set1_epi8(static_cast<char>(kTwoContinue))), named);
}

NMT_PREP_SSE42 bool is_utf8_sse42(const std::uint8_t* data, std::size_t size) {
    __m128i errors = _mm_setzero_si128();
    __m128i previous = _mm_setzero_si128();
    bool last = false;
    for (std::size_t at = 0; !last; at += 16) {
        // The last block is padded with at least one zero, so that a truncated character is detected.
        last = size - at < 16;
        std::uint8_t rest[16] = {};
        if (last) std::memcpy(rest, data + at, size - at);
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(last ? rest : data + at));
        const __m128i three = _mm_alignr_epi8(block, previous, 13);
        if (_mm_movemask_epi8(_mm_or_si128(block, three)) != 0) {
            const __m128i one = _mm_alignr_epi8(block, previous, 15);
            const __m128i two = _mm_alignr_epi8(block, previous, 14);
            errors = _mm_or_si128(errors, errors_of(block, one, two, three));
        }
        previous = block;
    }
    return _mm_movemask_epi8(_mm_cmpeq_epi8(errors, _mm_setzero_si128())) == 0xFFFF;
}

// The same with 32 bytes.
NMT_PREP_AVX2 __m256i table_twice(const std::uint8_t* of) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(of)));
}

NMT_PREP_AVX2 __m256i errors_of(__m256i block, __m256i one, __m256i two, __m256i three) {
    const __m256i half = _mm256_set1_epi8(0x0F);
    const __m256i before_high = _mm256_and_si256(_mm256_srli_epi16(one, 4), half);
    const __m256i before_low = _mm256_and_si256(one, half);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(block, 4), half);
    const __m256i named = _mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(table_twice(kBeforeHigh), before_high),
                                                            _mm256_shuffle_epi8(table_twice(kBeforeLow), before_low)),
                                           _mm256_shuffle_epi8(table_twice(kHigh), high));
    const __m256i asked = _mm256_or_si256(_mm256_subs_epu8(two, _mm256_set1_epi8(0xE0 - 0x80)),
                                          _mm256_subs_epu8(three, _mm256_set1_epi8(0xF0 - 0x80)));
    return _mm256_xor_si256(_mm256_and_si256(asked, _mm256_set1_epi8(static_cast<char>(kTwoContinue))), named);
}

NMT_PREP_AVX2 bool is_utf8_avx2(const std::uint8_t* data, std::size_t size) {
    __m256i errors = _mm256_setzero_si256();
    __m256i previous = _mm256_setzero_si256();
    bool last = false;
    for (std::size_t at = 0; !last; at += 32) {
        last = size - at < 32;
        std::uint8_t rest[32] = {};
        if (last) std::memcpy(rest, data + at, size - at);
        const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(last ? rest : data + at));
        // The upper half of the previous block and the lower half of this one.
        const __m256i middle = _mm256_permute2x128_si256(previous, block, 0x21);
        const __m256i three = _mm256_alignr_epi8(block, middle, 13);
        if (_mm256_movemask_epi8(_mm256_or_si256(block, three)) != 0) {
            const __m256i one = _mm256_alignr_epi8(block, middle, 15);
            const __m256i two = _mm256_alignr_epi8(block, middle, 14);
            errors = _mm256_or_si256(errors, errors_of(block, one, two, three));
        }
        previous = block;
    }
    return _mm256_testz_si256(errors, errors) != 0;
}
#else
// The same with 16 bytes.
uint8x16_t errors_of(uint8x16_t block, uint8x16_t one, uint8x16_t two, uint8x16_t three) {
    const uint8x16_t before_high = vqtbl1q_u8(vld1q_u8(kBeforeHigh), vshrq_n_u8(one, 4));
    const uint8x16_t before_low = vqtbl1q_u8(vld1q_u8(kBeforeLow), vandq_u8(one, vdupq_n_u8(0x0F)));
    const uint8x16_t high = vqtbl1q_u8(vld1q_u8(kHigh), vshrq_n_u8(block, 4));
    const uint8x16_t asked =
        vorrq_u8(vqsubq_u8(two, vdupq_n_u8(0xE0 - 0x80)), vqsubq_u8(three, vdupq_n_u8(0xF0 - 0x80)));
    return veorq_u8(vandq_u8(asked, vdupq_n_u8(kTwoContinue)), vandq_u8(vandq_u8(before_high, before_low), high));
}

bool is_utf8_neon(const std::uint8_t* data, std::size_t size) {
    uint8x16_t errors = vdupq_n_u8(0);
    uint8x16_t previous = errors;
    bool last = false;
    for (std::size_t at = 0; !last; at += 16) {
        last = size - at < 16;
        std::uint8_t rest[16] = {};
        if (last) std::memcpy(rest, data + at, size - at);
        const uint8x16_t block = vld1q_u8(last ? rest : data + at);
        const uint8x16_t three = vextq_u8(previous, block, 13);
        if (vmaxvq_u8(vorrq_u8(block, three)) >= 0x80)
            errors =
                vorrq_u8(errors, errors_of(block, vextq_u8(previous, block, 15), vextq_u8(previous, block, 14), three));
        previous = block;
    }
    return vmaxvq_u8(errors) == 0;
}
#endif

}  // namespace
#endif

bool is_utf8_by_blocks([[maybe_unused]] const std::uint8_t* data, [[maybe_unused]] std::size_t size) {
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx2) return is_utf8_avx2(data, size);
    if (simd() >= Simd::kSse42) return is_utf8_sse42(data, size);
#elif defined(__aarch64__)
    if (simd() >= Simd::kNeon) return is_utf8_neon(data, size);
#endif
    return false;
}

}  // namespace nmt_prep
