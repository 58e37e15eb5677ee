// Interface of fixes: a fix alters lines of text, and has a fast test for lines that it may alter.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nmt_prep::clean {

// A set of byte values.
using ByteSet = std::bitset<256>;

// A position in the text of a column of lines, which is one stretch of bytes.
struct Place {
    const std::uint8_t* begin;
    const std::uint8_t* at;
    const std::uint8_t* end;

    // Returns the byte `distance` from here, 0 beyond the text.
    std::uint8_t operator[](std::ptrdiff_t distance) const {
        return distance < begin - at || distance >= end - at ? 0 : at[distance];
    }
};

// A fix. Its methods are thread-safe and require well-formed UTF-8.
class Fix {
   public:
    Fix() = default;
    Fix(const Fix&) = delete;
    Fix& operator=(const Fix&) = delete;
    virtual ~Fix() = default;

    // First bytes of the characters for which `suspects` is called; never a space.
    virtual ByteSet triggers() const = 0;

    // True if a line with two spaces in a row, or with a space at an end, may be altered.
    virtual bool checks_spaces() const { return false; }

    // True if the character at this position may lead to an alteration of its line. Must not be false for every trigger
    // of a line that the fix alters, unless `checks_spaces` covers the line. Neighbours may belong to other lines.
    virtual bool suspects(const Place& place) const = 0;

    // Writes the fixed line, which equals the line if there is nothing to fix, to `fixed`, which must be empty.
    virtual void apply(std::string_view line, std::string& fixed) const = 0;
};

}  // namespace nmt_prep::clean
