// Posteriors of hidden Markov models over jumps: several models side by side, one in each lane of a vector.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep::align {

// Jump widths with their own probabilities: from -kWidest to kWidest words.
inline constexpr std::ptrdiff_t kWidest = 7;
inline constexpr std::size_t kJumps = 2 * kWidest + 1;

// Weights of jumps within the other side: one for each width, and one for all wider jumps.
struct Jumps {
    float near[kJumps];
    float far;
};

// Number of models that are computed together.
inline constexpr std::size_t kLanes = 8;

// Models of several pairs. Arrays have `lanes` values for each step, state, or step and state: [steps][states][lanes].
// They begin at a multiple of a lane row's size. Steps and states that a lane lacks have emissions, first
// probabilities and inverses of 0; their results are unspecified. The results of a lane do not depend on other lanes or
// on the processor.
struct Models {
    std::size_t lanes;  // kLanes or 1
    std::size_t steps;
    std::size_t states;
    const std::uint32_t* sizes;  // [lanes]: number of steps, at least 1
    const Jumps* jumps;
    float none;             // probability that a step has no link, whatever its word
    const float* emission;  // probability of a step's word given a state's word
    const float* first;     // [states][lanes]: probability of the first state
    const float* inverse;   // [states][lanes]: 1 / the sum of the weights of all jumps from a state
    float* null;            // [steps][lanes]: probability of a step's word given no word, then its posterior
    float* posterior;       // of links
    float* current;         // the same size: scratch
    float* scratch;         // scratch_size(states) * lanes
    float* widths;          // [kJumps][lanes]: expected jumps of each width divided by its weight; null for no counts
    float* jumped;          // [lanes]: expected jumps of all widths
};

constexpr std::size_t scratch_size(std::size_t steps, std::size_t states) { return steps + 2 * states; }

// Computes the posteriors, and unless `widths` is null the expected jumps.
void solve(const Models& models);

// For each step, writes the state with the highest posterior, of equal states the first, or kNoState if no link is more
// probable: [steps][lanes].
inline constexpr std::int32_t kNoState = -1;
void choose(const Models& models, std::int32_t* best);

}  // namespace nmt_prep::align
