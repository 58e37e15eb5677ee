// The best alignment of a document's sentences, within a band.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sentences/document.h"
#include "sentences/lengths.h"
#include "sentences/words.h"
#include "text/batch.h"

namespace nmt_prep::sentences {

struct Scoring {
    std::span<const Kind> kinds;     // kinds of beads with both sides
    std::span<const double> priors;  // log probability of each kind, up to a constant
    double deletion;                 // value of a sentence without a counterpart
    double extension;                // value of a sentence without a counterpart after another one
    LengthModel lengths;
    const WordModel* target_words = nullptr;  // target words given the source; null to compare lengths alone
    const WordModel* source_words = nullptr;  // source words given the target
    double word_weight;
    double free;  // least value of a bead's words, used for free translations
};

// Finds the path of the highest value from (0, 0) to the end of both sides. Needs memory for the words of some hundred
// sentences, or of fewer if they are long, and a byte for each cell of the band.
std::vector<Bead> best_path(const Document& document, const Band& band, const Scoring& scoring, const Poll& poll);

}  // namespace nmt_prep::sentences
