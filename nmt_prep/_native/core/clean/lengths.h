// Lengths of lines and their words.
#pragma once

#include <cstdint>

#include "clean/lines.h"

namespace nmt_prep::clean {

enum class Unit : std::uint8_t { kChar, kByte, kLetter, kToken, kWord };

// Writes the length of each line to out[i].
void lengths(const Lines& lines, Unit unit, double* out);

// Code points of the longest token of each line; 0 without tokens.
void longest_tokens(const Lines& lines, double* out);

// Code points of the longest word: as longest_tokens, but characters of scripts without spaces between words are not
// counted.
void longest_words(const Lines& lines, double* out);

// Average code points of a token; 0 without tokens.
void average_tokens(const Lines& lines, double* out);

}  // namespace nmt_prep::clean
