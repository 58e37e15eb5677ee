#include "t2t/tokens.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "text/simd.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace nmt_prep::t2t {
namespace {

// Classes of 64 bytes without decoding them: one bit per byte.
struct Block {
    std::uint64_t alphanumeric = 0;  // ASCII letters and digits
    std::uint64_t letters2 = 0;      // first bytes of two-byte characters that are all letters
    std::uint64_t letters3 = 0;      // first bytes of three-byte characters that are all letters
    std::uint64_t leads = 0;         // first bytes of other characters beyond ASCII
};

// Blocks of 64 characters (Latin, Cyrillic) and of 4096 (Chinese, Korean) that contain only letters.
constexpr std::uint8_t kLetters2[2][2] = {{0xC4, 7}, {0xD0, 2}};  // U+0100 … U+02BF, U+0400 … U+047F
constexpr std::uint8_t kLetters3[2][2] = {{0xE5, 5}, {0xEB, 2}};  // U+5000 … U+9FFF, U+B000 … U+CFFF

bool in_ranges(std::uint8_t byte, const std::uint8_t (&ranges)[2][2]) {
    const auto in_range = [byte](const std::uint8_t (&range)[2]) {
        return byte >= range[0] && byte < range[0] + range[1];
    };
    return in_range(ranges[0]) || in_range(ranges[1]);
}

Block read_block_scalar(const std::uint8_t* bytes) {
    Block block;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const std::uint8_t lower = bytes[i] | 0x20;
        const bool known = (lower >= 'a' && lower <= 'z') || (bytes[i] >= '0' && bytes[i] <= '9');
        const bool two = in_ranges(bytes[i], kLetters2), three = in_ranges(bytes[i], kLetters3);
        block.alphanumeric |= std::uint64_t{known} << i;
        block.letters2 |= std::uint64_t{two} << i;
        block.letters3 |= std::uint64_t{three} << i;
        block.leads |= std::uint64_t{bytes[i] >= 0xC0 && !two && !three} << i;
    }
    return block;
}

#if defined(__x86_64__)

// Bytes of `values` in [first, first + count).
NMT_PREP_SSE42 __m128i in_range(__m128i values, std::uint8_t first, std::uint8_t count) {
    const __m128i from_zero = _mm_sub_epi8(values, _mm_set1_epi8(static_cast<char>(first)));
    return _mm_cmpeq_epi8(_mm_min_epu8(from_zero, _mm_set1_epi8(static_cast<char>(count - 1))), from_zero);
}

NMT_PREP_SSE42 __m128i in_ranges(__m128i values, const std::uint8_t (&ranges)[2][2]) {
    return _mm_or_si128(in_range(values, ranges[0][0], ranges[0][1]), in_range(values, ranges[1][0], ranges[1][1]));
}

NMT_PREP_SSE42 std::uint64_t mask(__m128i values) { return static_cast<std::uint32_t>(_mm_movemask_epi8(values)); }

NMT_PREP_SSE42 Block read_block_sse42(const std::uint8_t* bytes) {
    Block block;
    __m128i values[4];
    std::uint64_t beyond_ascii = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        values[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
        const __m128i letters = in_range(_mm_or_si128(values[i], _mm_set1_epi8(0x20)), 'a', 26);
        block.alphanumeric |= mask(_mm_or_si128(letters, in_range(values[i], '0', 10))) << 16 * i;
        beyond_ascii |= mask(values[i]);
    }
    if (beyond_ascii == 0) return block;
    for (std::size_t i = 0; i < 4; ++i) {
        block.letters2 |= mask(in_ranges(values[i], kLetters2)) << 16 * i;
        block.letters3 |= mask(in_ranges(values[i], kLetters3)) << 16 * i;
        block.leads |= mask(in_range(values[i], 0xC0, 0x40)) << 16 * i;
    }
    block.leads &= ~(block.letters2 | block.letters3);
    return block;
}

#endif

Block read_block(const std::uint8_t* bytes) {
#if defined(__x86_64__)
    if (simd() >= Simd::kSse42) return read_block_sse42(bytes);
#endif
    return read_block_scalar(bytes);
}

}  // namespace

void find_changes(const std::uint8_t* text, std::size_t size, ChangeBits& bits) {
    bits.resize((size + kBlock - 1) / kBlock);
    std::uint64_t carried = 0;  // bits of a character that began in the block before
    std::uint64_t before = 0;   // class of the last byte of the previous block
    for (std::size_t base = 0; base < size; base += kBlock) {
        Block block;
        if (size - base >= kBlock) {
            block = read_block(text + base);
        } else {
            std::uint8_t padded[kBlock] = {};
            std::memcpy(padded, text + base, size - base);
            block = read_block(padded);
        }
        const std::uint64_t both = block.letters2 | block.letters3;
        std::uint64_t word = block.alphanumeric | carried | both | both << 1 | block.letters3 << 2;
        carried = both >> 63 | block.letters3 >> 62;
        for (std::uint64_t leads = block.leads; leads != 0; leads &= leads - 1) {
            const auto at = static_cast<std::size_t>(std::countr_zero(leads));
            const std::uint8_t* end = text + base + at;
            if (!is_alphanumeric(next_utf8(end))) continue;
            const auto length = static_cast<std::size_t>(end - (text + base + at));
            const std::uint64_t ones = (std::uint64_t{1} << length) - 1;
            word |= ones << at;
            if (at + length > kBlock) carried |= ones >> (kBlock - at);
        }
        bits[base / kBlock] = word ^ (word << 1 | before);
        before = word >> 63;
    }
    if (size > 0) bits[0] &= ~std::uint64_t{1};
}

}  // namespace nmt_prep::t2t
