#include "clean/noise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "clean/scripts.h"
#include "clean/windows_1252.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

using Depths = std::array<int, 4>;  // brackets that are open, by kind

struct Bracket {
    char32_t point;
    std::uint8_t kind;
    std::int8_t step;
};

constexpr Bracket kWideBrackets[] = {{0x27E8, 3, 1}, {0x27E9, 3, -1}, {0x3008, 3, 1}, {0x3009, 3, -1},
                                     {0x3010, 1, 1}, {0x3011, 1, -1}, {0x3014, 1, 1}, {0x3015, 1, -1},
                                     {0xFF08, 0, 1}, {0xFF09, 0, -1}, {0xFF3B, 1, 1}, {0xFF3D, 1, -1},
                                     {0xFF5B, 2, 1}, {0xFF5D, 2, -1}};

Depths depths(const Line& line) {
    Depths depths{};
    for (const std::uint8_t* at = line.begin; at < line.end;) {
        const std::uint8_t byte = *at;
        if (byte < 0x80) {
            ++at;
            if (byte == '(' || byte == ')')
                depths[0] += byte == '(' ? 1 : -1;
            else if (byte == '[' || byte == ']')
                depths[1] += byte == '[' ? 1 : -1;
            else if (byte == '{' || byte == '}')
                depths[2] += byte == '{' ? 1 : -1;
        } else if (byte == 0xE2 || byte == 0xE3 || byte == 0xEF) {
            const char32_t point = next_utf8(at);
            for (const Bracket& bracket : kWideBrackets)
                if (bracket.point == point) depths[bracket.kind] += bracket.step;
        } else {
            at += character_size(byte);
        }
    }
    return depths;
}

// Counts separators that are separate tokens, and the bytes of the other tokens of a line.
class Breadcrumbs {
   public:
    void add(std::string_view token) {
        constexpr std::string_view kSeparators[] = {">", ">>", "|", "||", "::", "→", "•", "·", "⟩"};
        const bool separates = token.size() <= kLongest;  // most tokens are longer
        if (separates && (token == "»" || token == "›"))
            ++quotes_;
        else if (separates && std::ranges::find(kSeparators, token) != std::end(kSeparators))
            ++separators_;
        else
            others_ += token.size();
    }

    // True for short labels between separators, as opposed to the items of a list.
    bool found(const Line& line) const {
        constexpr std::size_t kLeast = 3;
        constexpr std::size_t kBytesBetween = 30;
        if (separators_ + quotes_ < kLeast) return false;
        const std::string_view text(reinterpret_cast<const char*>(line.begin), line.size());
        const bool quoted = text.find("«") != text.npos || text.find("‹") != text.npos;
        const std::size_t separators = separators_ + (quoted ? 0 : quotes_);
        return separators >= kLeast && others_ <= kBytesBetween * separators;
    }

   private:
    static constexpr std::size_t kLongest = 3;  // bytes of a separator

    std::size_t separators_ = 0;
    std::size_t quotes_ = 0;  // » and ›, which are separators only in lines without « and ‹
    std::size_t others_ = 0;  // bytes
};

// Bytes of addresses, tags and paths, and zero.
constexpr std::array<bool, 256> kInAddresses = [] {
    std::array<bool, 256> found{};
    for (const char byte : std::string_view("/.@#_\\:=&?%0123456789\0", 22))
        found[static_cast<std::uint8_t>(byte)] = true;
    return found;
}();

// Number of capital letters in a token that are first or follow a small letter; 0 for addresses, tags and paths.
std::size_t glued_words(const std::uint8_t* at, const std::uint8_t* end) {
    if (std::any_of(at, end, [](std::uint8_t byte) { return kInAddresses[byte]; })) return 0;
    std::size_t words = 0;
    bool small = true;  // the beginning counts as a small letter
    while (at < end) {
        const Category category = Properties::of(next_utf8(at)).category();
        words += category == Category::kLu && small ? 1 : 0;
        small = category == Category::kLl;
    }
    return words;
}

// True for a token of one letter, of a script with spaces between words.
bool is_single_letter(const std::uint8_t* at, const std::uint8_t* end) {
    if (end - at > 4) return false;
    const char32_t point = next_utf8(at);
    return at == end && Properties::of(point).letter() && tenths_per_word(Properties::of(point).script()) == 0;
}

std::uint8_t noise_of_tokens(const Lines& lines, const Line& line, std::uint8_t wanted) {
    Breadcrumbs breadcrumbs;
    std::size_t singles = 0;
    std::uint8_t found = 0;
    lines.for_each_token(line, [&](const std::uint8_t* begin, const std::uint8_t* end) {
        const auto size = static_cast<std::size_t>(end - begin);
        breadcrumbs.add({reinterpret_cast<const char*>(begin), size});
        if (size <= 4) {
            singles = is_single_letter(begin, end) ? singles + 1 : 0;
            if (singles >= 5) found |= kSpacedLetters;
            return;
        }
        singles = 0;
        if (size >= 12 && (wanted & kGluedWords) != 0 && glued_words(begin, end) >= 4) found |= kGluedWords;
    });
    if (breadcrumbs.found(line)) found |= kBreadcrumbs;
    return found;
}

bool is_hex(std::uint8_t c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

bool has_escapes(const Line& line) {
    std::size_t percents = 0;
    for (const std::uint8_t* at = line.begin; line.end - at >= 3; ++at) {
        if (*at == '\\' && (at[1] == 'u' || at[1] == 'x') && line.end - at >= 4 && is_hex(at[2]) && is_hex(at[3]))
            return true;
        if (*at == '%' && at[1] >= 'A' && is_hex(at[1]) && is_hex(at[2])) percents += 1;  // bytes of 80 and above
    }
    return percents >= 2;
}

// True for quotes and ellipses that may follow an accented capital letter in western languages.
bool is_quote(char32_t point) { return (point >= 0x2018 && point <= 0x201E) || point == 0x2026 || point == 0xBB; }

// True if the bytes of the characters from `at` on are the UTF-8 of one character, in a combination that is rare in
// correct text.
bool is_mojibake(const std::uint8_t* at, const std::uint8_t* end) {
    char32_t points[3] = {};
    for (char32_t& point : points)
        if (at < end) point = next_utf8(at);
    const std::uint8_t second = windows_1252_byte(points[1]);
    const std::uint8_t third = windows_1252_byte(points[2]);
    const auto continues = [](std::uint8_t byte) { return byte >= 0x80 && byte < 0xC0; };
    switch (points[0]) {
        case 0xC2:  // Â
            return second >= 0xA0 && second < 0xC0 && points[1] != 0xBB && points[1] != 0xAB;
        case 0xC3:  // Ã
            return continues(second) && !is_quote(points[1]);
        case 0xD0:  // Ð and Ñ, twice: Cyrillic
        case 0xD1:
            return continues(second) && (points[2] == 0xD0 || points[2] == 0xD1 || points[2] == ' ') && at < end &&
                   points[1] != 0xBB && !is_quote(points[1]);
        case 0xE2:  // â: punctuation and symbols
            return (second == 0x80 || second == 0x82 || second == 0x84) && continues(third);
        case 0xEF:  // ï: U+FEFF
            return second == 0xBB && third == 0xBF;
        default: return false;
    }
}

std::uint8_t noise_of_characters(const Line& line) {
    std::uint8_t found = 0;
    if (line.ascii) return found;
    for (const std::uint8_t* at = line.begin; at < line.end;) {
        if (*at < 0x80) {
            ++at;
            continue;
        }
        const std::uint8_t* const begin = at;
        const char32_t point = next_utf8(at);
        if (point == 0xFFFD || (point < 0xF0 && is_mojibake(begin, line.end))) found |= kMojibake;
        const Category category = Properties::of(point).category();
        if (category == Category::kCn || category == Category::kCo || category == Category::kCc) found |= kUnassigned;
    }
    return found;
}

}  // namespace

void unbalanced_brackets(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        int total = 0;
        for (const int depth : depths(lines[i])) total += std::abs(depth);
        out[i] = total;
    }
}

void bracket_differences(const Lines& source, const Lines& target, double* out) {
    for (std::size_t i = 0; i < source.size(); ++i) {
        const Depths a = depths(source[i]);
        const Depths b = depths(target[i]);
        int total = 0;
        for (std::size_t kind = 0; kind < a.size(); ++kind) total += std::abs(a[kind] - b[kind]);
        out[i] = total;
    }
}

void noise_kinds(const Lines& lines, std::uint8_t wanted, double* out) {
    constexpr std::uint8_t kOfTokens = kBreadcrumbs | kGluedWords | kSpacedLetters;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::uint8_t found = 0;
        if ((wanted & kOfTokens) != 0) found |= noise_of_tokens(lines, line, wanted);
        if ((wanted & kEscapes) != 0 && has_escapes(line)) found |= kEscapes;
        if ((wanted & (kMojibake | kUnassigned)) != 0) found |= noise_of_characters(line);
        out[i] = std::popcount(static_cast<unsigned>(found & wanted));
    }
}

}  // namespace nmt_prep::clean
