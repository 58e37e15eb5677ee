// The best two segmentations of a piece, in the library's order: an A* search from the end. Segmentations with equal
// scores, of which there are many in runs of the same character, come as its binary heap orders them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sentencepiece/unigram_training/lattice.h"

namespace nmt_prep::sentencepiece {

class SecondBest {
   public:
    // What becomes of a piece if others can take its place.
    enum class Outcome : std::uint8_t {
        kOnly,   // there is no other segmentation
        kSplit,  // the best segmentation has several pieces
        kWhole,  // the best segmentation is the piece itself; others() are the pieces of the second best
    };

    // Requires a lattice of one symbol or more.
    Outcome find(const UnigramLattice& lattice);
    const std::vector<std::uint32_t>& others() const { return others_; }

   private:
    // A path from a node to the end.
    struct Path {
        float estimate;  // of the best segmentation that ends with it
        float score;
        std::uint32_t node, next;
    };

    void score_nodes(const UnigramLattice& lattice);
    void push(const Path& path);
    void sift_up();
    std::uint32_t pop();
    void shrink();
    void collect(std::span<const LatticeNode> nodes, std::uint32_t path);

    static constexpr std::uint32_t kBegin = UINT32_MAX, kEnd = UINT32_MAX - 1, kNothing = UINT32_MAX;

    std::vector<std::uint32_t> ends_;        // nodes by end, those of the same end by begin
    std::vector<std::uint32_t> end_firsts_;  // by position
    std::vector<float> best_;                // by position
    std::vector<float> node_best_;           // by node: the best score up to its end
    std::vector<Path> paths_;
    std::vector<std::uint32_t> heap_;  // of paths
    std::vector<std::uint32_t> others_;
};

}  // namespace nmt_prep::sentencepiece
