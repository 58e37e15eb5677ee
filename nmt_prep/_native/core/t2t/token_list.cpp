#include "t2t/token_list.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "text/simd.h"

namespace nmt_prep::t2t {
namespace {

// One bit per byte of a block: set for spaces.
std::uint64_t spaces_portable(const std::uint8_t* bytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kBlock; ++i) bits |= std::uint64_t{bytes[i] == ' '} << i;
    return bits;
}

#if defined(__x86_64__)

NMT_PREP_AVX2 std::uint64_t spaces_avx2(const std::uint8_t* bytes) {
    const auto half = [](const std::uint8_t* from) NMT_PREP_AVX2 {
        const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(values, _mm256_set1_epi8(' '))));
    };
    return half(bytes) | std::uint64_t{half(bytes + kBlock / 2)} << (kBlock / 2);
}

NMT_PREP_AVX512 std::uint64_t spaces_avx512(const std::uint8_t* bytes) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(' '));
}

#endif

}  // namespace

void TokenList::begin(const TextView& text, std::size_t first, std::size_t last) {
    const auto place = [&](std::size_t i) { return static_cast<std::size_t>(text.offsets[i] - text.offsets[first]); };
    run_ = text.line(first);
    size_ = place(last);
    find_changes(run_, size_, changes_);
    words_ = size_ == 0 ? 0 : size_ / kBlock + 1;
    changes_.resize(words_ + 1);
    lines_.assign(words_ + 1, 0);
    for (std::size_t i = first; i <= last; ++i) lines_[place(i) / kBlock] |= std::uint64_t{1} << place(i) % kBlock;
    word_ = found_ = 0;
    dropped_ = 0;
    open_ = false;
}

std::size_t TokenList::next() {
    if (open_) starts_[0] = starts_[found_];
    Ends out{starts_ + (open_ ? 1 : 0), ends_};
    while (out.ends == ends_ && word_ < words_) {
        const std::size_t last = std::min(word_ + kWords, words_);
        out = read_words(last, out);
        word_ = last;
    }
    found_ = static_cast<std::size_t>(out.ends - ends_);
    open_ = out.starts - starts_ > out.ends - ends_;
    return found_;
}

// Writes base plus the index of each set bit; returns the end. May write up to kUnrolled values in any case.
[[gnu::always_inline]] inline std::size_t* TokenList::write_places(std::uint64_t bits, std::size_t base,
                                                                   std::size_t* out) {
    const auto count = static_cast<std::size_t>(std::popcount(bits));
    for (std::size_t i = 0; i < kUnrolled; ++i, bits &= bits - 1)
        out[i] = base + static_cast<std::size_t>(std::countr_zero(bits));
    for (std::size_t i = kUnrolled; i < count; ++i, bits &= bits - 1)
        out[i] = base + static_cast<std::size_t>(std::countr_zero(bits));
    return out + count;
}

#if defined(__x86_64__)

NMT_PREP_AVX512 inline std::size_t* TokenList::write_places_avx512(std::uint64_t bits, std::size_t base,
                                                                   std::size_t* out) {
    static constexpr auto kPlaces = [] {
        std::array<std::uint8_t, kBlock> places{};
        for (std::size_t i = 0; i < kBlock; ++i) places[i] = static_cast<std::uint8_t>(i);
        return places;
    }();
    const auto count = static_cast<std::size_t>(std::popcount(bits));
    const __m512i found = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(kPlaces.data()));
    const auto write = [&](std::size_t i, __m128i places) NMT_PREP_AVX512 {
        const __m512i first = _mm512_set1_epi64(static_cast<long long>(base));
        _mm512_storeu_si512(out + i, _mm512_add_epi64(first, _mm512_cvtepu8_epi64(places)));
    };
    const __m128i low = _mm512_castsi512_si128(found);
    write(0, low);
    write(8, _mm_unpackhi_epi64(low, low));
    if (count > kUnrolled) {
        std::uint8_t places[kBlock];
        _mm512_storeu_si512(places, found);
        for (std::size_t i = kUnrolled; i < count; i += 8)
            write(i, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places + i)));
    }
    return out + count;
}

#endif

// Reads the words up to `last`. `spaces` returns a bit for each space among the 64 bytes at a position, and `write`
// writes places as write_places does.
template <class Spaces, class Write>
[[gnu::always_inline]] inline TokenList::Ends TokenList::read_words_by(std::size_t last, Ends out, Spaces&& spaces,
                                                                       Write&& write) {
    for (std::size_t word = word_; word < last; ++word) {
        const std::size_t base = kBlock * word;
        std::uint8_t padded[kBlock];
        const std::uint8_t* bytes = run_ + base;
        if (size_ - base < kBlock) {
            std::memset(padded, 0, sizeof padded);
            if (size_ > base) std::memcpy(padded, bytes, size_ - base);
            bytes = padded;
        }
        const std::uint64_t changes = changes_[word], changes_after = changes >> 1 | changes_[word + 1] << 63;
        const std::uint64_t lines = lines_[word], lines_after = lines >> 1 | lines_[word + 1] << 63;
        const std::uint64_t dropped = spaces(bytes) & changes & changes_after & ~lines & ~lines_after;
        const std::uint64_t bounds = changes | lines;
        std::uint64_t starts = bounds & ~dropped;
        std::uint64_t ends = bounds & ~(dropped << 1 | dropped_);
        if (word == 0) ends &= ~std::uint64_t{1};
        if (word + 1 == words_) starts &= ~(std::uint64_t{1} << size_ % kBlock);
        dropped_ = dropped >> 63;
        out.starts = write(starts, base, out.starts);
        out.ends = write(ends, base, out.ends);
    }
    return out;
}

TokenList::Ends TokenList::read_words_portable(std::size_t last, Ends out) {
    return read_words_by(last, out, spaces_portable, write_places);
}

#if defined(__x86_64__)

NMT_PREP_AVX2 TokenList::Ends TokenList::read_words_avx2(std::size_t last, Ends out) {
    return read_words_by(
        last, out, [](const std::uint8_t* bytes) NMT_PREP_AVX2 { return spaces_avx2(bytes); },
        [](std::uint64_t bits, std::size_t base, std::size_t* to)
            NMT_PREP_AVX2 { return write_places(bits, base, to); });
}

NMT_PREP_AVX512 TokenList::Ends TokenList::read_words_avx512(std::size_t last, Ends out) {
    return read_words_by(
        last, out, [](const std::uint8_t* bytes) NMT_PREP_AVX512 { return spaces_avx512(bytes); },
        [](std::uint64_t bits, std::size_t base, std::size_t* to)
            NMT_PREP_AVX512 { return write_places_avx512(bits, base, to); });
}

#endif

TokenList::Ends TokenList::read_words(std::size_t last, Ends out) {
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx512) return read_words_avx512(last, out);
    if (simd() >= Simd::kAvx2) return read_words_avx2(last, out);
#endif
    return read_words_portable(last, out);
}

}  // namespace nmt_prep::t2t
