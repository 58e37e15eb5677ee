// All segmentations of a word into pieces, and their sums and maxima as the library computes them in training: in
// float, by the same operations in the same order. (Lattice of lattice.h finds segmentations for encoding.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sentencepiece/unigram_training/logs.h"
#include "sentencepiece/unigram_training/seeds.h"

namespace nmt_prep::sentencepiece {

// A piece at a place of the word.
struct LatticeNode {
    std::uint32_t id;
    std::uint32_t begin, end;
    float score;
};

// Pieces by id, and what the score of an unknown character depends on.
struct UnigramPieces {
    const std::vector<std::uint32_t>& symbols;  // of the text
    PieceTree tree;
    float least_score;  // of all pieces

    float unknown_score() const { return least_score - kUnknownPenalty; }
    static constexpr float kUnknownPenalty = 10;
    static constexpr std::uint32_t kUnknownId = 0;  // the library counts unknown characters for the first piece
};

class UnigramLattice {
   public:
    // `longest`: the most symbols of a piece.
    UnigramLattice(const UnigramPieces& pieces, std::size_t longest) : pieces_(pieces), most_at_place_(longest + 1) {}

    // Finds the pieces among `size` symbols of the text from `at` on.
    void set(std::uint32_t at, std::uint32_t size);

    // Prefetches the memory that `set` reads.
    void prefetch(std::uint32_t at, std::uint32_t size) const {
        for (std::uint32_t i = 0; i < size; ++i)
            if (const std::uint32_t id = pieces_.tree.longest[at + i]; id != kNoPiece)
                __builtin_prefetch(&pieces_.tree.pieces[id]);
    }

    std::uint32_t size() const { return size_; }
    // By begin, those of the same begin with the shortest last; but an unknown character comes first.
    std::span<const LatticeNode> nodes() const { return {nodes_.data(), count_}; }

    // Adds to each piece's sum its expected number of occurrences, times `weight`.
    void add_expected(const FloatLogs& log, float weight, std::vector<float>& sums);

    // Adds `weight` to the count of each piece of the best segmentation.
    void add_best(float weight, std::vector<float>& counts);

    // Returns the score of the best segmentation without pieces as long as the whole.
    float best_without_whole();

   private:
    // The best segmentation up to a position, as it ends, and the score of the best one that was found before it.
    struct Best {
        float score, before;
        std::uint32_t node;
    };
    std::uint32_t last_before(std::uint32_t position, float next_score) const;

    const UnigramPieces& pieces_;
    std::uint32_t size_ = 0;
    std::size_t most_at_place_;
    std::vector<LatticeNode> nodes_;  // with room for more
    std::size_t count_ = 0;           // of nodes
    std::vector<float> forward_, backward_;
    std::vector<Best> best_;
};

}  // namespace nmt_prep::sentencepiece
