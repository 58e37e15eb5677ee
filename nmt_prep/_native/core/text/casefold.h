// Full case folding, as Python's str.casefold.
#pragma once

#include <algorithm>
#include <cstddef>

namespace nmt_prep {

// A character outside ASCII that folding changes, and the one to three characters that it becomes, filled with 0.
struct Folding {
    char32_t from;
    char32_t to[3];
};

extern const std::size_t kFoldings;
extern const Folding kFoldingTable[];  // ascending

// Calls add(point) for each character that a character becomes.
template <class Add>
void casefold(char32_t point, Add&& add) {
    if (point < 0x80) {
        add(point >= 'A' && point <= 'Z' ? point + 32 : point);
        return;
    }
    const Folding* const end = kFoldingTable + kFoldings;
    const Folding* const found = std::lower_bound(
        kFoldingTable, end, point, [](const Folding& folding, char32_t value) { return folding.from < value; });
    if (found == end || found->from != point) {
        add(point);
        return;
    }
    for (const char32_t to : found->to)
        if (to != 0) add(to);
}

}  // namespace nmt_prep
