// All segmentations of words into pieces, and their sums and maxima as the library computes them in training: in float,
// by the same operations in the same order. (Lattice of lattice.h finds segmentations for encoding.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sentencepiece/unigram_training/logs.h"
#include "sentencepiece/unigram_training/seeds.h"

namespace nmt_prep::sentencepiece {

// A piece at a place of a word, by its first position and the one after its last.
struct LatticeNode {
    std::uint32_t id;
    std::uint32_t begin, end;
    float score;
};

// Pieces by id, and what the score of an unknown character depends on.
struct UnigramPieces {
    PieceTree tree;
    float least_score;  // of all pieces

    float unknown_score() const { return least_score - kUnknownPenalty; }
    static constexpr float kUnknownPenalty = 10;
    // The library counts unknown characters for the first piece.
    std::uint32_t unknown_id() const { return tree.order.front(); }
};

class UnigramLattice {
   public:
    // `longest`: the most symbols of a piece.
    UnigramLattice(const UnigramPieces& pieces, std::size_t longest) : pieces_(pieces), most_at_place_(longest + 1) {}

    void clear() {
        words_.clear();
        positions_ = 0;
        count_ = 0;
    }

    // Adds a word with `size` symbols of the text from `at` on, which occurs `weight` times.
    void add(std::uint32_t at, std::uint32_t size, float weight);

    // Makes this the lattice of a single word.
    void set(std::uint32_t at, std::uint32_t size) {
        clear();
        add(at, size, 1);
    }

    // True if there are enough words to sum up at once.
    bool is_full() const { return count_ >= kManyNodes; }

    // Prefetches the memory that `add` reads.
    void prefetch(std::uint32_t at, std::uint32_t size) const {
        for (std::uint32_t i = 0; i < size; ++i)
            if (const std::uint32_t id = pieces_.tree.longest[at + i]; id != kNoPiece)
                __builtin_prefetch(&pieces_.tree.pieces[id]);
    }

    // The last position of a single word.
    std::uint32_t size() const { return positions_ - 1; }
    // By begin, those of the same begin with the shortest last; but an unknown character comes first.
    std::span<const LatticeNode> nodes() const { return {nodes_.data(), count_}; }

    // Adds to each piece's sum its expected number of occurrences, word by word.
    void add_expected(const FloatLogs& log, std::vector<float>& sums);

    // Adds to the count of each piece its occurrences in the best segmentations, word by word.
    void add_best(std::vector<float>& counts);

    // Returns the best segmentation's score for a single word without pieces as long as the whole.
    float best_without_whole();

   private:
    static constexpr std::size_t kManyNodes = 2048;  // so many stay in the first-level cache

    // A word by its positions. No two words share one.
    struct Word {
        std::uint32_t begin, end;
        std::uint32_t first;  // node
        float weight;
    };
    std::size_t middle() const;
    void sum_up(const FloatLogs& log, std::vector<float>& sums);
    void trace_best(const Word& word, std::vector<float>& counts) const;

    // The best segmentation up to a position, as it ends, and the score of the best one that was found before it.
    struct Best {
        float score, before;
        std::uint32_t node;
    };
    std::uint32_t last_before(const Word& word, std::uint32_t position, float next_score) const;

    const UnigramPieces& pieces_;
    std::size_t most_at_place_;
    std::vector<Word> words_;
    std::uint32_t positions_ = 0;
    std::vector<LatticeNode> nodes_;  // with room for more
    std::uint32_t count_ = 0;         // of nodes
    std::vector<float> forward_, backward_;
    std::vector<Best> best_;
};

}  // namespace nmt_prep::sentencepiece
