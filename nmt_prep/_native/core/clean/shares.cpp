#include "clean/shares.h"

#include <array>

#include "clean/scripts.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

double share(std::size_t part, std::size_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::size_t ascii_letters(const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    return count_where(line.size(), [bytes](std::size_t i) {
        return static_cast<std::uint8_t>(static_cast<std::uint8_t>((bytes[i] | 0x20) - 'a') < 26);
    });
}

std::size_t ascii_digits(const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    return count_where(line.size(), [bytes](std::size_t i) {
        return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i] - '0') < 10);
    });
}

// Calls found(properties) for every character outside ASCII.
template <class Found>
void for_each_beyond_ascii(const Line& line, Found&& found) {
    if (line.ascii) return;
    for (const std::uint8_t* at = line.begin; at < line.end;) {
        if (*at < 0x80)
            ++at;
        else
            found(Properties::of(next_utf8(at)));
    }
}

// White space as `\s` of the package regex, which unlike str.isspace does not include U+001C to U+001F.
std::size_t regex_spaces(const Lines& lines, const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    return lines.space_characters(line) - count_where(line.size(), [bytes](std::size_t i) {
               return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i] - 0x1C) < 4);
           });
}

}  // namespace

void alphabetic_shares(const Lines& lines, bool spaces, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t alphabetic = ascii_letters(line);
        for_each_beyond_ascii(line, [&](Properties properties) { alphabetic += properties.alphabetic() ? 1 : 0; });
        out[i] = share(alphabetic, lines.characters(line) - (spaces ? 0 : regex_spaces(lines, line)));
    }
}

void script_weights(const Lines& lines, const std::uint8_t* scripts, std::size_t count, double* weights,
                    double* shares) {
    std::array<std::uint8_t, 256> wanted{};
    for (std::size_t i = 0; i < count; ++i) wanted[scripts[i]] = 1;
    const bool latin = wanted[Properties::of('a').script()] != 0;
    std::array<std::uint8_t, 256> weight{};
    for (std::size_t script = 0; script < kScripts; ++script)
        weight[script] = tenths_per_word(static_cast<std::uint8_t>(script)) != 0 ? 4 : 1;
    weight[static_cast<std::size_t>(script_of_name("Hangul"))] = 2;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t all = ascii_letters(line);
        std::size_t found = latin ? all : 0;
        for_each_beyond_ascii(line, [&](Properties properties) {
            const std::size_t one = properties.letter() ? weight[properties.script()] : 0;
            all += one;
            found += wanted[properties.script()] != 0 ? one : 0;
        });
        weights[i] = static_cast<double>(all);
        shares[i] = share(found, all);
    }
}

void letter_word_shares(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::size_t tokens = 0;
        std::size_t with_letter = 0;
        lines.for_each_token(lines[i], [&](const std::uint8_t* at, const std::uint8_t* end) {
            ++tokens;
            while (at < end) {
                if (Properties::of(next_utf8(at)).letter()) {
                    ++with_letter;
                    return;
                }
            }
        });
        out[i] = share(with_letter, tokens);
    }
}

void script_shares(const Lines& lines, const std::uint8_t* scripts, std::size_t count, double* out) {
    std::array<std::uint8_t, 256> wanted{};
    for (std::size_t i = 0; i < count; ++i) wanted[scripts[i]] = 1;
    const bool latin = wanted[Properties::of('a').script()] != 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t alphabetic = ascii_letters(line);
        std::size_t found = latin ? alphabetic : 0;
        for_each_beyond_ascii(line, [&](Properties properties) {
            const std::size_t one = properties.alphabetic() ? 1 : 0;
            alphabetic += one;
            found += one & wanted[properties.script()];
        });
        out[i] = share(found, alphabetic);
    }
}

void word_character_shares(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t found = ascii_letters(line) + ascii_digits(line);
        for_each_beyond_ascii(line, [&](Properties properties) {
            found += properties.letter() || properties.mark() || properties.number() ? 1 : 0;
        });
        out[i] = share(found, lines.characters(line) - lines.space_characters(line));
    }
}

void possible_capitals(const Lines& lines, double* out) {
    const auto is_capital = [](char32_t point) {
        const Category category = Properties::of(point).category();
        // Roman numerals and letters in circles have capitals, too, and so may characters of later versions of Unicode.
        return category == Category::kLu || category == Category::kLt || category == Category::kNl ||
               category == Category::kSo || category == Category::kCn;
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        bool capitals = false;
        bool small = false;
        for (const std::uint8_t* at = line.begin; at < line.end && !small;) {
            small = *at >= 'a' && *at <= 'z';
            capitals |= is_capital(next_utf8(at));
        }
        out[i] = capitals && !small ? 1.0 : 0.0;
    }
}

void number_shares(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t numbers = ascii_digits(line);
        std::size_t all = numbers + ascii_letters(line);
        for_each_beyond_ascii(line, [&](Properties properties) {
            numbers += properties.number() ? 1 : 0;
            all += properties.number() || properties.letter() || properties.mark() ? 1 : 0;
        });
        out[i] = all == 0 ? 0.0 : share(numbers, all);
    }
}

}  // namespace nmt_prep::clean
