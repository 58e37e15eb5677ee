// How well the lengths of the sides of a bead agree.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sentences/document.h"

namespace nmt_prep::sentences {

inline constexpr std::size_t kMostSentences = 8;  // of a side of a bead

// Lengths of sentences follow a gamma distribution.
struct Gamma {
    double shape, scale;
};

struct LengthModel {
    double ratio;     // characters of the target for each of the source
    double variance;  // of the target, for each character of the source
    Gamma source, target;
};

// Log-likelihood ratios of the lengths of beads: the length of each side given that of the other, by Student's
// distribution, against the length of as many sentences alone.
class LengthValues {
   public:
    LengthValues(const Document& document, const LengthModel& model);

    // The value of the bead that ends before sentences i and j. Both numbers of sentences are from 1 to kMostSentences.
    double of(std::size_t i, std::size_t j, Kind kind) const;

   private:
    struct SideSums {
        std::vector<double> ends;  // characters before each sentence, and of all
        std::array<double, kMostSentences + 1> constants;
        Gamma gamma;
    };
    static SideSums sums_of(const Side& side, Gamma gamma);

    LengthModel model_;
    SideSums source_, target_;
};

}  // namespace nmt_prep::sentences
