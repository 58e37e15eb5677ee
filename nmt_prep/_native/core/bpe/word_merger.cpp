#include "bpe/word_merger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "text/simd.h"

namespace nmt_prep::bpe {
namespace {

using Word = WordMerger::Word;

constexpr std::size_t kPlaces = Word::kPlaces;
constexpr std::int32_t kOutside = -1;  // the symbol before and after a word

// A key is a rank times kPlaces plus a position, so that the lowest key is that of the next merge. Keys without a merge
// are higher.
constexpr std::uint32_t kNoKey = UINT32_MAX / kPlaces * kPlaces;
static_assert(PairTable::kMaxPairs < kNoKey / kPlaces && UINT32_MAX % kPlaces == kPlaces - 1);

[[gnu::always_inline]] inline void set(Word& word, std::size_t at, Merge merge) {
    word.keys[at] = static_cast<std::uint32_t>(merge_priority(merge) * kPlaces + at);
    word.merged[at] = merge_symbol(merge);
}

// Sets of positions, with a bit for each: a single position; the next position of a set above or below another one.
[[gnu::always_inline]] inline std::uint32_t bit(std::size_t place) { return std::uint32_t{1} << place; }
[[gnu::always_inline]] inline std::uint32_t above(std::uint32_t places, std::size_t place) {
    return static_cast<std::uint32_t>(std::countr_zero(places & (~std::uint32_t{1} << place)));
}
[[gnu::always_inline]] inline std::uint32_t below(std::uint32_t places, std::size_t place) {
    return static_cast<std::uint32_t>(31 - std::countl_zero((places & (bit(place) - 1)) | 1));
}

// Four numbers that compilers keep in one register.
using Four = std::uint32_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Four lower(Four a, Four b) { return a < b ? a : b; }
[[gnu::always_inline]] inline Four lowest_of_16(const std::uint32_t* keys) {
    Four a, b, c, d;
    std::memcpy(&a, keys, sizeof a);
    std::memcpy(&b, keys + 4, sizeof b);
    std::memcpy(&c, keys + 8, sizeof c);
    std::memcpy(&d, keys + 12, sizeof d);
    return lower(lower(a, b), lower(c, d));
}

[[gnu::always_inline]] inline std::uint32_t lowest_key(const Word& word) {
    Four each = lowest_of_16(word.keys.data());
    if (word.used >= bit(kPlaces / 2)) each = lower(each, lowest_of_16(word.keys.data() + kPlaces / 2));
    each = lower(each, Four{each[2], each[3], each[0], each[1]});
    each = lower(each, Four{each[1], each[0], each[3], each[2]});
    return each[0];
}

// The next merges of all words that are not finished, one per word. Each step of a merge waits for the previous one,
// and a processor looks only a few hundred instructions ahead, so each step is done for all words in turn.
struct Round {
    std::size_t size;  // words
    std::array<std::uint8_t, WordMerger::kMaxWords> words;
    std::array<std::uint32_t, WordMerger::kMaxWords> best;  // lowest keys
    // The places of the merges that follow, left and right of the new symbol.
    std::array<std::uint8_t, WordMerger::kMaxWords> left, right;
    std::array<PairTable::Lookup, WordMerger::kMaxWords> left_lookups, right_lookups;

    // Chooses the next merges; words without one leave the round.
    [[gnu::always_inline]] void choose(const Word* all) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint8_t number = words[i];
            const std::uint32_t key = lowest_key(all[number]);
            words[kept] = number;
            best[kept] = key;
            kept += key < kNoKey;
        }
        size = kept;
    }

    [[gnu::always_inline]] void merge(const PairTable& pairs, Word* all) {
        for (std::size_t i = 0; i < size; ++i) {
            Word& word = all[words[i]];
            const std::uint32_t at = best[i] % kPlaces;
            const std::uint32_t gone = above(word.used, at);
            const std::uint32_t used = word.used ^ bit(gone);
            const std::uint32_t before = below(used, at);
            const std::int32_t symbol = word.merged[at];
            word.used = used;
            word.symbols[at] = symbol;
            word.keys[gone] = UINT32_MAX;
            left[i] = static_cast<std::uint8_t>(before);
            right[i] = static_cast<std::uint8_t>(at);
            left_lookups[i] = pairs.prepare(word.symbols[before], symbol);
            right_lookups[i] = pairs.prepare(symbol, word.symbols[above(used, at)]);
        }
    }

    [[gnu::always_inline]] void look_up(const PairTable& pairs, Word* all) {
        for (std::size_t i = 0; i < size; ++i) {
            pairs.begin(left_lookups[i]);
            pairs.begin(right_lookups[i]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            Word& word = all[words[i]];
            set(word, left[i], pairs.finish(left_lookups[i]));
            set(word, right[i], pairs.finish(right_lookups[i]));
        }
    }
};

[[gnu::always_inline]] inline void merge_words(const PairTable& pairs, Word* words, std::size_t size) {
    Round round;
    round.size = size;
    for (std::size_t i = 0; i < size; ++i) round.words[i] = static_cast<std::uint8_t>(i);
    for (round.choose(words); round.size > 0; round.choose(words)) {
        round.merge(pairs, words);
        round.look_up(pairs, words);
    }
}

#if defined(__x86_64__)
NMT_PREP_SSE42 void merge_words_sse42(const PairTable& pairs, Word* words, std::size_t size) {
    merge_words(pairs, words, size);
}
NMT_PREP_AVX2 void merge_words_avx2(const PairTable& pairs, Word* words, std::size_t size) {
    merge_words(pairs, words, size);
}
#endif

}  // namespace

void WordMerger::add(const PairTable& pairs, const std::int32_t* symbols, std::size_t size) {
    Word& word = words_[size_];
    word.used = static_cast<std::uint32_t>((std::uint64_t{1} << (size + 2)) - 1);
    word.keys.fill(UINT32_MAX);
    word.symbols[0] = word.symbols[size + 1] = kOutside;
    std::copy_n(symbols, size, &word.symbols[1]);
    for (std::size_t i = 1; i < size; ++i) {
        const std::int32_t left = word.symbols[i];
        const std::int32_t right = word.symbols[i + 1];
        if (PairTable::has_place(left, right)) {
            set(word, i, pairs.at_place(left, right));
        } else {
            waiting_[waiting_size_++] = {pairs.prepare(left, right), static_cast<std::uint8_t>(size_),
                                         static_cast<std::uint8_t>(i)};
        }
    }
    ++size_;
}

void WordMerger::merge(const PairTable& pairs) {
    const std::span waiting(waiting_.data(), waiting_size_);
    for (Waiting& each : waiting) pairs.begin(each.lookup);
    for (const Waiting& each : waiting) set(words_[each.word], each.place, pairs.finish(each.lookup));
    waiting_size_ = 0;
#if defined(__x86_64__)
    if (simd() >= Simd::kAvx2) return merge_words_avx2(pairs, words_.data(), size_);
    if (simd() >= Simd::kSse42) return merge_words_sse42(pairs, words_.data(), size_);
#endif
    merge_words(pairs, words_.data(), size_);
}

std::size_t WordMerger::write(std::size_t number, std::int32_t* out) const {
    const Word& word = words_[number];
    std::size_t count = 0;
    // The first and the last position are outside of the word.
    std::uint32_t places = word.used & ~std::bit_floor(word.used) & ~bit(0);
    for (; places != 0; places &= places - 1) out[count++] = word.symbols[std::countr_zero(places)];
    return count;
}

}  // namespace nmt_prep::bpe
