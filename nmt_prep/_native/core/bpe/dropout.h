// BPE-dropout (Provilkov et al. 2020): random numbers, and a cache of its results for words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bpe/merge.h"
#include "text/byte_hash.h"
#include "text/huge_pages.h"
#include "text/phrase_cache.h"

namespace nmt_prep::bpe {

// A random number for dropout: a keyed hash of the merge's place, so that the order of drawing does not matter.
inline std::uint64_t draw(std::uint64_t key, std::uint64_t a, std::uint64_t b) {
    return mix_bits(mix_bits(key ^ 0x9E3779B97F4A7C15u, a ^ 0xD1B54A32D192ED03u), b ^ 0xA0761D6478BD642Fu);
}

// A probability, to be compared with random numbers: exact, and 0 and 1 mean never and always.
class Chance {
   public:
    explicit Chance(double probability) : limit_(static_cast<std::uint64_t>(probability * 0x1p53)) {}
    bool operator()(std::uint64_t number) const { return number >> 11 < limit_; }

   private:
    std::uint64_t limit_;
};

// Dropout decides about one merge of a word after another, and what comes next follows from the decisions so far. The
// known decisions of a word form a tree, whose leaves are ids. Frequent words thus need random numbers but no merging.
// Bounded, for one thread at a time; results never depend on its content.
//
// The tree is stored as paths: decisions that were made one after another, and the ids that they led to. Where a later
// sample decides otherwise, the decision refers to the rest of that path. So a common sample reads little memory, and
// in order.
class DropoutCache {
   public:
    // Longer words, such as clauses of Chinese, rarely repeat with the same decisions.
    static constexpr std::size_t kMaxBytes = 24;

    // About a merge. `place`: where it is in the word, if that matters to who decides.
    struct Decision {
        std::uint8_t place;
        bool dropped;
    };

    void prefetch(std::uint64_t hash) const { words_.prefetch(hash); }
    void prefetch_word(std::uint64_t hash) const { words_.prefetch_phrase(hash); }

    // Returns the ids of a word, none if they are not known. `hash`: of its bytes. drop(place) decides about a
    // merge.
    template <class Drop>
    std::span<const std::int32_t> find(std::uint64_t hash, const std::uint8_t* word, std::size_t size,
                                       const Drop& drop) const {
        const std::uint32_t* at = words_.view(hash, word, size).data();
        if (at == nullptr) return {};
        for (;;) {
            const std::size_t ids = *at >> 16;
            const std::uint32_t *const end = at + 1 + (*at & 0xFFFF), *node = at + 1;
            // Branches on decisions, since most are predictable: reading ahead then does not wait for random numbers.
            while (node != end && is_expected(*node, drop)) ++node;
            if (node == end) return {reinterpret_cast<const std::int32_t*>(end), ids};
            if (other_path(*node) == 0) return {};
            at = &paths_[other_path(*node)];
        }
    }

    // Adds ids that `find` did not return, and the decisions that lead to them. Requires 1 <= size <= kMaxBytes, and
    // ids.
    void put(std::uint64_t hash, const std::uint8_t* word, std::size_t size, std::span<const Decision> decisions,
             std::span<const std::int32_t> ids);

   private:
    static constexpr unsigned kBuckets = 15;
    static constexpr std::size_t kWordBytes = std::size_t{1} << 23;
    static constexpr std::size_t kMaxPaths = std::size_t{1} << 22;

    // A decision in a word: from the top, the place of the other path (23 bits), its own place (8), what it was (1).
    static constexpr std::uint32_t kOwnBits = 9;
    static std::uint32_t packed(const Decision& decision) {
        return std::uint32_t{decision.place} << 1 | std::uint32_t{decision.dropped};
    }
    static std::uint32_t own_bits(std::uint32_t node) { return node & ((1u << kOwnBits) - 1); }
    static std::uint32_t other_path(std::uint32_t node) { return node >> kOwnBits; }
    template <class Drop>
    static bool is_expected(std::uint32_t node, const Drop& drop) {
        return drop(std::size_t{own_bits(node) >> 1}) == (node % 2 != 0);
    }
    static void append(std::span<const Decision> decisions, std::span<const std::int32_t> ids,
                       std::vector<std::uint32_t>& path);

    // A path: the number of decisions and of ids in one word; the decisions, with the place of the other path among
    // `paths_`, 0 for none; the ids.
    PhraseCache words_{kBuckets, kWordBytes};  // with the first path of each
    LargeVector<std::uint32_t> paths_;
    std::vector<std::uint32_t> path_;
};

}  // namespace nmt_prep::bpe
