// An index over the segments of evaluation sets, which finds line pairs that contain one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::clean {

// How a pair matches a segment, the closest match first. The sides of a pair may match the sides of the segment in any
// order.
enum class Match : std::uint8_t {
    kNone,
    kExact,    // both sides have the same bytes
    kPair,     // both sides have the same normalized text
    kSide,     // one side has the same normalized text as a side of the segment, with kLongEnough letters
    kCovered,  // one side has a sufficient share of a segment side's n-grams
};

// Minimum letters on a segment's side to match it alone, and minimum number of different n-grams to use their
// share.
inline constexpr std::size_t kLongEnough = 20;
inline constexpr std::size_t kFewestGrams = 6;

struct SegmentMatch {
    std::uint32_t segment;
    Match kind;
};

// The result for a batch of pairs.
struct SegmentMatches {
    // For each pair: the closest segment, how it matches, and the share of its n-grams in the pair (1 if lines are the
    // same). Of equally close segments the one with the largest share counts, then the first.
    std::vector<std::int64_t> closest;  // -1 if there is none
    std::vector<std::uint8_t> kinds;
    std::vector<double> shares;
    // All segments that some pair matches, in ascending order, with the closest kind.
    std::vector<SegmentMatch> found;
};

class SegmentTables;

class SegmentIndex {
   public:
    // `first` and `second` are the sides of the segments; an empty line is not a side. A line covers a segment's side
    // if it has at least the share `coverage` of its different n-grams; above 1, none does. Throws InvalidTextError
    // naming a line that is not UTF-8. Requires the same line count of both sides, below 2^31.
    SegmentIndex(const TextView& first, const TextView& second, double coverage);
    SegmentIndex(SegmentIndex&&) noexcept;
    SegmentIndex& operator=(SegmentIndex&&) noexcept;
    ~SegmentIndex();

    // Searches pairs of lines; an empty line matches nothing. May be called from several threads at once.
    SegmentMatches search(const TextView& source, const TextView& target) const;

   private:
    std::unique_ptr<const SegmentTables> tables_;
};

}  // namespace nmt_prep::clean
