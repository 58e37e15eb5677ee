#include "sentencepiece/run_reader.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "text/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nmt_prep::sentencepiece {

RunReader::RunReader(const Normalizer& normalizer, const Vocabulary& vocabulary, const Joints& joints,
                     const Alphabet& alphabet)
    : normalizer_(normalizer),
      joints_(joints),
      alphabet_(alphabet),
      entries_(kBasicEnd),
      is_space_simple_(normalizer.character(' ').becomes == U' ' && !normalizer.character(' ').begins_rule) {
    for (char32_t point = 0; point < kBasicEnd; ++point) {
        const Normalizer::Character character = normalizer.character(point);
        std::uint32_t& entry = entries_[point];
        entry = (character.begins_rule ? kBeginsRule : 0) | (character.is_second ? kSecond : 0);
        if (!character.becomes || *character.becomes == ' ') {
            entry |= kSlow;
            continue;
        }
        const std::uint32_t symbol = alphabet.symbol_of(*character.becomes);
        entry |= symbol;
        if (symbol != alphabet.stranger()) continue;
        // Text that no piece covers is copied as it stands where its bytes are encoded.
        const bool changes = vocabulary.byte_fallback && *character.becomes != point;
        entry |= changes ? kSlow : kStranger;
    }
}

void RunReader::Block::keep(std::size_t count) {
    size = count;
    const std::uint32_t all = (std::uint32_t{1} << count) - 1;
    known &= all;
    strangers &= all;
}

void RunReader::read_block(const std::uint8_t* at, const std::uint8_t* end, Block& block) const {
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx512) return read_block_avx512(at, end, block);
#endif
    read_block_scalar(at, end, block);
}

void RunReader::read_block_scalar(const std::uint8_t* at, const std::uint8_t* end, Block& block) const {
    const std::uint8_t* const text = at;
    block.begins[0] = 0;
    std::size_t size = 0;
    std::uint32_t known = 0, simple = 0, before = 0;
    for (; size < Block::kMost && at != end; ++size) {
        const char32_t point = next_utf8(at);
        const std::uint32_t entry = point < kBasicEnd ? entries_[point] : kSlow | kSecond;
        if ((before >> 1 & entry & kSecond) != 0) [[unlikely]]
            simple &= ~(std::uint32_t{1} << (size - 1));
        simple |= std::uint32_t{(entry & kSlow) == 0} << size;
        known |= std::uint32_t{(entry & kStranger) == 0} << size;
        block.symbols[size] = entry & kSymbol;
        block.begins[size + 1] = static_cast<std::uint8_t>(at - text);
        before = entry;
    }
    block.known = simple & known;
    block.strangers = simple & ~known;
    // A character that may begin a rule is left to the next block, unless it is the last one of the text.
    block.keep(at != end && (before & kBeginsRule) != 0 ? size - 1 : size);
}

#if defined(__x86_64__)

namespace {

// The numbers from 0 on.
constexpr auto kPlaces = [] {
    std::array<std::uint8_t, 64> places{};
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::uint8_t>(i);
    return places;
}();

NMT_PREP_AVX512 inline __m512i all(std::uint32_t number) { return _mm512_set1_epi32(static_cast<int>(number)); }

// Returns a byte of each of the first 16 characters.
NMT_PREP_AVX512 inline __m512i bytes_of(__m512i text, std::uint64_t begins, int place) {
    return _mm512_cvtepu8_epi32(_mm512_castsi512_si128(_mm512_maskz_compress_epi8(begins << place, text)));
}

// Appends the bits of a byte that continues a character.
NMT_PREP_AVX512 inline __m512i joined(__m512i high, __m512i byte) {
    return _mm512_or_si512(_mm512_slli_epi32(high, 6), _mm512_and_si512(byte, all(0x3F)));
}

}  // namespace

NMT_PREP_AVX512 void RunReader::read_block_avx512(const std::uint8_t* at, const std::uint8_t* end, Block& block) const {
    constexpr unsigned kBytes = 64;
    static_assert(Block::kMost == 16);
    const auto left = static_cast<unsigned>(std::min<std::ptrdiff_t>(end - at, kBytes));
    const std::uint64_t inside = _bzhi_u64(~std::uint64_t{0}, left);
    const __m512i text = _mm512_maskz_loadu_epi8(inside, at);
    // Where characters begin, and all bytes behind the text.
    const std::uint64_t begins = _mm512_cmpge_epi8_mask(text, _mm512_set1_epi8(-0x40));
    _mm512_storeu_si512(block.begins.data(), _mm512_maskz_compress_epi8(begins, _mm512_loadu_si512(kPlaces.data())));
    // A character whose end is not in sight is left to the next block, as one that may begin a rule.
    const int whole = std::min(std::popcount(begins & inside), std::popcount(begins) - 1);
    const auto size = std::min(static_cast<std::size_t>(whole), Block::kMost);
    const auto lanes = static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(size)));
    const __m512i first = bytes_of(text, begins, 0), second = bytes_of(text, begins, 1);
    const __m512i two = joined(_mm512_and_si512(first, all(0x1F)), second);
    const __m512i three = joined(joined(_mm512_and_si512(first, all(0x0F)), second), bytes_of(text, begins, 2));
    const __m512i low = _mm512_mask_mov_epi32(first, _mm512_cmpge_epi32_mask(first, all(0xC0)), two);
    const __m512i point = _mm512_mask_mov_epi32(low, _mm512_cmpge_epi32_mask(first, all(0xE0)), three);
    const __m512i basic = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, point, entries_.data(), 4);
    const __mmask16 has_four = _mm512_mask_cmpge_epi32_mask(lanes, first, all(0xF0));
    const __m512i entry = _mm512_mask_mov_epi32(basic, has_four, all(kSlow | kSecond));
    _mm512_storeu_si512(block.symbols.data(), _mm512_and_si512(entry, all(kSymbol)));
    const __m512i following = _mm512_alignr_epi32(_mm512_setzero_si512(), entry, 1);
    const __m512i in_rule = _mm512_and_si512(_mm512_slli_epi32(following, 1), all(kBeginsRule));
    const __mmask16 simple = _mm512_mask_testn_epi32_mask(lanes, entry, _mm512_or_si512(in_rule, all(kSlow)));
    const __mmask16 strange = _mm512_test_epi32_mask(entry, all(kStranger));
    block.known = simple & ~strange;
    block.strangers = simple & strange;
    const std::uint32_t begin_rules = _mm512_test_epi32_mask(entry, all(kBeginsRule));
    block.keep(begin_rules >> (size - 1) != 0 && block.begins[size] != end - at ? size - 1 : size);
}

#endif

}  // namespace nmt_prep::sentencepiece
