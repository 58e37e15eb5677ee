#include "moses/characters.h"

#include <algorithm>

#include "text/casefold.h"
#include "text/properties.h"

namespace nmt_prep::moses {
namespace {

// Characters with the property Lowercase that are not of category Ll.
constexpr PointRange kOtherLower[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},     {0x345, 0x345},
    {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
    {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}, {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};

// Marks that became Alphabetic after Unicode 14.0.
constexpr PointRange kLaterAlpha[] = {
    {0x363, 0x36F}, {0xC04, 0xC04}, {0xF82, 0xF83}, {0x1DD3, 0x1DE6}, {0x11080, 0x11081}};

bool within(std::span<const PointRange> ranges, char32_t point) {
    const auto above = std::ranges::upper_bound(ranges, point, {}, &PointRange::first);
    return above != ranges.begin() && point <= above[-1].last;
}

Classes classes_of(char32_t point) {
    const Properties found = Properties::of(point);
    const Category category = point == 0x295 ? Category::kLl : found.category();  // U+0295 became Lo later
    if (category >= Category::kCc || within(kNewer, point)) {
        const bool space = (point >= 0x09 && point <= 0x0D) || point == 0x85;
        return space ? kControl | kSpace : kControl;
    }
    Classes classes = 0;
    if (found.alphabetic() && !within(kLaterAlpha, point)) classes |= kAlpha;
    if (found.number()) classes |= kNumber;
    if (category == Category::kNd) classes |= kDigit;
    if (category <= Category::kLt) classes |= kCased;
    if (category == Category::kLl || within(kOtherLower, point)) classes |= kLower;
    if (category >= Category::kZs && category <= Category::kZp) classes |= kSpace;
    if (category == Category::kSc) classes |= kCurrency;
    return classes;
}

PointTable<Classes> make_classes() {
    PointTable<Classes> table(kControl);
    for (char32_t point = 0; point <= 0x10FFFF; ++point)
        if (const Classes classes = classes_of(point); classes != kControl) table.at(point) = classes;
    return table;
}

}  // namespace

const PointTable<Classes>& character_classes() {
    static const PointTable<Classes> kTable = make_classes();
    return kTable;
}

bool is_blank(std::string_view line) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(line.data());
    const auto* const end = at + line.size();
    while (at != end)
        if (!is_space(next_utf8(at))) return false;
    return true;
}

bool is_tag(std::string_view line) { return line.size() > 2 && line.front() == '<' && line.back() == '>'; }

void append_lower(std::string& out, std::string_view text) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    const auto* const end = at + text.size();
    while (at != end)
        if (*at < 0x80)
            lower(*at++, [&out](char32_t to) { out += static_cast<char>(to); });
        else
            lower(next_utf8(at), [&out](char32_t to) { append_utf8(out, to); });
}

std::string lowered(std::string_view text) {
    std::string out;
    append_lower(out, text);
    return out;
}

}  // namespace nmt_prep::moses
