// Cache of the possible merges of words, for BPE-dropout: bounded, for one thread at a time; results never depend on
// its content. Finding the merges takes longer than one sample, so they are found when a word occurs again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bpe/possible_merges.h"
#include "text/phrase_cache.h"

namespace nmt_prep::bpe {

class MergeCache {
   public:
    void prefetch(std::uint64_t hash) const { words_.prefetch(hash); }
    void prefetch_word(std::uint64_t hash) const { words_.prefetch_phrase<kLines>(hash); }

    // Returns the merges of a word for PossibleMerges, valid until the next call; none if they are not known. `hash`:
    // of the word. find(finder), which is called if the word occurs again, returns them or none.
    template <class Find>
    std::span<const std::uint32_t> get(std::uint64_t hash, const std::uint8_t* word, std::size_t size,
                                       const Find& find) {
        if (const std::span<const std::uint32_t> known = words_.view(hash, word, size); !known.empty()) return known;
        if (!meet(hash)) return {};
        const std::span<const std::uint32_t> found = find(finder_);
        if (!found.empty()) words_.put(hash, word, size, found.data(), found.size());
        return found;
    }

   private:
    static constexpr unsigned kBuckets = 15;  // as a power of two
    static constexpr std::size_t kBytes = std::size_t{1} << 24;
    static constexpr std::size_t kLines = 5;  // of memory, which most merges fill
    static constexpr std::size_t kMetBits = std::size_t{1} << 19;

    // Notes that a word occurs; returns true if it, or rarely another one, occurred before.
    bool meet(std::uint64_t hash) {
        const std::size_t place = hash >> 16 & (kMetBits - 1);
        const std::uint64_t bit = std::uint64_t{1} << (place % 64);
        if ((met_[place / 64] & bit) != 0) return true;
        if (++met_count_ > kMetBits / 4) {
            std::ranges::fill(met_, 0);
            met_count_ = 1;
        }
        met_[place / 64] |= bit;
        return false;
    }

    PhraseCache words_{kBuckets, kBytes};
    MergeFinder finder_;
    std::vector<std::uint64_t> met_ = std::vector<std::uint64_t>(kMetBits / 64);  // by hash, words that occurred
    std::size_t met_count_ = 0;
};

}  // namespace nmt_prep::bpe
