// Full case mappings of single characters, as Python's str.casefold, upper and lower.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "text/properties.h"

namespace nmt_prep {

// A character outside ASCII that a mapping changes, and the one to three characters that it becomes, filled with 0.
struct CaseChange {
    char32_t from;
    char32_t to[3];
};

// Ascending by `from`.
extern const std::span<const CaseChange> kFoldings, kUppers, kLowers;

// Calls add(point) for each character that a character outside ASCII becomes.
template <class Add>
void change_case(std::span<const CaseChange> changes, char32_t point, Add&& add) {
    const auto found = std::ranges::lower_bound(changes, point, {}, &CaseChange::from);
    if (found == changes.end() || found->from != point) {
        add(point);
        return;
    }
    for (const char32_t to : found->to)
        if (to != 0) add(to);
}

// Calls add(point) for each character that a character becomes.
template <class Add>
void casefold(char32_t point, Add&& add) {
    if (point < 0x80)
        add(point >= 'A' && point <= 'Z' ? point + 32 : point);
    else
        change_case(kFoldings, point, add);
}
template <class Add>
void lower(char32_t point, Add&& add) {
    if (point < 0x80)
        add(point >= 'A' && point <= 'Z' ? point + 32 : point);
    else
        change_case(kLowers, point, add);
}
template <class Add>
void upper(char32_t point, Add&& add) {
    if (point < 0x80)
        add(point >= 'a' && point <= 'z' ? point - 32 : point);
    else
        change_case(kUppers, point, add);
}

// True for upper case letters, as str.isupper.
inline bool is_upper(char32_t point) {
    const auto between = [point](char32_t first, char32_t last) { return point >= first && point <= last; };
    return Properties::of(point).category() == Category::kLu || between(0x2160, 0x216F) || between(0x24B6, 0x24CF) ||
           between(0x1F130, 0x1F149) || between(0x1F150, 0x1F169) || between(0x1F170, 0x1F189);
}

}  // namespace nmt_prep
