// Samples a segmentation for a text run with probability proportional to exp(alpha * sum of scores), by forward
// filtering and backward sampling (Kudo 2018).
//
// If the run is long or alpha large, each sum of probabilities has a separate exponent, so that small sums are not
// lost. For each position the cumulative sums of its last pieces are kept. A draw needs nothing else, so the sums of
// frequent words are cached.
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
    // A run's sums, in words of 32 bits: the run's size in characters; for each position, where its last
    // pieces begin in the list of pieces, and the end of that list; then four words for each piece: its cumulative sum
    // (two words), its id, its start in characters.
    using Sums = std::span<const std::uint32_t>;

    // Sets the probabilities of pieces. `scores` are by id + 1, and the same in each call. `longest` is the size of the
    // longest piece in characters.
    void set_scores(const std::vector<float>& scores, double largest, std::uint32_t longest, double alpha);

    // Computes the sums of a run, valid until the next call.
    Sums sum(const Lattice& lattice, const Lattice::Run& run);

    // Returns true if a piece occurs in the run.
    static bool has(Sums sums, std::int32_t id);

    // Draws a segmentation, valid until the next call; starts are offsets in the run. Uses a random number for each
    // piece, the last piece first.
    Lattice::Path draw(Sums sums, Random& random);

    // The cached sums of words for these scores.
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
    double most_ = 0;              // largest exponent of a piece's probability, without sign
    std::vector<double> weights_;  // by id + 1; zero for none
    std::vector<Weight> wide_weights_;
    std::vector<double> before_;  // by position: sum of all segmentations up to it
    std::vector<Weight> wide_before_;
    std::vector<Weight> last_;         // for each piece that ends at a position: sum of the segmentations with it
    std::vector<std::uint32_t> sums_;  // sums of the last run
    std::vector<std::int32_t> path_ids_;
    std::vector<std::uint32_t> path_starts_;
    std::unique_ptr<PhraseCache> words_;
};

}  // namespace nmt_prep::sentencepiece
