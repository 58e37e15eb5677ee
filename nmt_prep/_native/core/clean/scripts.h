// Scripts by name, and which scripts are written without spaces between words.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/properties.h"

namespace nmt_prep::clean {

inline constexpr int kNoScript = -1;

// Index of the script of that name or four-letter code, whatever the case and the underscores; kNoScript if there is
// none.
int script_of_name(std::string_view name);

// Code points of an average word, in tenths, of a script without spaces between words; 0 for other scripts.
unsigned tenths_per_word(std::uint8_t script);

// The script of a character within a word: Katakana for the prolonged sound mark ー, although it is Common.
std::uint8_t word_script(char32_t point);

}  // namespace nmt_prep::clean
