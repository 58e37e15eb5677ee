// The penalty for terminal punctuation marks that the sides do not share.
#pragma once

#include "clean/lines.h"

namespace nmt_prep::clean {

// Writes -log(penalty + 1) of each pair, as OpusFilter's TerminalPunctuationFilter. Requires sides of one size.
void terminal_punctuation(const Lines& source, const Lines& target, double* out);

// Writes 1 for lines that end like a sentence, else 0: with a mark such as . or ? and closing quotes, brackets and
// spaces after it.
void sentence_ends(const Lines& lines, double* out);

}  // namespace nmt_prep::clean
