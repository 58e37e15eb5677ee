// The best way to spell a long stretch of text by the scores of its pieces, as the library finds it: in float, from the
// score that the line has so far, the longest piece of those that end in equals. For text without spaces between words,
// where stretches are long and seldom come again.
//
// The walks down the trie from all characters go one step at a time together: no walk waits for the memory of another,
// and no branch depends on where a walk ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sentencepiece/trie.h"

namespace nmt_prep::sentencepiece {

class Lattice {
   public:
    // The best way: pieces and where they begin, in characters.
    struct Path {
        const std::int32_t* ids;
        const std::uint32_t* starts;
        std::size_t size;
    };

    // A character as the first of pieces: its node, and the piece that it is itself, or the unknown one.
    struct First {
        Trie::Node node;
        std::int32_t id;
    };

    // A stretch of text, by places in the spelling.
    struct Run {
        std::uint32_t begin, end;
    };

    // Finds all pieces in a spelling of `size` symbols. `firsts` by symbol, `scores` by id + 1, the first one minus
    // infinity. Behind each run is a symbol that no piece has.
    void find_pieces(const Trie& trie, const std::vector<First>& firsts, const std::vector<float>& scores,
                     const std::uint32_t* symbols, std::size_t size);

    // Visits the pieces that end at a place and begin in the spelling: visit(start, id), the longest first.
    template <class Visit>
    void for_each_ending(std::uint32_t end, const Visit& visit) const;

    // The best way to spell a run, valid until the next call; adds to the score of the line. Requires finite scores.
    Path find_best(const Run& run, const std::vector<float>& scores, float& score);

   private:
    // Pieces of up to that many characters have places of their own, longer ones are in lists.
    static constexpr std::size_t kShort = 4;

    // A walk down the trie: where it started and where it goes next, which may be nowhere.
    struct Walk {
        std::uint32_t start, place;
    };
    // A longer piece; those that end at one place are linked.
    struct Long {
        std::uint32_t start;
        std::int32_t id;
        std::int32_t next;  // among longs_, -1 for none
        float score;
    };

    void reserve(std::size_t size);
    void add_long(std::size_t size, std::size_t end, const Long& piece);
    template <bool kHasLongs>
    float score_places(const Run& run, const float* scores, float score);
    Path trace(const Run& run);

    // By place where a piece begins, kShort places on: those of the first run that would begin before it count for
    // nothing.
    std::vector<std::array<std::int32_t, kShort>> ids_;  // id + 1 of a piece of one character, of two, …; 0 for none
    std::vector<float> best_;                            // sums of the best ways to each place, where there are longs_
    std::vector<std::int32_t> last_;                     // by place: which piece ends the best way there
    std::vector<Walk> walks_;
    std::vector<Long> longs_;
    std::vector<std::int32_t> long_ends_;  // by place: the first of longs_, -1 for none
    std::vector<std::int32_t> path_ids_;
    std::vector<std::uint32_t> path_starts_;
};

template <class Visit>
void Lattice::for_each_ending(std::uint32_t end, const Visit& visit) const {
    // The longer a piece, the later it was put in front.
    for (std::int32_t i = longs_.empty() ? -1 : long_ends_[end]; i >= 0;) {
        const Long& piece = longs_[static_cast<std::size_t>(i)];
        visit(piece.start, piece.id);
        i = piece.next;
    }
    for (std::uint32_t length = std::min<std::uint32_t>(kShort, end); length > 0; --length)
        if (const std::int32_t id = ids_[end - length + kShort][length - 1]) visit(end - length, id - 1);
}

}  // namespace nmt_prep::sentencepiece
