// Samples a segmentation of a run of text with probability proportional to exp(alpha * sum of scores), by forward
// filtering and backward sampling (Kudo 2018).
//
// Sums of probabilities are numbers with an exponent of their own if the run is long or alpha large, so that none is
// lost. For each position the sums of its last pieces are kept, cumulative. They are all that drawing needs, so those
// of a frequent word are worth a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sentencepiece/lattice.h"
#include "sentencepiece/random.h"
#include "text/phrase_cache.h"

namespace nmt_prep::sentencepiece {

class LatticeSampler {
   public:
    // The sums of a run, in words of 32 bits: its size in characters; for each position, where its last pieces begin,
    // and the end of all; then four words for each piece: cumulative sum (two of them), id, start in characters.
    using Sums = std::span<const std::uint32_t>;

    // Sets the probabilities of pieces. `scores` by id + 1; the same ones in each call. `longest`: piece, in
    // characters.
    void set_scores(const std::vector<float>& scores, double largest, std::uint32_t longest, double alpha);

    // Computes the sums of a run, valid until the next call.
    Sums sum(const Lattice& lattice, const Lattice::Run& run);

    // Returns true if a piece occurs in the run.
    static bool has(Sums sums, std::int32_t id);

    // Draws a segmentation, valid until the next call; starts are offsets in the run. Uses a random number for each
    // piece, the last piece first.
    Lattice::Path draw(Sums sums, Random& random);

    // Sums of words with these scores.
    PhraseCache& words() { return *words_; }

   private:
    // mantissa * 2^exponent
    struct Weight {
        double mantissa;
        std::int64_t exponent;
    };
    static constexpr std::size_t kPieceWords = 4;
    static Weight power(double exponent);

    void make_room(std::size_t place);
    std::size_t sum_plainly(const Lattice& lattice, const Lattice::Run& run);
    std::size_t sum_with_exponents(const Lattice& lattice, const Lattice::Run& run);

    std::optional<double> alpha_;
    double most_ = 0;              // largest power of a piece's probability, without sign
    std::vector<double> weights_;  // by id + 1; zero for none
    std::vector<Weight> wide_weights_;
    std::vector<double> before_;  // by position: sum of all segmentations up to it
    std::vector<Weight> wide_before_;
    std::vector<Weight> last_;         // of the pieces that end at a position: sums of the segmentations with them
    std::vector<std::uint32_t> sums_;  // of the last run
    std::vector<std::int32_t> path_ids_;
    std::vector<std::uint32_t> path_starts_;
    std::unique_ptr<PhraseCache> words_;
};

}  // namespace nmt_prep::sentencepiece
