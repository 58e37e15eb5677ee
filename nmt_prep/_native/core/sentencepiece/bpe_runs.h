// BPE encoding for text runs, a whole group at once, without a queue of merges. The pieces that occur in the text
// are listed (see lattice.h) and taken by rank: a piece is made if both of its ends are still ends of symbols.
//
// This needs a vocabulary as training leaves it. Its ids are by rank, and each piece is regular: if only the pieces of
// lower ranks merge in its text, two symbols are left, which then merge into it. Merges then happen by rank: before a
// piece is due, text between its ends was merged as if it stood alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sentencepiece/alphabet.h"
#include "sentencepiece/vocabulary.h"
#include "text/batch.h"

namespace nmt_prep::sentencepiece {

class BpeRuns {
   public:
    struct Scratch {
        std::vector<Lattice::Listed> sorted, half_sorted;
        std::vector<std::uint32_t> starts;  // by digit: where the next piece with it is written
        std::vector<std::uint8_t> begins;   // by position: 1 if a symbol begins there
    };

    // Returns the alphabet of a vocabulary whose runs can be encoded; null for others, which only models changed by
    // hand have.
    static std::unique_ptr<const Alphabet> alphabet_of(const Vocabulary& vocabulary);

    // Requires the alphabet of `alphabet_of`, which must outlive it.
    BpeRuns(const Vocabulary& vocabulary, const Alphabet& alphabet);

    // Merges all runs of a spelling that is not empty.
    void merge(Runs& runs, Scratch& scratch) const;

    // Appends the ids of one of them; appends nothing and returns false if it has characters that are no pieces or two
    // spaces in a row. Published models have pieces of spaces that do not merge by rank.
    bool encode(const Lattice::Run& run, const Runs& runs, const Scratch& scratch, IdBuffer& ids) const;

   private:
    void list_by_rank(Runs& runs, Scratch& scratch) const;
    bool are_regular(const Vocabulary& vocabulary) const;

    const Alphabet& alphabet_;
    std::int32_t unk_id_;
    std::uint32_t space_;  // the symbol of spaces
    unsigned digit_bits_;  // an id has two digits
};

}  // namespace nmt_prep::sentencepiece
