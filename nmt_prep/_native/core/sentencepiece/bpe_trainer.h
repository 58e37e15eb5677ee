// Learns the merges of a SentencePiece BPE model: the same merges as the sentencepiece library.
//
// Repeatedly, the most frequent pair of neighbors that makes a valid piece becomes a symbol; among equally frequent
// pairs the one with the shorter piece, then the one whose piece comes first. Overlapping occurrences all count. When
// no pair occurs any more, pairs that did occur go on to become pieces, in the same order.
//
// Words are stored in one array, first with one place per character, in sections of words that are equally frequent. A
// symbol is written at its first and at its last place; its neighbors are found from its width. Only pairs that occur
// at least `floor_` times are tracked, each with the list of its places; when there are none left, the floor is
// lowered, the text is rewritten with one place per symbol, and its pairs are counted anew.
//
// A pair becomes rarer, never more frequent, once both of its symbols exist. So the counts of pairs are not kept up to
// date: the pair with the highest count so far is counted anew from its places when its turn comes, and waits again if
// it has become rarer.
//
// No two pairs spell the same text: as long as no merge crosses its ends, a text is merged in the same way wherever it
// occurs. Hence a pair with a new symbol is a new pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sentencepiece/pair_keys.h"
#include "sentencepiece/pair_queue.h"
#include "sentencepiece/piece_rules.h"
#include "text/batch.h"
#include "text/count_table.h"

namespace nmt_prep::sentencepiece {

class BpeTrainer {
   public:
    // Called periodically with the number of merges so far; may throw to end the training.
    using Progress = std::function<void(std::size_t merges)>;

    // `characters`: the characters of the vocabulary, in order of code points. The number of threads does not change
    // the merges.
    BpeTrainer(const PieceOptions& options, std::vector<char32_t> characters, std::size_t threads);

    // Takes the words to learn from, in the spelling of the core. Call it once.
    void read(const CountTable& words);

    // Learns `merges` merges, or fewer if the words have no more pairs. Call it once.
    void learn(std::size_t merges, const Progress& progress);

    // Returns the piece of each merge.
    Texts pieces() const;

   private:
    static constexpr std::int32_t kBetween = -1;  // between words, and characters that are not in the vocabulary
    static constexpr std::int32_t kInside = -2;   // within a longer symbol
    static constexpr std::size_t kMergesPerReport = 64;
    static constexpr unsigned kBlockBits = 4;  // of places that have the same weight
    static constexpr std::size_t kBlock = std::size_t{1} << kBlockBits;

    struct Symbol {
        std::size_t start;  // where its characters begin in `spelling_`
        PieceShape shape;
        std::uint64_t pair;  // the pair that became this symbol
    };
    // Words that are equally frequent. It begins with a block, and with a place between words.
    struct Section {
        std::size_t start, size;  // places
        std::int64_t count;
    };
    struct Pair {
        std::uint64_t key;
        std::int64_t count;  // when it was last counted
        std::size_t start;   // where its list of places begins; they ascend
        std::uint32_t length;
    };
    // A pair of the new symbol with a neighbor: its count, and its number of places.
    struct Change {
        std::int32_t neighbour;
        bool neighbour_is_left;
        bool tracked = false;
        std::uint32_t places = 0;
        std::int64_t count = 0;
        std::size_t next = 0;  // where the next place is written
    };

    const Symbol& symbol(std::int32_t id) const { return symbols_[static_cast<std::size_t>(id)]; }
    std::uint32_t length(std::int32_t id) const { return symbol(id).shape.length; }
    std::uint32_t width(std::int32_t id) const { return widths_[static_cast<std::size_t>(id)]; }
    std::int64_t weight(std::uint32_t place) const { return weights_[place >> kBlockBits]; }
    std::size_t merges() const { return symbols_.size() - characters_.size(); }
    bool valid(std::uint64_t key) const;
    std::uint64_t rank_of(std::uint64_t key) const;
    std::int32_t character_at(std::uint64_t key, std::uint32_t position) const;
    // Returns true if the piece of the first pair comes after the piece of the second pair, which has the same rank.
    bool spells_later(std::uint64_t first, std::uint64_t second) const;
    bool after(const Candidate& a, const Candidate& b) const;

    void end_section();
    class RightSymbols;
    class Scan;
    void scan();
    void queue(std::uint32_t pair);
    bool next(std::uint32_t& pair);
    std::int64_t recount(Pair& pair);
    void add_symbol(std::uint64_t pair);
    void accept(Pair pair);
    std::size_t merge_places(const Pair& pair, std::int32_t merged);
    void count_neighbours(std::span<const std::uint32_t> places, std::int32_t merged);
    bool add_tracked(std::int32_t merged);
    void list_places(std::span<const std::uint32_t> places, std::int32_t merged);
    Change& change_of(std::vector<std::uint32_t>& by_symbol, std::int32_t neighbour);
    class UnmergedPairs;
    void finish(std::size_t merges, const Progress& progress);

    PieceRules rules_;
    std::size_t threads_;
    std::vector<char32_t> characters_;
    std::vector<Symbol> symbols_;
    std::vector<std::uint32_t> widths_;   // how many places each symbol takes
    std::vector<std::int32_t> spelling_;  // characters of all symbols
    unsigned character_bits_;

    std::vector<std::int32_t> text_;  // places
    std::vector<Section> sections_;
    std::vector<std::int64_t> weights_;  // counts of each block's words

    std::int64_t floor_ = 0;
    std::vector<Pair> pairs_;
    std::vector<std::uint32_t> places_;
    std::size_t most_places_ = 0;  // if pairs have more places, the text is scanned again
    PairQueue queue_;

    // Scratch space of one merge: its changes, and their indices by neighbor.
    std::vector<Change> changes_;
    std::vector<std::uint32_t> left_changes_, right_changes_;
};

}  // namespace nmt_prep::sentencepiece
