// Terminal punctuation: the penalty for unequal or many marks, and the ends of sentences.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes -log(penalty + 1) of each pair, as in OpusFilter's TerminalPunctuationFilter. Requires the same number of
// lines on both sides.
void terminal_punctuation(const Lines& source, const Lines& target, double* out);

// Writes 1 for lines that end like a sentence, else 0: with a mark such as . or ? and closing quotes, brackets and
// spaces after it.
void sentence_ends(const Lines& lines, double* out);

}  // namespace nmt_prep::clean
