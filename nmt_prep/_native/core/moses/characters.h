// Classes of characters as Perl 5.36 has them: Unicode 14.0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/point_table.h"
#include "text/utf8.h"

namespace nmt_prep::moses {

struct PointRange {
    char32_t first, last;
};

// Characters that Unicode assigned after 14.0, ascending.
extern const std::span<const PointRange> kNewer;

// Classes of a character, as bits.
using Classes = std::uint8_t;
inline constexpr Classes kAlpha = 1;       // property Alphabetic
inline constexpr Classes kDigit = 2;       // category Nd
inline constexpr Classes kNumber = 4;      // categories N*
inline constexpr Classes kLower = 8;       // property Lowercase
inline constexpr Classes kCased = 16;      // categories Ll, Lu, Lt
inline constexpr Classes kSpace = 32;      // white space
inline constexpr Classes kControl = 64;    // categories C*, unassigned characters included
inline constexpr Classes kCurrency = 128;  // category Sc

inline constexpr Classes kAlnum = kAlpha | kDigit;

const PointTable<Classes>& character_classes();

inline bool is_alpha(char32_t point) { return (character_classes()[point] & kAlpha) != 0; }
inline bool is_alnum(char32_t point) { return (character_classes()[point] & kAlnum) != 0; }
inline bool is_number(char32_t point) { return (character_classes()[point] & kNumber) != 0; }
inline bool is_space(char32_t point) { return (character_classes()[point] & kSpace) != 0; }

// Category Ll, unlike the property Lowercase, which some other characters have.
inline bool is_lower_letter(char32_t point) {
    return (character_classes()[point] & (kLower | kCased)) == (kLower | kCased);
}

// The first or last character of a text, which must not be empty.
inline char32_t first_point(std::string_view text) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    return next_utf8(at);
}
inline char32_t last_point(std::string_view text) {
    std::size_t at = text.size() - 1;
    while ((static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80) --at;
    return first_point(text.substr(at));
}

// Calls visit(code point, its bytes) for each character.
template <class Visit>
void for_each_point(std::string_view text, Visit&& visit) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    const auto* const end = at + text.size();
    while (at != end) {
        const auto* const start = at;
        const char32_t point = next_utf8(at);
        visit(point, std::string_view(reinterpret_cast<const char*>(start), static_cast<std::size_t>(at - start)));
    }
}

// True if all characters of a text are white space, also if there are none.
bool is_blank(std::string_view line);

// True if a line is one tag, such as <p>: it begins with <, ends with > and has something between.
bool is_tag(std::string_view line);

// Appends the lower case of each character by itself: there is no rule for the last sigma of a word.
void append_lower(std::string& out, std::string_view text);
std::string lowered(std::string_view text);

}  // namespace nmt_prep::moses
