#include "text/normalization.h"

#include <algorithm>

namespace nmt_prep {

bool decompose_hangul(char32_t point, std::vector<char32_t>& points) {
    if (!is_hangul_syllable(point)) return false;
    const char32_t index = point - kSyllables;
    points.push_back(kLeads + index / (kVowelCount * kFinalCount));
    points.push_back(kVowels + index / kFinalCount % kVowelCount);
    if (index % kFinalCount != 0) points.push_back(kFinals + index % kFinalCount);
    return true;
}

void reorder_marks(std::vector<char32_t>& points) {
    const auto combining_class = [](char32_t point) { return normalization_kind(point).combining_class; };
    for (auto start = points.begin(); start != points.end();) {
        if (combining_class(*start) == 0) {
            ++start;
            continue;
        }
        const auto end = std::find_if(start, points.end(), [&](char32_t point) { return combining_class(point) == 0; });
        std::ranges::stable_sort(start, end, {}, combining_class);
        start = end;
    }
}

}  // namespace nmt_prep
