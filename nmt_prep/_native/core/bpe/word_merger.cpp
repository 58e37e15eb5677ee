#include "bpe/word_merger.h"

#include <algorithm>
#include <cstring>

#include "text/simd.h"

namespace nmt_prep::bpe {
namespace {

using Word = WordMerger::Word;

constexpr std::size_t kPlaces = Word::kPlaces;
constexpr std::int32_t kOutside = -1;  // the symbol before and after a word

// A key is a rank times kPlaces and a position, so the lowest is that of the next merge. Without a merge it is higher.
constexpr std::uint32_t kNoKey = UINT32_MAX / kPlaces * kPlaces;
static_assert(PairTable::kMaxPairs < kNoKey / kPlaces && UINT32_MAX % kPlaces == kPlaces - 1);

[[gnu::always_inline]] inline void set(Word& word, std::size_t at, Merge merge) {
    word.keys[at] = static_cast<std::uint32_t>(merge_priority(merge) * kPlaces + at);
    word.merged[at] = merge_symbol(merge);
}

// Four numbers that compilers keep in one register.
using Four = std::uint32_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Four lower(Four a, Four b) { return a < b ? a : b; }

[[gnu::always_inline]] inline std::uint32_t lowest_key(const Word& word) {
    Four lowest[4];
    std::memcpy(lowest, word.keys.data(), sizeof lowest);
    if (word.size >= kPlaces / 2) {
        Four others[4];
        std::memcpy(others, word.keys.data() + kPlaces / 2, sizeof others);
        for (int i = 0; i < 4; ++i) lowest[i] = lower(lowest[i], others[i]);
    }
    Four each = lower(lower(lowest[0], lowest[1]), lower(lowest[2], lowest[3]));
    each = lower(each, __builtin_shufflevector(each, each, 2, 3, 0, 1));
    each = lower(each, __builtin_shufflevector(each, each, 1, 0, 3, 2));
    return each[0];
}

// Does the next merge of a word; returns false if there is none.
[[gnu::always_inline]] inline bool step(const PairTable& pairs, Word& word) {
    set(word, word.left, pairs.finish(word.left_lookup));
    set(word, word.right, pairs.finish(word.right_lookup));
    const std::uint32_t best = lowest_key(word);
    if (best >= kNoKey) return false;
    const std::size_t at = best % kPlaces;
    const std::size_t gone = word.next[at];
    const std::size_t after = word.next[gone];
    const std::size_t before = word.previous[at];
    const std::int32_t symbol = word.merged[at];
    word.symbols[at] = symbol;
    word.keys[gone] = UINT32_MAX;
    word.next[at] = static_cast<std::uint8_t>(after);
    word.previous[after] = static_cast<std::uint8_t>(at);
    word.left = before;
    word.right = at;
    word.left_lookup = pairs.begin(word.symbols[before], symbol);
    word.right_lookup = pairs.begin(symbol, word.symbols[after]);
    return true;
}

[[gnu::always_inline]] inline void merge_words(const PairTable& pairs, Word* words, std::size_t size) {
    std::array<std::uint8_t, WordMerger::kMaxWords> open;  // words with something left to merge
    for (std::size_t i = 0; i < size; ++i) open[i] = static_cast<std::uint8_t>(i);
    while (size > 0) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint8_t number = open[i];
            open[kept] = number;
            kept += step(pairs, words[number]);
        }
        size = kept;
    }
}

#if defined(__x86_64__)
NMT_PREP_SSE42 void merge_words_sse42(const PairTable& pairs, Word* words, std::size_t size) {
    merge_words(pairs, words, size);
}
#endif

constexpr std::array<std::uint8_t, kPlaces> positions(std::uint8_t first) {
    std::array<std::uint8_t, kPlaces> all{};
    for (std::size_t i = 0; i < kPlaces; ++i) all[i] = static_cast<std::uint8_t>(first + i);
    return all;
}

}  // namespace

void WordMerger::add(const PairTable& pairs, const std::int32_t* symbols, std::size_t size) {
    Word& word = words_[size_++];
    word.size = size;
    word.keys.fill(UINT32_MAX);
    word.next = positions(1);
    word.previous = positions(static_cast<std::uint8_t>(-1));
    word.symbols[0] = word.symbols[size + 1] = kOutside;
    std::copy_n(symbols, size, &word.symbols[1]);
    // Lookups that have to wait for the memory begin before the first of them ends.
    std::array<PairTable::Lookup, kMaxSymbols> waiting;
    std::array<std::uint8_t, kMaxSymbols> places;
    std::size_t count = 0;
    for (std::size_t i = 1; i < size; ++i) {
        const std::int32_t left = word.symbols[i];
        const std::int32_t right = word.symbols[i + 1];
        if (PairTable::has_place(left, right)) {
            set(word, i, pairs.at_place(left, right));
        } else {
            places[count] = static_cast<std::uint8_t>(i);
            waiting[count++] = pairs.begin(left, right);
        }
    }
    for (std::size_t i = 0; i < count; ++i) set(word, places[i], pairs.finish(waiting[i]));
    word.left = word.right = 0;
    word.left_lookup = word.right_lookup = pairs.none();
}

void WordMerger::merge(const PairTable& pairs) {
#if defined(__x86_64__)
    if (simd() >= Simd::kSse42) return merge_words_sse42(pairs, words_.data(), size_);
#endif
    merge_words(pairs, words_.data(), size_);
}

std::size_t WordMerger::write(std::size_t number, std::int32_t* out) const {
    const Word& word = words_[number];
    std::size_t count = 0;
    for (std::size_t i = 1; i <= word.size; i = word.next[i]) out[count++] = word.symbols[i];
    return count;
}

}  // namespace nmt_prep::bpe
