// Scripts by name, and which scripts are written without spaces between words.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "text/properties.h"

namespace nmt_prep::clean {

inline constexpr int kNoScript = -1;

// Index of the script of that name or four-letter code, whatever the case and the underscores; kNoScript if there is
// none.
int script_of_name(std::string_view name);

// For each script, the result of tenths_per_word.
std::array<std::uint8_t, 256> tenths_of_scripts();

// Code points of an average word, in tenths, of a script without spaces between words; 0 for other scripts.
inline unsigned tenths_per_word(std::uint8_t script) {
    static const std::array<std::uint8_t, 256> kTenths = tenths_of_scripts();
    return kTenths[script];
}

// Number of the script Katakana.
std::uint8_t katakana();

// The script of a character within a word: Katakana for the prolonged sound mark ー, although it is Common.
inline std::uint8_t word_script(char32_t point) {
    constexpr char32_t kProlongedSoundMark = 0x30FC;
    return point == kProlongedSoundMark ? katakana() : Properties::of(point).script();
}

}  // namespace nmt_prep::clean
