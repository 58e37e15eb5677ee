// Learns the merges of a SentencePiece BPE model: those of the sentencepiece library.
//
// Repeatedly, the most frequent pair of neighbours that makes a valid piece becomes a symbol; among equally frequent
// pairs the one with the shorter piece, then the one whose piece comes first. Overlapping occurrences all count. When
// no pair occurs any more, pairs that did occur go on to become pieces, in the same order.
//
// All words are stored in one array, one place per character, by descending count, so that a few runs give the count of
// each place. A symbol is written at its first and at its last place; its neighbours are found from its length.
//
// A pair becomes rarer, never more frequent, once both of its symbols exist. So only pairs that occur at least `floor_`
// times are tracked, each with the list of its places; when there are none left, the floor is lowered and the text is
// scanned again. Places where a pair no longer occurs stay in its list and are skipped.
//
// No two pairs spell the same text: as long as no merge crosses its ends, a text is merged in the same way wherever it
// occurs. Hence a pair with a new symbol is a new pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sentencepiece/piece_rules.h"
#include "text/count_table.h"

namespace nmt_prep::sentencepiece {

inline constexpr std::uint64_t kPairFactor = 0x9E3779B97F4A7C15u;  // of hashes of pairs

// Numbers of pairs by their symbols.
class PairNumbers {
   public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    explicit PairNumbers(std::size_t pairs = 0) { clear(pairs); }

    // Returns the number of a pair; kNone if it has none.
    std::uint32_t find(std::uint64_t key) const { return slots_[slot_of(key)].number; }
    // Sets the number of a pair that has none.
    void insert(std::uint64_t key, std::uint32_t number);
    void clear(std::size_t pairs);

   private:
    struct Slot {
        std::uint64_t key;
        std::uint32_t number;
    };

    std::size_t slot_of(std::uint64_t key) const {
        std::size_t at = key * kPairFactor >> shift_;
        while (slots_[at].number != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    unsigned shift_ = 0;
};

class BpeTrainer {
   public:
    // Called periodically with the number of merges so far; may throw to end the training.
    using Progress = std::function<void(std::size_t merges)>;

    // `characters`: those of the vocabulary, in order of code points. The number of threads does not change the merges.
    BpeTrainer(const PieceOptions& options, std::vector<char32_t> characters, std::size_t threads);

    // Takes the words to learn from, in the spelling of the core. Call it once.
    void read(const CountTable& words);

    // Learns this number of merges, or fewer if the words give no more. Call it once.
    void learn(std::size_t merges, const Progress& progress);

    // Returns the piece of each merge, in UTF-8.
    std::vector<std::string> pieces() const;

   private:
    static constexpr std::int32_t kBetween = -1;  // between words, and characters that are not in the vocabulary
    static constexpr std::int32_t kInside = -2;   // within a longer symbol

    struct Symbol {
        std::size_t start;  // of its characters in `spelling_`
        PieceShape shape;
    };
    struct Run {
        std::uint32_t start;  // place
        std::int64_t count;   // of the words from here on
    };
    struct Pair {
        std::uint64_t key;  // left id, then right id
        std::int64_t count;
        std::size_t start;  // of its list of places
        std::uint32_t length;
    };
    struct Candidate {
        std::int64_t count;
        std::uint64_t rank;  // length and first characters of the piece: the lower one goes first
        std::uint32_t pair;
    };
    // The changes by one merge to the pairs of the new symbol, or of one of its halves, with one neighbour.
    struct Change {
        std::uint64_t key;
        std::int64_t added = 0;
        std::uint32_t places = 0;
        bool valid = true;  // the pair may become a piece
        bool tracked = false;
        std::size_t start = 0;
    };
    struct NewPlace {
        std::uint32_t change;
        std::uint32_t place;
    };
    using ChangeOf = std::vector<std::uint32_t>;

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    }
    static std::int32_t left_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
    static std::int32_t right_of(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xFFFFFFFFu); }
    const Symbol& symbol(std::int32_t id) const { return symbols_[static_cast<std::size_t>(id)]; }
    std::uint32_t length(std::int32_t id) const { return lengths_[static_cast<std::size_t>(id)]; }
    std::uint32_t right_place(std::uint32_t place) const { return place + length(text_[place]); }
    bool valid(std::uint64_t key) const;
    std::uint64_t rank_of(std::uint64_t key) const;
    std::int32_t character_at(std::uint64_t key, std::uint32_t position) const;
    bool after(const Candidate& a, const Candidate& b) const;

    // Finds the counts of words by their places; quick for places that mostly ascend.
    class RunOfPlace {
       public:
        explicit RunOfPlace(const BpeTrainer& trainer) : trainer_(trainer) {}

        std::int64_t count(std::uint32_t place) {
            if (place - start_ >= size_) find(place);
            return count_;
        }

       private:
        void find(std::uint32_t place);

        const BpeTrainer& trainer_;
        std::uint32_t start_ = 0, size_ = 0;
        std::int64_t count_ = 0;
    };
    class Scan;
    void scan();
    void add_pair(std::uint64_t key, std::int64_t count, std::uint32_t length, std::size_t start);
    void queue(std::uint32_t pair);
    bool next(std::uint32_t& pair);
    bool lower_floor();
    void restart();
    void accept(std::uint32_t pair);
    void merge_at(std::uint32_t place, RunOfPlace& run, std::uint64_t key, std::int32_t merged);
    std::uint32_t change_of(ChangeOf& by_symbol, std::int32_t neighbour, std::uint64_t key);
    void apply_changes(std::int32_t left, std::int32_t merged);

    PieceRules rules_;
    std::size_t threads_;
    std::vector<char32_t> characters_;
    std::vector<Symbol> symbols_;
    std::vector<std::uint32_t> lengths_;  // of symbols, in characters
    std::vector<std::int32_t> spelling_;  // characters of all symbols
    unsigned character_bits_;

    std::vector<std::int32_t> text_;  // places
    std::vector<Run> runs_;
    std::vector<std::uint32_t> run_of_block_;

    std::int64_t floor_ = 0;
    PairNumbers numbers_;
    std::vector<Pair> pairs_;
    std::vector<std::uint32_t> places_;
    std::size_t most_places_ = 0;   // more are too many, and the text is scanned again
    std::vector<Candidate> queue_;  // a heap

    // Scratch space of one merge: changes, by neighbour and kind of pair.
    std::vector<Change> changes_;
    std::vector<NewPlace> new_places_;
    ChangeOf left_of_new_, right_of_new_, left_of_old_, right_of_old_;
    std::vector<std::pair<ChangeOf*, std::int32_t>> touched_;
};

}  // namespace nmt_prep::sentencepiece
