// The words of a line in subword-nmt's dialect, and the symbols that their characters begin as.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/byte_words.h"
#include "text/utf8.h"

namespace nmt_prep::subword_nmt {

inline constexpr std::string_view kWordEnd = "</w>";

inline bool ends_word(std::string_view text) { return text.ends_with(kWordEnd); }

inline std::string_view without_word_end(std::string_view text) {
    if (ends_word(text)) text.remove_suffix(kWordEnd.size());
    return text;
}

// A line without the spaces and carriage returns at both ends.
inline std::string_view trimmed(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \r\n");
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \r\n") + 1 - begin);
}

// Calls visit(word) for every word of a line, in order. Only spaces separate words.
template <class Visit>
void for_each_word(std::string_view line, const Visit& visit) {
    line = trimmed(line);
    std::size_t start = 0;
    for_each_byte(line, ' ', [&](std::size_t at) {
        if (at > start) visit(line.substr(start, at - start));
        start = at + 1;
    });
    if (start < line.size()) visit(line.substr(start));
}

// Calls visit(point) for every character of well-formed text.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    for (const auto* const end = at + text.size(); at != end;) visit(next_utf8(at));
}

// The symbols of a character: within a word, and at its end.
class CharacterSymbols {
   public:
    static constexpr std::int32_t kNone = -1;

    std::int32_t find(char32_t point, bool last) const {
        if (point < kLow) return low_[point][last];
        const auto found = high_.find(point);
        return found == high_.end() ? kNone : found->second[last];
    }
    std::int32_t& at(char32_t point, bool last) {
        return point < kLow ? low_[point][last] : high_.try_emplace(point, Symbols{kNone, kNone}).first->second[last];
    }

   private:
    using Symbols = std::array<std::int32_t, 2>;
    static constexpr char32_t kLow = 0x10000;

    std::vector<Symbols> low_ = std::vector<Symbols>(kLow, {kNone, kNone});
    std::unordered_map<char32_t, Symbols> high_;
};

}  // namespace nmt_prep::subword_nmt
