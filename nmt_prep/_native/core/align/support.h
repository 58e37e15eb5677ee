// Support of a pair's words by the other side, from which scores are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "align/diagonal.h"
#include "align/pairs.h"
#include "align/parameters.h"
#include "align/score.h"
#include "align/slopes.h"

namespace nmt_prep::align {

// A pair whose counts are left out, and how often it was counted.
struct Origin {
    Pair pair;
    std::int64_t copies;
};

// Words of a pair that the evidence links.
struct SupportedCell {
    std::uint32_t source;
    std::uint32_t target;
    std::int64_t count;  // without the counts of the origins
    float forward;       // p(target word | source words) that the cell contributes
    float backward;      // p(source word | target words) that the cell contributes
};

// Computes support; reuses its memory from pair to pair.
class Support {
   public:
    Support(const Parameters& parameters, const Evidence& evidence)
        : parameters_(parameters), evidence_(evidence), links_(parameters), diagonal_(parameters.steepness) {}

    // The pair as it is judged: long sides are cut.
    static Pair cut(Pair pair);

    // Computes the values of a pair's words, which must not be empty: log(p(word | other side) / p(word)), without
    // the counts of the origins. Origins that are too long were not counted.
    void judge(const Pair& pair, std::span<const Origin> origins);

    const std::vector<double>& source_values() const { return source_values_; }
    const std::vector<double>& target_values() const { return target_values_; }
    // By ascending source and target. Counts may be zero or less.
    const std::vector<SupportedCell>& cells() const { return cells_; }

   private:
    void leave_out(const Pair& pair, std::span<const Origin> origins);
    void value(const std::int32_t* words, const float* shares, const std::vector<float>& given,
               const std::vector<Weighted>& sums, std::vector<double>& values) const;

    const Parameters& parameters_;
    const Evidence& evidence_;
    DiagonalLinks links_;
    CellFinder finder_;
    Diagonal diagonal_;
    std::vector<std::uint32_t> first_source_, first_target_, at_source_, at_target_;
    std::vector<std::int64_t> own_, own_rows_, own_columns_;
    std::vector<SupportedCell> cells_;
    std::vector<float> source_inverse_, source_given_, target_inverse_, target_given_;
    std::vector<Weighted> source_sums_, target_sums_;
    std::vector<double> source_values_, target_values_;
};

}  // namespace nmt_prep::align
