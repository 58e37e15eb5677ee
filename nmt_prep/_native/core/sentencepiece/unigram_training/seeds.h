// The first pieces of unigram training: characters, and repeated substrings of words.
//
// The library builds a suffix array of the bytes of all sentences, each followed by a NUL, and takes the strings of the
// inner nodes of the suffix tree: those that repeat and that are not always followed by the same byte. Pieces do not
// cross words, so the distinct words with their counts give the same nodes. What follows a word is a space, the first
// byte of which is E2, or the NUL of the sentence's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sentencepiece/piece_rules.h"
#include "sentencepiece/unigram_training/words.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {

inline constexpr std::uint32_t kNoPiece = UINT32_MAX;

// A piece is spelled by one of its occurrences among the symbols of the text.
struct TrainingPiece {
    std::uint32_t at;
    std::uint32_t length;  // symbols
    float score;           // log of its probability
    std::uint32_t parent;  // the longest other piece that begins it
};

// Pieces in the order of the sorted suffixes, so that parents precede their children and are near them in memory; and
// at each symbol of the text the longest piece that begins there; its parents are the others that do.
struct PieceTree {
    std::vector<TrainingPiece> pieces;
    std::vector<std::uint32_t> order;  // the pieces in the order of the library
    std::vector<std::uint32_t> longest;
};

// Returns the characters and the `most` substrings with the highest products of count and length, with the logs of
// their shares as scores. `longest`: the maximum length of a piece.
PieceTree find_seed_pieces(const TrainingWords& text, const PieceRules& rules, std::size_t most, std::size_t threads,
                           const Poll& poll);

}  // namespace nmt_prep::sentencepiece
