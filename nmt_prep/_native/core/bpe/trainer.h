// Learns merges: repeatedly, the most frequent pair of neighbours becomes a symbol.
//
// The merges are those of the BpeTrainer of Hugging Face's tokenizers: among equally frequent pairs the one with the
// lower ids goes first, comparing the left id first. Training ends when the vocabulary is large enough or the best pair
// too rare.
//
// All words are stored in one array, one position per byte. A symbol is written at its first and at its last position,
// so that its neighbours are found from its length. Each pair in the queue has the list of positions at which it
// occurred when it was queued; positions where it no longer occurs are skipped. A merge only touches its own positions
// and their neighbours. As pairs only become rarer, rare ones need not be in the queue before the frequent ones are
// done.
//
// No two pairs spell the same text: as long as no merge crosses its ends, a text is merged in the same way wherever it
// occurs, so once a pair has merged into it, no other pair can spell it. Hence a pair with a new symbol is a new pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::bpe {

struct LearntMerge {
    std::int32_t left, right, merged;
};

// Numbers pairs of symbols in order of first occurrence.
class PairIndex {
   public:
    PairIndex() : slots_(std::size_t{1} << 16) {}

    // Number of a pair; a new pair gets the next number.
    std::uint32_t operator()(std::uint64_t key) {
        if (2 * (std::size_t{count_} + 1) > slots_.size()) grow();
        Slot& slot = find(key);
        if (slot.number == kNone) slot = {key, count_++};
        return slot.number;
    }

   private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t number = kNone;
    };

    Slot& find(std::uint64_t key) {
        std::size_t at = key * 0x9E3779B97F4A7C15u >> shift_;
        while (slots_[at].number != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow();

    std::vector<Slot> slots_;
    std::uint32_t count_ = 0;
    unsigned shift_ = 64 - 16;
};

// Called periodically with the size of the vocabulary so far; may throw to end the training.
using TrainingProgress = std::function<void(std::size_t size)>;

class Trainer {
   public:
    // `alphabet`: id of each byte, -1 for bytes that are skipped in words. `symbols`: texts of the initial ids.
    // `forbidden`: texts that no merge may produce.
    Trainer(const std::array<std::int32_t, 256>& alphabet, std::vector<std::string> symbols,
            std::unordered_set<std::string> forbidden);

    void add_word(std::string_view word, std::uint64_t count);

    // Learns merges until there are `size` symbols or no pair occurs `min_frequency` times. Call it once.
    std::vector<LearntMerge> learn(std::size_t size, std::uint64_t min_frequency, const TrainingProgress& progress);

    // Texts of all symbols, by id.
    const std::vector<std::string>& symbols() const { return symbols_; }

   private:
    static constexpr std::int32_t kBetween = -1;  // between two words
    static constexpr std::int32_t kInside = -2;   // within a longer symbol
    static constexpr std::uint32_t kNone = UINT32_MAX;

    struct Place {
        std::uint32_t at;
        std::uint32_t word;
    };
    struct Candidate {
        std::int64_t count;
        std::uint64_t key;  // left id, then right id
        std::uint32_t pair;
        std::uint32_t length;  // of the list of places
        std::size_t start;

        // True if it comes after the other one.
        bool operator<(const Candidate& other) const {
            return count != other.count ? count < other.count : key > other.key;
        }
    };
    // The changes by one merge to the pairs of the new symbol, or of one of its halves, with one neighbour.
    struct Change {
        std::uint64_t key = 0;
        std::int64_t added = 0;
        std::uint32_t places = 0;
        std::uint32_t filled = 0;
        std::size_t start = 0;
    };
    struct NewPlace {
        std::uint32_t change;
        Place place;
    };

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    }
    std::uint32_t change_of(std::vector<std::uint32_t>& by_symbol, std::int32_t neighbour, std::uint64_t key);
    void count_pairs();
    void queue(const Candidate& candidate);
    bool next(Candidate& top);
    void lower_floor();
    void merge(const Candidate& candidate, const LearntMerge& pair);
    void merge_at(Place place, const LearntMerge& pair);
    void apply_changes();

    std::array<std::int32_t, 256> alphabet_;
    std::vector<std::string> symbols_;
    std::unordered_set<std::string> forbidden_;
    std::vector<std::uint32_t> lengths_;  // of symbols, in places

    std::vector<std::int32_t> text_;     // places
    std::vector<std::uint32_t> starts_;  // of words
    std::vector<std::uint64_t> counts_;  // of words

    PairIndex pair_index_;
    std::vector<std::int64_t> pair_counts_;
    std::vector<Place> places_;
    std::vector<Candidate> queue_;     // a heap of candidates that occur `floor_` times or more
    std::vector<Candidate> deferred_;  // the rest
    std::int64_t floor_ = 64;

    // Scratch space of one merge: changes, by neighbour and kind of pair.
    std::vector<Change> changes_;
    std::vector<NewPlace> new_places_;
    std::vector<std::uint32_t> left_of_new_, right_of_new_, left_of_old_, right_of_old_;
    std::vector<std::pair<std::vector<std::uint32_t>*, std::int32_t>> touched_;
};

}  // namespace nmt_prep::bpe
