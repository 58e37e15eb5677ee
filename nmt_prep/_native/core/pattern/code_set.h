// Sets of code points, as sorted ranges.
#pragma once

#include <compare>
#include <string_view>
#include <vector>

namespace nmt_prep::pattern {

// Code points [first, last].
struct Range {
    char32_t first, last;
    auto operator<=>(const Range&) const = default;
};

class CodeSet {
   public:
    static constexpr char32_t kLast = 0x10FFFF;

    CodeSet() = default;
    explicit CodeSet(std::vector<Range> ranges);
    explicit CodeSet(char32_t point) : ranges_{{point, point}} {}

    CodeSet operator|(const CodeSet& other) const;
    CodeSet operator&(const CodeSet& other) const { return ~(~*this | ~other); }
    CodeSet operator~() const;
    bool operator==(const CodeSet&) const = default;
    bool operator<(const CodeSet& other) const { return ranges_ < other.ranges_; }

    // Ascending, without common or adjacent code points.
    const std::vector<Range>& ranges() const { return ranges_; }

   private:
    std::vector<Range> ranges_;
};

// Unicode's property White_Space.
const CodeSet& white_space();

// The characters of a general category (Lu), a group of categories (L) or a script (Han), by the name that regular
// expressions use; null for an unknown name.
const CodeSet* named_set(std::string_view name);

}  // namespace nmt_prep::pattern
