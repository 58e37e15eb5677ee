#include "t2t_tokens.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "unicode.h"
#include "utf8.h"

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kBlock = 64;

struct Block {
    std::uint64_t alphanumeric = 0;  // ASCII letters and digits
    std::uint64_t leads = 0;         // first bytes of longer characters
};

#if defined(__SSE2__)

// Bytes of `values` in [first, first + count).
__m128i in_range(__m128i values, char first, char count) {
    const __m128i from_zero = _mm_sub_epi8(values, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(from_zero, _mm_set1_epi8(static_cast<char>(count - 1))), from_zero);
}

Block read_block(const std::uint8_t* bytes) {
    Block block;
    for (std::size_t i = 0; i < kBlock; i += 16) {
        const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
        const __m128i letters = in_range(_mm_or_si128(values, _mm_set1_epi8(0x20)), 'a', 26);
        const __m128i known = _mm_or_si128(letters, in_range(values, '0', 10));
        const __m128i leads = in_range(values, static_cast<char>(0xC0), 0x40);
        block.alphanumeric |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(known))) << i;
        block.leads |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(leads))) << i;
    }
    return block;
}

#else

Block read_block(const std::uint8_t* bytes) {
    Block block;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const std::uint8_t lower = bytes[i] | 0x20;
        const bool known = (lower >= 'a' && lower <= 'z') || (bytes[i] >= '0' && bytes[i] <= '9');
        block.alphanumeric |= std::uint64_t{known} << i;
        block.leads |= std::uint64_t{bytes[i] >= 0xC0} << i;
    }
    return block;
}

#endif

}  // namespace

void classify(const std::uint8_t* line, std::size_t size, ClassBits& bits) {
    bits.resize((size + kBlock - 1) / kBlock);
    std::uint64_t carried = 0;  // bits of a character that began in the block before
    for (std::size_t base = 0; base < size; base += kBlock) {
        Block block;
        if (size - base >= kBlock) {
            block = read_block(line + base);
        } else {
            std::uint8_t padded[kBlock] = {};
            std::memcpy(padded, line + base, size - base);
            block = read_block(padded);
        }
        std::uint64_t word = block.alphanumeric | carried;
        carried = 0;
        for (std::uint64_t leads = block.leads; leads != 0; leads &= leads - 1) {
            const auto at = static_cast<std::size_t>(std::countr_zero(leads));
            const std::uint8_t* end = line + base + at;
            if (!is_alphanumeric(next_utf8(end))) continue;
            const auto length = static_cast<std::size_t>(end - (line + base + at));
            const std::uint64_t ones = (std::uint64_t{1} << length) - 1;
            word |= ones << at;
            if (at + length > kBlock) carried = ones >> (kBlock - at);
        }
        bits[base / kBlock] = word;
    }
}

}  // namespace nmt_prep::t2t
