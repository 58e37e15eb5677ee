// Builds the same vocabulary as Tensor2Tensor's SubwordTextEncoder from the same token counts, in time and memory
// linear (up to a logarithm) in the total length of the distinct tokens, however long a token is.
//
// Upstream enumerates the substrings that start at a piece boundary, accepts them longest first if their counts
// suffice, and subtracts the counts of accepted ones from all their prefixes. On the suffix tree of the tokens this is
// one sweep: the remaining count of a node is its own starts plus the remaining counts of its children that were not
// accepted, and it is accepted if that reaches the minimum. The greedy longest match at a position is then the deepest
// accepted ancestor of the suffix's leaf that starts there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "t2t/counts.h"
#include "t2t/suffixes.h"
#include "t2t/tree.h"

namespace nmt_prep::t2t {

// The pieces that training with one minimum count finds, without the reserved pieces.
struct Candidate {
    struct Piece {
        std::int64_t count;
        std::uint32_t leaf;   // kNone if the piece is a character of the alphabet that occurs in no token
        std::uint32_t depth;  // length in symbols; for a character that occurs in no token, its symbol
    };
    std::vector<Piece> pieces;  // in no particular order
};

class Trainer {
   public:
    // `reserved`: tokens (UTF-8) whose pieces begin the vocabulary. `max_depth`: maximum number of symbols of a piece
    // that is not reserved; kNone for no limit, 0 for the alphabet only. Throws TrainingError if there are no tokens,
    // or more symbols than a build can handle.
    Trainer(const CountTable& counts, const std::vector<std::string>& reserved, std::uint32_t max_depth,
            const Poll& poll);

    // Returns the vocabulary after `passes` passes with this minimum count (at least 1).
    Candidate build(std::int64_t min_count, int passes, std::size_t threads, const Poll& poll);

    // Returns an upper bound on the pieces that `build` finds; much faster.
    std::size_t most_pieces(std::int64_t min_count, const Poll& poll);

    // Escaped reserved tokens, then the candidate's pieces in the order of the vocabulary, as UTF-8.
    std::vector<std::string> pieces(Candidate candidate) const;

   private:
    class Passes;

    void read_alphabet(const CountTable& counts, const std::vector<std::string>& reserved, const Poll& poll);
    void read_tokens(const CountTable& counts, const Poll& poll);
    void count_leaves(const Poll& poll);
    void pin_reserved();
    void plant(std::int64_t min_total, const Poll& poll);
    void find_nodes(const Poll& poll);
    std::uint32_t symbol(const Candidate::Piece& piece) const;

    const std::uint32_t max_depth_;
    std::vector<char32_t> alphabet_;                    // symbol - 1 -> character, ascending
    std::vector<std::uint32_t> symbols_;                // character, up to the last -> symbol, 0 outside the alphabet
    std::vector<std::vector<std::uint32_t>> reserved_;  // escaped, as symbols
    TokenText tokens_;
    std::vector<std::int64_t> counts_;  // of each token
    Suffixes suffixes_;
    std::vector<std::int64_t> leaf_counts_;
    std::vector<std::uint32_t> pinned_;  // leaves that are reserved pieces

    // The tree, which serves all minimum counts from planted_ on, and the node of the suffix at each position.
    std::int64_t planted_ = INT64_MAX;
    Tree tree_;
    std::vector<std::uint32_t> node_at_;
};

}  // namespace nmt_prep::t2t
