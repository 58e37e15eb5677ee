// The words from which merges are learned, and the places of their frequent pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace nmt_prep::bpe {

// An occurrence of a pair.
struct Place {
    std::uint32_t at;      // beginning of the right symbol
    std::uint32_t weight;  // count of the word
};

struct PairList {
    std::uint64_t key;  // left id, then right id
    std::int64_t count;
    Place* places;  // in ascending order
    std::uint32_t length;
};

inline std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// Memory for places, which is freed all at once.
class PlaceStore {
   public:
    Place* allocate(std::size_t size);
    void clear();

   private:
    std::vector<std::unique_ptr<Place[]>> blocks_;
    Place* free_ = nullptr;
    std::size_t left_ = 0;
};

// All words are stored in one array. A symbol is written at its first and at its last position, so that its neighbors
// are found from its length.
class TrainingText {
   public:
    static constexpr std::int32_t kBetween = -1;  // a position between two words
    static constexpr std::int32_t kInside = -2;   // marks a position within a longer symbol

    // `symbols`: number of initial ids.
    explicit TrainingText(std::size_t symbols) : lengths_(symbols, 1), text_(1, kBetween) {}

    void add_word(std::span<const std::int32_t> symbols, std::uint64_t count);

    // Gives the next id to the symbol of a merge.
    void add_symbol(std::int32_t left, std::int32_t right) { lengths_.push_back(length(left) + length(right)); }

    std::uint32_t length(std::int32_t symbol) const { return lengths_[static_cast<std::size_t>(symbol)]; }
    std::int32_t* at(std::uint32_t position) { return text_.data() + position; }

    // Sum of all pair counts.
    std::int64_t pairs() const;

    // Rewrites the text with one position per symbol, without words of one symbol, and lists all pairs that occur at
    // least `floor` times. All earlier places become invalid.
    std::vector<PairList> frequent_pairs(std::int64_t floor, std::vector<PlaceStore>& stores, std::size_t threads);

   private:
    struct Word {
        std::uint32_t start;
        std::uint32_t count;
    };
    struct Range;
    class Listing;

    std::vector<Range> cut(std::size_t threads) const;
    void compact(Range& range);
    void close_gaps(std::vector<Range>& ranges);
    template <class Visit>
    void for_each_pair(const Range& range, Visit&& visit) const;
    std::vector<PairList> first_pairs(std::int64_t floor, PlaceStore& store, std::size_t threads) const;

    std::vector<std::uint32_t> lengths_;  // lengths of symbols, in positions
    std::vector<std::int32_t> text_;
    std::vector<Word> words_;
};

}  // namespace nmt_prep::bpe
