// Learns the pieces of a unigram model, and their scores, exactly like the library with the same number of threads: it
// sums in that many lanes of words, in float, and adds the lanes in their order. Here, any number of threads computes
// the lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sentencepiece/piece_rules.h"
#include "sentencepiece/training_text.h"
#include "sentencepiece/unigram_training/words.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {

struct UnigramOptions {
    std::size_t size;          // pieces to learn
    std::size_t desired_size;  // pieces at which pruning stops
    std::size_t seeds;         // substrings to begin with
    float shrinking_factor;    // of the pieces in each round
    int sub_iterations;        // of expectation and maximization in each round
    std::size_t lanes;         // the library's number of threads
    PieceOptions pieces;
};

// Called after each iteration of expectation and maximization, with the number of pieces that are left.
using ReportPieces = std::function<void(std::size_t pieces)>;

// Returns pieces with scores, the best ones first; fewer than options.size if the words do not give as many.
// `required`: characters that must be pieces, with their counts. Throws TrainingError if the words give no pieces.
std::vector<std::pair<std::string, float>> train_unigram(const TrainingWords& words,
                                                         const std::vector<CharacterCount>& required,
                                                         const UnigramOptions& options, std::size_t threads,
                                                         const Poll& poll, const ReportPieces& report);

}  // namespace nmt_prep::sentencepiece
