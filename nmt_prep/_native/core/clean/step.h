// Interface for steps, which change text lines, and for step chains over a column.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::clean {

// A step. Its methods are thread-safe and require well-formed UTF-8 without line feeds, and leave both so.
class Step {
   public:
    Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    virtual ~Step() = default;

    // Writes the changed line to `out`, which must be empty.
    virtual void apply(std::string_view line, std::string& out) const = 0;
};

// A set of byte values.
using ByteSet = std::bitset<256>;

// A position in a line column's text, which is one stretch of bytes.
struct Place {
    const std::uint8_t* begin;
    const std::uint8_t* at;
    const std::uint8_t* end;

    // Returns the byte `distance` from here, 0 beyond the text.
    std::uint8_t operator[](std::ptrdiff_t distance) const {
        return distance < begin - at || distance >= end - at ? 0 : at[distance];
    }
};

// A step that alters few lines, with a fast test for lines that it may alter.
class Fix : public Step {
   public:
    // First bytes of the characters for which `suspects` is called; never a space.
    virtual ByteSet triggers() const = 0;

    // True if a line with two spaces in a row, or with a space at an end, may be altered.
    virtual bool checks_spaces() const { return false; }

    // True if the character at this position may lead to an alteration of its line. Must not be false for every trigger
    // of a line that the fix alters, unless `checks_spaces` covers the line. Neighbors may belong to other lines.
    virtual bool suspects(const Place& place) const = 0;
};

// Number of altered lines that are named for each step.
inline constexpr std::size_t kNamedLines = 3;

struct SteppedText {
    Texts lines;                        // without offsets if no line was altered
    std::vector<std::int64_t> altered;  // number of lines that each step altered
    std::vector<std::int64_t> first;    // for each step, the first kNamedLines altered lines, then -1
};

// Applies steps, in their order, to every line. Throws InvalidTextError naming a line that is not UTF-8.
SteppedText apply_steps(const std::vector<const Step*>& steps, const TextView& text, std::size_t threads,
                        const Poll& poll);

}  // namespace nmt_prep::clean
