#include "align/filter.h"

#include <algorithm>
#include <bit>

#include "align/row_runs.h"
#include "text/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nmt_prep::align {
namespace {

constexpr std::uint64_t kBitsPerCell = 16;
constexpr std::uint64_t kLeastBits = 64;
constexpr std::uint64_t kMostBits = std::uint64_t{1} << 31;

#if defined(__x86_64__)
NMT_PREP_AVX2 std::size_t select_avx2(const std::uint32_t* bits, std::uint32_t shift, const std::uint32_t* mixed,
                                      std::size_t size, std::uint32_t* places) {
    const __m128i by = _mm_cvtsi32_si128(static_cast<int>(shift));
    std::size_t found = 0;
    for (std::size_t j = 0; j < size; j += 8) {
        const __m256i bit = _mm256_srl_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(mixed + j)), by);
        const __m256i words =
            _mm256_i32gather_epi32(reinterpret_cast<const int*>(bits), _mm256_srli_epi32(bit, 5), sizeof *bits);
        // The bits as the signs of the lanes. Shifts by a register take its lowest five bits of 31 - bit.
        const __m256i up = _mm256_andnot_si256(bit, _mm256_set1_epi32(31));
        auto set = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(words, up))));
        if (size - j < 8) set &= (1u << (size - j)) - 1;
        // The numbers of the lanes whose bits are set, one after the other.
        const std::uint64_t lanes = _pext_u64(0x0706050403020100u, _pdep_u64(set, 0x0101010101010101u) * 0xFF);
        const __m256i chosen = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(lanes)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + found),
                            _mm256_add_epi32(chosen, _mm256_set1_epi32(static_cast<int>(j))));
        found += static_cast<std::size_t>(__builtin_popcount(set));
    }
    return found;
}
#endif

}  // namespace

std::size_t CellFilter::select(const std::uint32_t* bits, std::uint32_t shift, const std::uint32_t* mixed,
                               std::size_t size, std::uint32_t* places) {
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx2) return select_avx2(bits, shift, mixed, size, places);
#endif
    std::size_t found = 0;
    for (std::size_t j = 0; j < size; ++j) {
        const std::uint32_t bit = mixed[j] >> shift;
        places[found] = static_cast<std::uint32_t>(j);
        found += bits[bit >> 5] >> (bit & 31) & 1;
    }
    return found;
}

CellFilter::CellFilter(const Table& table, std::size_t threads) : rows_(table.rows()) {
    const auto for_each_cell = [&](std::size_t row, auto&& body) {
        for (std::int64_t at = table.first()[row]; at < table.first()[row + 1]; ++at) {
            const std::int32_t target = table.slots()[static_cast<std::size_t>(at)].target;
            if (target != kFree) body(target);
        }
    };
    for_each_row(table.first(), threads, [&](std::size_t row, std::size_t) {
        std::uint64_t cells = 0;
        for_each_cell(row, [&](std::int32_t) { ++cells; });
        const std::uint64_t bits = std::clamp(std::bit_ceil(kBitsPerCell * cells), kLeastBits, kMostBits);
        rows_[row].shift = cells == 0 ? 0 : 32 - static_cast<std::uint32_t>(std::countr_zero(bits));
    });
    std::size_t words = 0;
    for (Row& row : rows_) {
        row.first = words;
        if (row.shift != 0) words += (std::size_t{1} << (32 - row.shift)) / 32;
    }
    bits_.resize(words);
    for_each_row(table.first(), threads, [&](std::size_t row, std::size_t) {
        for_each_cell(row, [&](std::int32_t target) {
            const std::uint32_t bit = mix(target) >> rows_[row].shift;
            bits_[rows_[row].first + (bit >> 5)] |= 1u << (bit & 31);
        });
    });
}

}  // namespace nmt_prep::align
