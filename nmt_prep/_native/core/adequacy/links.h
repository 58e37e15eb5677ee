// Values of a pair's words, and links between words that are each other's best counterpart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "align/support.h"

namespace nmt_prep::adequacy {

inline constexpr std::int32_t kUnlinked = -1;

// Links pairs; reuses its memory from pair to pair.
class Linker {
   public:
    Linker(const align::Parameters& parameters, const align::Evidence& evidence) : support_(parameters, evidence) {}

    // Links a pair, which must not be empty, without the counts of the origins.
    void judge(const align::Pair& pair, std::span<const align::Origin> origins);

    std::vector<double> source_values, target_values;
    std::vector<std::int32_t> source_links, target_links;  // positions on the other side, or kUnlinked

   private:
    align::Support support_;
    std::vector<float> source_best_, target_best_;
};

}  // namespace nmt_prep::adequacy
