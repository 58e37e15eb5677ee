// Shares of the characters or words of a line that are of a certain kind. A share of nothing is 1.
#pragma once

#include <cstdint>

#include "clean/lines.h"

namespace nmt_prep::clean {

// Alphabetic code points among all; without white space (\s of the package regex) if `spaces` is false.
void alphabetic_shares(const Lines& lines, bool spaces, double* out);

// Letters (L*), each of which counts for as many letters of an alphabet as it tells about the language: 4 in scripts
// without spaces between words, 2 in Hangul. And the share of those in one of the scripts, 1 without letters.
void script_weights(const Lines& lines, const std::uint8_t* scripts, std::size_t count, double* weights,
                    double* shares);

// Tokens that hold a letter (L*) among all tokens.
void letter_word_shares(const Lines& lines, double* out);

// Alphabetic code points of one of the scripts among all alphabetic ones.
void script_shares(const Lines& lines, const std::uint8_t* scripts, std::size_t count, double* out);

// Code points that are letters, marks or numbers (L*, M*, N*) among those that are not white space.
void word_character_shares(const Lines& lines, double* out);

// Numbers (N*) among letters, marks and numbers; 0 if there are none of them.
void number_shares(const Lines& lines, double* out);

}  // namespace nmt_prep::clean
