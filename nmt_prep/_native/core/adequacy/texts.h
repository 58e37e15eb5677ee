// Features for the lengths, numbers and punctuation on both sides of a pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/marks.h"

namespace nmt_prep::adequacy {

inline constexpr std::size_t kTextFeatures = 18;

// Medians of log((source length + 1) / (target length + 1)) over a text.
struct LengthRatios {
    double words;
    double characters;
};

// A side's word marks (align/marks.h).
struct SideMarks {
    const std::uint32_t* marks;
    std::size_t size;
};

// Computes the features; reuses its memory from pair to pair.
class TextJudge {
   public:
    explicit TextJudge(const LengthRatios& ratios) : ratios_(ratios) {}

    // Writes kTextFeatures values.
    void write(const SideMarks& source, const SideMarks& target, double* out);

   private:
    // Sums over the marks of a side.
    struct Sums {
        void fill(const SideMarks& side);
        double of(align::MarkKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }

        std::array<double, 16> kinds{};  // mark count per kind
        double characters = 0;
        align::MarkKind end = align::MarkKind::kWord;  // last mark that is not a quote or bracket
        std::vector<std::uint32_t> numbers;            // digits, in ascending order
    };

    const LengthRatios& ratios_;
    Sums source_, target_;
};

}  // namespace nmt_prep::adequacy
