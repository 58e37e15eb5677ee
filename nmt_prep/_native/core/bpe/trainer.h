// Learns merges: repeatedly, the most frequent pair of neighbors becomes a symbol.
//
// Of equally frequent pairs, the pair with the lower left id, then the lower right id, goes first, as in the BpeTrainer
// of Hugging Face's tokenizers; or the pair with the higher texts, as in subword-nmt. Training ends when the vocabulary
// is large enough, or the best pair too rare.
//
// No two pairs spell the same text: as long as no merge crosses its ends, a text is merged in the same way wherever it
// occurs, so once a pair has merged into it, no other pair can spell it. Hence a pair with a new symbol is a new pair:
// its count is known when the symbol is made, and can only decrease from then on.
//
// So only the pairs above a floor are listed, with the places where they occurred at that time; places where a pair no
// longer occurs are skipped. A merge only touches its own places and their neighbors. When no listed pair is frequent
// enough any more, the floor is lowered and the text is read again. Most pairs are rare, and never take time or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "bpe/known_pairs.h"
#include "bpe/training_text.h"

namespace nmt_prep::bpe {

struct LearntMerge {
    std::int32_t left, right, merged;
};

// Called periodically with the size of the vocabulary so far; may throw to end the training.
using TrainingProgress = std::function<void(std::size_t size)>;

class Trainer {
   public:
    // `symbols`: texts of the initial ids. `forbidden`: texts that no merge may produce.
    Trainer(std::vector<std::string> symbols, std::unordered_set<std::string> forbidden, Ties ties);
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    void add_word(std::span<const std::int32_t> symbols, std::uint64_t count) { text_.add_word(symbols, count); }

    // Learns merges until there are `size` symbols, or no pair occurs `min_frequency` times. To be called once.
    // Throws TrainingError if the symbols get too long.
    const std::vector<LearntMerge>& learn(std::size_t size, std::uint64_t min_frequency, std::size_t threads,
                                          const TrainingProgress& progress);

    // Texts of all symbols, by id.
    const std::vector<std::string>& texts() const { return symbols_; }

   private:
    // The occurrences of the new symbol next to one neighbor on one side.
    struct Neighbour {
        std::int32_t symbol;
        std::uint32_t places = 0;
        std::int64_t count = 0;
        Place* next = nullptr;  // room for the next place of the new pair; null for a rare pair
    };

    // All neighbors of the new symbol on one side.
    struct Side {
        std::vector<Neighbour> neighbours;
        std::vector<std::uint32_t> index_of;  // by symbol, its index in `neighbours` plus one; 0 for no neighbor

        void add(std::int32_t symbol, std::uint32_t count) {
            std::uint32_t& index = index_of[static_cast<std::size_t>(symbol)];
            if (index == 0) {
                neighbours.push_back({symbol});
                index = static_cast<std::uint32_t>(neighbours.size());
            }
            ++neighbours[index - 1].places;
            neighbours[index - 1].count += count;
        }
        Neighbour& operator[](std::int32_t symbol) {
            return neighbours[index_of[static_cast<std::size_t>(symbol)] - 1];
        }
        void clear();
    };

    PairList* next();
    void lower_floor();
    bool is_forbidden(const std::string& text) const;
    void merge(const PairList& pair, const LearntMerge& merge);
    std::size_t merge_places(const PairList& pair, const LearntMerge& merge);
    bool list_new_pairs(const LearntMerge& merge);
    void write_places(const PairList& pair, std::size_t merged, const LearntMerge& merge);

    std::vector<std::string> symbols_;  // texts
    std::vector<LearntMerge> merges_;
    std::unordered_set<std::string> forbidden_;
    std::vector<bool> forbidden_sizes_;
    std::size_t threads_ = 1;
    TrainingText text_;
    std::vector<PlaceStore> stores_;

    std::int64_t floor_ = 0;   // least count of a pair when it is listed
    std::int64_t lowest_ = 1;  // floor that is never lowered
    KnownPairs pairs_;

    // Scratch space of one merge.
    Side before_, after_;
    Neighbour repeated_{-1};  // the new symbol next to itself
};

}  // namespace nmt_prep::bpe
