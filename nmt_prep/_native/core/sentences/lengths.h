// How well the lengths of a bead's sides agree.
#pragma once

#include <cstddef>
#include <vector>

#include "sentences/document.h"

namespace nmt_prep::sentences {

inline constexpr std::size_t kMostSentences = 8;  // maximum on a side of a bead

// Lengths of sentences follow a gamma distribution.
struct Gamma {
    double shape, scale;
};

struct LengthModel {
    double ratio;     // target characters per source character
    double variance;  // variance of the target's length per character of the source
    Gamma source, target;
};

// Log-likelihood ratios of bead lengths: the length of each side given the other side's, by Student's
// distribution, against the length of as many unrelated sentences.
class LengthValues {
   public:
    // Beads have at most `most` sentences of a side, which is at most kMostSentences.
    LengthValues(const Document& document, const LengthModel& model, std::size_t most);

    // The value of the bead that ends before sentences i and j. Both numbers of sentences are from 1 to `most`.
    double of(std::size_t i, std::size_t j, Kind kind) const;

   private:
    struct SideSums {
        std::vector<double> ends;  // characters before each sentence, and of all
        std::vector<double> own;   // part of a side's value, by last sentence and sentence count
    };
    // `scale` turns characters of the side into characters of the source.
    SideSums sums_of(const Side& side, Gamma gamma, double scale) const;

    LengthModel model_;
    std::size_t most_;
    SideSums source_, target_;
};

}  // namespace nmt_prep::sentences
