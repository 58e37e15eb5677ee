// Probabilities of links of one pair of lines, in both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "align/filter.h"
#include "align/pairs.h"
#include "align/table.h"

namespace nmt_prep::align {

// Widths of jumps with probabilities of their own: from -kWidest to kWidest words.
inline constexpr std::ptrdiff_t kWidest = 7;
inline constexpr std::size_t kJumps = 2 * kWidest + 1;

// What a jump within the other side is worth: weights of the widths, and of every wider jump.
struct Jumps {
    float near[kJumps];
    float far;
};

// What posteriors are computed from.
struct Parameters {
    const Table* table;
    const CellFilter* filter;    // of the cells of the table
    const float* source_shares;  // share of each word among the words of its side
    const float* target_shares;
    Jumps forward;     // of target words: jumps within the source side
    Jumps backward;    // of source words: jumps within the target side
    float null;        // probability that a word has no link
    float floor;       // probability of cells that the table lacks, as a multiple of the word's share
    double steepness;  // of the preference for the diagonal
};

// Posteriors of one direction: each of `steps` words is linked to one of `states` words, or to none.
struct Direction {
    std::size_t steps = 0;
    std::size_t states = 0;
    std::vector<float> emission;   // [steps][states]: probability of a step's word given that of a state
    std::vector<float> null;       // [steps]: the same given no word, then its posterior
    std::vector<float> posterior;  // [steps][states]
};

// Words of a pair that have a cell, and its slot.
struct Known {
    std::uint32_t source;
    std::uint32_t target;
    std::int64_t slot;
};

// Computes posteriors; reuses its memory from pair to pair.
class Lattice {
   public:
    explicit Lattice(const Parameters& parameters) : parameters_(parameters) {}

    // Looks up the cells of a pair, which must not be empty or too long.
    void look_up(const Pair& pair);
    // Posteriors where links are independent of each other and near the diagonal.
    void by_diagonal();
    // Posteriors of hidden Markov models over jumps. Adds the expected number of jumps of each width, and of wider
    // ones (the last element), to counts of kOne, if there are any.
    void by_jumps(std::int64_t* forward, std::int64_t* backward);

    const Direction& forward() const { return forward_; }       // steps are target words
    const Direction& backward() const { return backward_; }     // steps are source words
    const std::vector<Known>& known() const { return known_; }  // by ascending source and target
    // Probability that both directions link source word i and target word j.
    float agreed(std::size_t i, std::size_t j) const {
        return forward_.posterior[j * forward_.states + i] * backward_.posterior[i * backward_.states + j];
    }

   private:
    void run(Direction& direction, const Jumps& jumps, std::int64_t* counts);
    void forwards(Direction& direction, const Jumps& jumps);
    void backwards(Direction& direction, const Jumps& jumps, std::int64_t* counts);

    const Parameters& parameters_;
    Direction forward_, backward_;
    Diagonal diagonal_;
    CellFinder finder_;
    std::vector<Known> known_;
    std::vector<float> alpha_, current_, next_, weighted_, inverse_, scale_, null_alpha_;
};

}  // namespace nmt_prep::align
