// Finds the pieces that occur in a spelling, by walks down the trie.
#include <array>
#include <bit>
#include <utility>

#include "sentencepiece/lattice.h"
#include "text/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nmt_prep::sentencepiece {

void Lattice::reserve(std::size_t size) {
    if (best_.size() > size) return;
    ids_.resize(2 * size + kShort + kSlack);
    best_.resize(2 * size + 1);
    sums_.resize(best_.size());
    last_.resize(best_.size() + kSlack);
    walks_.resize(best_.size() + kSlack);
    path_ids_.resize(best_.size());
    path_starts_.resize(best_.size());
}

void Lattice::find_pieces(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                          std::size_t size) {
    longs_.clear();
    find<false>(trie, firsts, symbols, size);
}

void Lattice::list_pieces(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                          std::size_t size) {
    listed_size_ = 0;
    find<true>(trie, firsts, symbols, size);
}

template <bool kLists>
void Lattice::find(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols, std::size_t size) {
    reserve(size);
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx512) return find_avx512<kLists>(trie, firsts, symbols, size);
#endif
    find_scalar<kLists>(trie, firsts, symbols, size);
}

// Walks are always written, and counted only if they continue, to avoid a branch. So are listed pieces.
template <bool kLists>
void Lattice::find_scalar(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                          std::size_t size) {
    Walk* const walks = walks_.data();
    std::size_t count = 0;
    const auto walk_on = [&](std::uint32_t start, std::uint32_t place, std::uint32_t goes_on) {
        walks[count] = {start, place};
        count += goes_on;
        trie.prefetch(place & -goes_on);
    };
    const std::uint32_t stranger = symbols[size - 1];
    for (std::uint32_t i = 0; i + 1 < size; ++i) {
        const First& first = firsts[symbols[i]];
        if constexpr (kLists)
            last_[i] = first.id;
        else
            ids_[i + kShort] = {first.id + 1, 0, 0, 0};
        const std::uint32_t next = symbols[i + 1], place = first.base ^ next;
        // The symbol behind the last one must not be read, whatever the table says.
        walk_on(i, place, static_cast<std::uint32_t>(trie.may_be_second(place)) & (next != stranger));
    }
    for (std::size_t length = 2; count > 0; ++length) {
        const std::size_t before = std::exchange(count, 0);
        if constexpr (kLists) reserve_listed(before);
        const auto walk = [&](const auto& add) {
            for (std::size_t i = 0; i < before; ++i) {
                const auto [start, at] = walks[i];
                const std::uint32_t* const symbol = symbols + start + length;
                const Trie::Node node = trie.child_at(at, symbol[-1]);
                add(start, Trie::value(node));
                const std::uint32_t place = Trie::place_of(node, symbol[0]);
                walk_on(start, place, trie.has_child(place, symbol[0]));
            }
        };
        if constexpr (kLists)
            walk([&](std::uint32_t start, std::int32_t id) {
                const auto value = Listed{static_cast<std::uint32_t>(id + 1)};
                listed_[listed_size_] = value << kListedId | Listed{length} << kListedLength | start;
                listed_size_ += value != 0;
            });
        else if (length <= kShort)
            walk([&](std::uint32_t start, std::int32_t id) { ids_[start + kShort][length - 1] = id + 1; });
        else
            walk([&](std::uint32_t start, std::int32_t id) {
                if (id >= 0) add_long(size, start + length, start, id);
            });
    }
}

void Lattice::add_long(std::size_t size, std::size_t end, std::uint32_t start, std::int32_t id) {
    if (longs_.empty()) long_ends_.assign(size + 1, -1);
    longs_.push_back({start, id, long_ends_[end]});
    long_ends_[end] = static_cast<std::int32_t>(longs_.size() - 1);
}

void Lattice::reserve_listed(std::size_t more) {
    const std::size_t needed = listed_size_ + more + kSlack;
    if (listed_.size() < needed) listed_.resize(2 * needed);
}

#if defined(__x86_64__)

namespace {

// The lowest `count` bits.
template <class Mask>
Mask lowest(std::size_t count) {
    constexpr std::size_t kBits = sizeof(Mask) * 8;
    return static_cast<Mask>(count >= kBits ? -1 : (1 << count) - 1);
}

}  // namespace

// Visits 16 characters at once: writes their own pieces, and the walks that go on to a second character.
template <bool kLists>
NMT_PREP_AVX512 std::size_t Lattice::begin_walks(const Trie& trie, const std::vector<First>& firsts,
                                                 const std::uint32_t* symbols, std::size_t size) {
    static_assert(sizeof(First) == 8 && sizeof(Walk) == 8 && sizeof(ids_[0]) == 16);
    const __m512i iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i even = _mm512_slli_epi32(iota, 1), odd = _mm512_add_epi32(even, one);
    const __m512i pairs = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i stranger = _mm512_set1_epi32(static_cast<int>(symbols[size - 1]));
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < size; i += 16) {
        const auto lanes = lowest<__mmask16>(size - 1 - i);
        const __m512i symbol = _mm512_maskz_loadu_epi32(lanes, symbols + i);
        const __m512i next = _mm512_maskz_loadu_epi32(lanes, symbols + i + 1);
        const __m512i first8 = _mm512_i32gather_epi64(_mm512_castsi512_si256(symbol), firsts.data(), 8);
        const __m512i last8 = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(symbol, 1), firsts.data(), 8);
        const __m512i ids = _mm512_permutex2var_epi32(first8, odd, last8);
        if constexpr (kLists) {
            _mm512_storeu_si512(&last_[i], ids);
        } else {
            auto* const rows = reinterpret_cast<__m512i*>(&ids_[i + kShort]);
            for (int row = 0; row < 4; ++row) {
                const __m512i from = _mm512_add_epi32(_mm512_srli_epi32(iota, 2), _mm512_set1_epi32(4 * row));
                const __m512i values = _mm512_maskz_permutexvar_epi32(0x1111, from, _mm512_add_epi32(ids, one));
                _mm512_storeu_si512(rows + row, values);
            }
        }
        // The symbol behind the last one must not be read, whatever the table says.
        const __mmask16 inner = _mm512_mask_cmpneq_epi32_mask(lanes, next, stranger);
        const __m512i place = _mm512_xor_si512(_mm512_permutex2var_epi32(first8, even, last8), next);
        const __m512i bits =
            _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), inner, _mm512_srli_epi32(place, 5), trie.seconds(), 4);
        const __m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(place, _mm512_set1_epi32(31)));
        const __mmask16 on = _mm512_mask_test_epi32_mask(inner, bits, bit);
        const __m512i start = _mm512_add_epi32(iota, _mm512_set1_epi32(static_cast<int>(i)));
        for (int half = 0; half < 2; ++half) {
            const __m512i from = _mm512_add_epi32(pairs, _mm512_set1_epi32(8 * half));
            const auto kept = static_cast<__mmask8>(on >> 8 * half);
            const __m512i walks = _mm512_permutex2var_epi32(start, from, place);
            _mm512_storeu_si512(&walks_[count], _mm512_maskz_compress_epi64(kept, walks));
            count += static_cast<std::size_t>(std::popcount(kept));
        }
    }
    return count;
}

// Advances `count` walks, eight at once. Returns the number of walks that go on.
template <bool kLists>
NMT_PREP_AVX512 std::size_t Lattice::advance_walks(const Trie& trie, const std::uint32_t* symbols, std::size_t size,
                                                   std::size_t length, std::size_t count) {
    const __m512i zero = _mm512_setzero_si512(), low = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i label = _mm512_set1_epi64(Trie::kMaxLabel), value = _mm512_set1_epi64(Trie::kMaxValue);
    const __m512i base = _mm512_set1_epi64(-1LL << Trie::kBaseFrom);
    if constexpr (kLists) reserve_listed(count);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; i += 8) {
        const auto lanes = lowest<__mmask8>(count - i);
        const __m512i walk = _mm512_maskz_loadu_epi64(lanes, &walks_[i]);
        const __m512i start = _mm512_and_si512(walk, low), place = _mm512_srli_epi64(walk, 32);
        const __m512i node = _mm512_mask_i64gather_epi64(zero, lanes, place, trie.nodes(), 8);
        // The symbol that leads to the node, and the next one.
        const __m512i both = _mm512_mask_i64gather_epi64(zero, lanes, start, symbols + length - 1, 4);
        const __m512i of_node = _mm512_and_si512(_mm512_srli_epi64(node, Trie::kLabelFrom), label);
        const __mmask8 there = _mm512_mask_cmpeq_epi64_mask(lanes, of_node, _mm512_and_si512(both, low));
        const __mmask8 found = _mm512_mask_test_epi64_mask(there, node, value);
        const __m512i ids = _mm512_and_si512(node, value);
        if constexpr (kLists) {
            const __m512i lengths = _mm512_slli_epi64(_mm512_set1_epi64(static_cast<long long>(length)), kListedLength);
            const __m512i listed = _mm512_or_si512(_mm512_slli_epi64(ids, kListedId), _mm512_or_si512(start, lengths));
            _mm512_storeu_si512(&listed_[listed_size_], _mm512_maskz_compress_epi64(found, listed));
            listed_size_ += static_cast<std::size_t>(std::popcount(found));
        } else if (length <= kShort) {
            const __m512i entry = _mm512_add_epi64(_mm512_slli_epi64(start, 2),
                                                   _mm512_set1_epi64(static_cast<long long>(4 * kShort + length - 1)));
            _mm512_mask_i64scatter_epi32(ids_.data(), found, entry, _mm512_cvtepi64_epi32(ids), 4);
        } else if (found != 0) {
            std::array<std::uint64_t, 8> starts, values;
            _mm512_storeu_si512(starts.data(), start);
            _mm512_storeu_si512(values.data(), ids);
            for (unsigned left = found; left != 0; left &= left - 1) {
                const auto lane = static_cast<std::size_t>(std::countr_zero(left));
                const auto from = static_cast<std::uint32_t>(starts[lane]);
                add_long(size, from + length, from, static_cast<std::int32_t>(values[lane]) - 1);
            }
        }
        const __mmask8 on = _mm512_mask_test_epi64_mask(there, node, base);
        const __m512i onto = _mm512_xor_si512(_mm512_srli_epi64(node, Trie::kBaseFrom), _mm512_srli_epi64(both, 32));
        const __m512i next = _mm512_or_si512(start, _mm512_slli_epi64(onto, 32));
        _mm512_storeu_si512(&walks_[kept], _mm512_maskz_compress_epi64(on, next));
        kept += static_cast<std::size_t>(std::popcount(on));
    }
    return kept;
}

template <bool kLists>
void Lattice::find_avx512(const Trie& trie, const std::vector<First>& firsts, const std::uint32_t* symbols,
                          std::size_t size) {
    std::size_t count = begin_walks<kLists>(trie, firsts, symbols, size);
    for (std::size_t length = 2; count > 0; ++length) count = advance_walks<kLists>(trie, symbols, size, length, count);
}

#endif

}  // namespace nmt_prep::sentencepiece
