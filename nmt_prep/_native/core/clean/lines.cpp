#include "clean/lines.h"

#include <bit>
#include <cstring>

#include "text/properties.h"
#include "text/simd.h"
#include "text/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace nmt_prep::clean {
namespace {

// Properties of 64 bytes, one bit per byte.
struct Block {
    std::uint64_t spaces = 0;         // white space of ASCII
    std::uint64_t continuations = 0;  // 80 to BF
    std::uint64_t leads = 0;          // bytes that white space outside ASCII can begin with: C2, E1, E2, E3
    std::uint64_t high = 0;           // 80 and above
};

#if defined(__SSE2__)
std::uint64_t mask(__m128i found) { return static_cast<std::uint32_t>(_mm_movemask_epi8(found)); }

Block block_by_vectors(const std::uint8_t* at) {
    Block block;
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + std::ptrdiff_t{16} * part));
        const auto same = [&](int value) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(value))); };
        // Finds 9 to 13 and 28 to 31. An unsigned comparison is computed as a minimum.
        const auto within = [&](int first, int span) {
            const __m128i from = _mm_sub_epi8(bytes, _mm_set1_epi8(static_cast<char>(first)));
            return _mm_cmpeq_epi8(_mm_min_epu8(from, _mm_set1_epi8(static_cast<char>(span))), from);
        };
        const int shift = 16 * part;
        block.spaces |= mask(_mm_or_si128(same(' '), _mm_or_si128(within(9, 4), within(28, 3)))) << shift;
        block.continuations |= mask(_mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(0xC0)))) << shift;
        block.leads |= mask(_mm_or_si128(same(0xC2), within(0xE1, 2))) << shift;
        block.high |= mask(bytes) << shift;
    }
    return block;
}
#endif

Block block_one_by_one(const std::uint8_t* at) {
    Block block;
    for (int i = 0; i < 64; ++i) {
        const std::uint8_t byte = at[i];
        const auto bit = [i](bool set) { return std::uint64_t{set} << i; };
        block.spaces |= bit(byte == ' ' || byte - 9u <= 4 || byte - 28u <= 3);
        block.continuations |= bit((byte & 0xC0) == 0x80);
        block.leads |= bit(byte == 0xC2 || byte - 0xE1u <= 2);
        block.high |= bit(byte >= 0x80);
    }
    return block;
}

Block block_of(const std::uint8_t* at) {
#if defined(__SSE2__)
    if (simd() > Simd::kScalar) return block_by_vectors(at);
#endif
    return block_one_by_one(at);
}

bool any(const std::vector<std::uint64_t>& bits, std::size_t first, std::size_t last) {
    if (first >= last) return false;
    const std::size_t begin = first / 64;
    const std::size_t end = (last - 1) / 64;
    const std::uint64_t from = ~std::uint64_t{0} << first % 64;
    const std::uint64_t to = ~std::uint64_t{0} >> (63 - (last - 1) % 64);
    if (begin == end) return (bits[begin] & from & to) != 0;
    std::uint64_t found = (bits[begin] & from) | (bits[end] & to);
    for (std::size_t word = begin + 1; word < end; ++word) found |= bits[word];
    return found != 0;
}

}  // namespace

Lines::Lines(const TextView& text) : text_(text), first_(text.line(0)), ascii_(text.lines) {
    const auto size = static_cast<std::size_t>(text.line(text.lines) - first_);
    const std::size_t words = size / 64 + 2;  // one more than needed, so that 64 bits can be read from anywhere
    spaces_.resize(words);
    continuations_.resize(words);
    std::vector<std::uint64_t> high(words);
    std::vector<std::size_t> leads;  // positions
    for (std::size_t word = 0; word * 64 < size; ++word) {
        const std::uint8_t* at = first_ + word * 64;
        std::uint8_t padded[64] = {};
        if (size - word * 64 < 64) at = static_cast<const std::uint8_t*>(std::memcpy(padded, at, size - word * 64));
        const Block block = block_of(at);
        spaces_[word] = block.spaces;
        continuations_[word] = block.continuations;
        high[word] = block.high;
        for (std::uint64_t bits = block.leads; bits != 0; bits &= bits - 1)
            leads.push_back(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
    }
    for (std::size_t i = 0; i < text.lines; ++i) {
        const auto begin = static_cast<std::size_t>(text.line(i) - first_);
        ascii_[i] = any(high, begin, begin + text.size(i)) ? 0 : 1;
    }
    check_lines(text, 0, text.lines);
    for (const std::size_t position : leads) {  // from here on, the text is known to be well formed
        const std::uint8_t* at = first_ + position;
        if (!Properties::of(next_utf8(at)).space()) continue;
        for (std::size_t byte = position; first_ + byte < at; ++byte)
            spaces_[byte / 64] |= std::uint64_t{1} << byte % 64;
    }
}

std::size_t Lines::characters(const Line& line) const {
    return line.ascii ? line.size() : characters(line.begin, line.end);
}

std::size_t Lines::characters(const std::uint8_t* begin, const std::uint8_t* end) const {
    auto count = static_cast<std::size_t>(end - begin);
    for (const std::uint8_t* at = begin; at < end; at += 64)
        count -=
            static_cast<std::size_t>(std::popcount(continuations(at) & low_bits(static_cast<std::size_t>(end - at))));
    return count;
}

std::size_t Lines::space_characters(const Line& line) const {
    std::size_t count = 0;
    for (const std::uint8_t* at = line.begin; at < line.end; at += 64)
        count += static_cast<std::size_t>(
            std::popcount(spaces(at) & ~continuations(at) & low_bits(static_cast<std::size_t>(line.end - at))));
    return count;
}

std::size_t Lines::tokens(const Line& line) const {
    std::size_t count = 0;
    std::uint64_t before = 1;  // the byte before is white space
    for (const std::uint8_t* at = line.begin; at < line.end; at += 64) {
        const std::uint64_t space = spaces(at);
        const std::uint64_t inside = low_bits(static_cast<std::size_t>(line.end - at));
        count += static_cast<std::size_t>(std::popcount(~space & (space << 1 | before) & inside));
        before = space >> 63;
    }
    return count;
}

}  // namespace nmt_prep::clean
