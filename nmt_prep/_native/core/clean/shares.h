// A certain kind's share among a line's characters or words. The share is 1 if there is nothing to count, unless noted.
#pragma once

#include <cstdint>

#include "clean/lines.h"

namespace nmt_prep::clean {

// Alphabetic code points among all; without white space (\s of the package regex) if `spaces` is false.
void alphabetic_shares(const Lines& lines, bool spaces, double* out);

// Writes the weight of the letters (L*) of each line, and the share of letters in one of the scripts. A letter weighs 4
// in scripts without spaces between words, 2 in Hangul, else 1, because it carries more information about the language.
void script_weights(const Lines& lines, const std::uint8_t* scripts, std::size_t count, double* weights,
                    double* shares);

// Tokens that hold a letter (L*) among all tokens.
void letter_word_shares(const Lines& lines, double* out);

// Alphabetic code points in one of the scripts among all alphabetic ones.
void script_shares(const Lines& lines, const std::uint8_t* scripts, std::size_t count, double* out);

// Code points that are letters, marks or numbers (L*, M*, N*) among those that are not white space.
void word_character_shares(const Lines& lines, double* out);

// Writes 0 for a line that is certainly not in capital letters, else 1.
void possible_capitals(const Lines& lines, double* out);

// Numbers (N*) among letters, marks and numbers; 0 if there are none.
void number_shares(const Lines& lines, double* out);

}  // namespace nmt_prep::clean
