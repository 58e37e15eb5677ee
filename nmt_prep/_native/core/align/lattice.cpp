#include "align/lattice.h"

#include <algorithm>
#include <array>

#include "align/sums.h"

namespace nmt_prep::align {
namespace {

constexpr auto kReach = static_cast<std::size_t>(kWidest);
constexpr std::size_t kBlock = 8;                   // states that are computed together
constexpr std::size_t kRoom = kJumps + 2 * kBlock;  // of vectors over states, beyond the states
using Window = std::array<float, kJumps + 1>;

// Sums of the values of the states around each state, by weight, plus a base: those of state i are
// values[i, i + kJumps), so values have room for kReach states before the first. Sums have the same order for every
// state, and stay in registers.
void spread(const float* values, std::size_t states, float base, const Window& weights, float* sums) {
    for (std::size_t block = 0; block < states; block += kBlock) {
        float sum[kBlock];
        for (float& each : sum) each = base;
        for (std::size_t k = 0; k < kJumps; ++k)
            for (std::size_t i = 0; i < kBlock; ++i) sum[i] += values[block + i + k] * weights[k];
        for (std::size_t i = 0; i < kBlock; ++i) sums[block + i] = sum[i];
    }
}

}  // namespace

void Lattice::look_up(const Pair& pair) {
    const std::size_t m = pair.sources;
    const std::size_t n = pair.targets;
    forward_.steps = backward_.states = n;
    forward_.states = backward_.steps = m;
    for (Direction* direction : {&forward_, &backward_}) {
        direction->emission.resize(m * n);
        direction->posterior.resize(m * n);
        direction->null.resize(direction->steps);
    }
    for (std::size_t j = 0; j < n; ++j) {
        const float share = parameters_.target_shares[pair.target[j]];
        forward_.null[j] = share;
        std::fill_n(&forward_.emission[j * m], m, parameters_.floor * share);
    }
    for (std::size_t i = 0; i < m; ++i) {
        const float share = parameters_.source_shares[pair.source[i]];
        backward_.null[i] = share;
        std::fill_n(&backward_.emission[i * n], n, parameters_.floor * share);
    }
    known_.clear();
    const Table& table = *parameters_.table;
    finder_.find(table, *parameters_.filter, pair.source, m, pair.target, n,
                 [&](std::uint32_t i, std::uint32_t j, std::int64_t slot) {
                     const Cell& cell = table.slots()[static_cast<std::size_t>(slot)];
                     forward_.emission[j * m + i] += cell.forward;
                     backward_.emission[i * n + j] += cell.backward;
                     known_.push_back({i, j, slot});
                 });
}

void Lattice::by_diagonal() {
    diagonal_.prepare(forward_.states, forward_.steps, parameters_.steepness);
    const auto share = [&](Direction& direction, auto&& weight) {
        for (std::size_t step = 0; step < direction.steps; ++step) {
            const float* const emission = &direction.emission[step * direction.states];
            float* const posterior = &direction.posterior[step * direction.states];
            for (std::size_t state = 0; state < direction.states; ++state) posterior[state] = weight(step, state);
            const float scale = (1 - parameters_.null) / sum_of(posterior, direction.states);
            for (std::size_t state = 0; state < direction.states; ++state)
                posterior[state] = posterior[state] * scale * emission[state];
            const float none = parameters_.null * direction.null[step];
            const float inverse = 1 / (sum_of(posterior, direction.states) + none);
            for (std::size_t state = 0; state < direction.states; ++state) posterior[state] *= inverse;
            direction.null[step] = none * inverse;
        }
    };
    share(forward_, [&](std::size_t j, std::size_t i) { return diagonal_.weight(i, j); });
    share(backward_, [&](std::size_t i, std::size_t j) { return diagonal_.weight(i, j); });
}

void Lattice::by_jumps(std::int64_t* forward, std::int64_t* backward) {
    run(forward_, parameters_.forward, forward);
    run(backward_, parameters_.backward, backward);
}

void Lattice::run(Direction& direction, const Jumps& jumps, std::int64_t* counts) {
    const std::size_t steps = direction.steps;
    const std::size_t states = direction.states;
    for (std::vector<float>* vector : {&current_, &inverse_}) vector->resize(states);
    for (std::vector<float>* vector : {&next_, &weighted_}) vector->assign(states + kRoom, 0);
    alpha_.resize(steps * states);
    null_alpha_.resize(steps * states);
    scale_.resize(steps);
    for (std::size_t i = 0; i < states; ++i) {  // jumps to all states from one sum to 1
        const std::size_t first = i > kReach ? i - kReach : 0;
        const std::size_t last = std::min(states, i + kReach + 1);
        const auto outside = static_cast<float>(states - (last - first));
        inverse_[i] = 1 / (sum_of(jumps.near + (first + kReach - i), last - first) + jumps.far * outside);
    }
    forwards(direction, jumps);
    backwards(direction, jumps, counts);
}

void Lattice::forwards(Direction& direction, const Jumps& jumps) {
    const std::size_t states = direction.states;
    const float linked = 1 - parameters_.null;
    Window back{};  // what a near jump is worth beyond a far one, from the widest jump ahead to the widest one back
    for (std::size_t d = 0; d < kJumps; ++d) back[d] = jumps.near[kJumps - 1 - d] - jumps.far;
    float* const next = next_.data();
    float* const weighted = weighted_.data() + kReach;
    for (std::size_t step = 0; step < direction.steps; ++step) {
        if (step == 0) {
            // From before the first word: a jump of i + 1 to word i.
            for (std::size_t i = 0; i < states; ++i) next[i] = i < kReach ? jumps.near[i + 1 + kReach] : jumps.far;
            const float scale = 1 / sum_of(next, states);
            for (std::size_t i = 0; i < states; ++i) next[i] *= scale;
            for (std::size_t i = 0; i < states; ++i) current_[i] = next[i];
        } else {
            for (std::size_t i = 0; i < states; ++i) weighted[i] = current_[i] * inverse_[i];
            spread(weighted_.data(), states, jumps.far * sum_of(weighted, states), back, next);
        }
        const float* const emission = &direction.emission[step * states];
        float* const alpha = &alpha_[step * states];
        float* const null_alpha = &null_alpha_[step * states];
        const float none = parameters_.null * direction.null[step];
        for (std::size_t i = 0; i < states; ++i) alpha[i] = next[i] * linked * emission[i];
        for (std::size_t i = 0; i < states; ++i) null_alpha[i] = current_[i] * none;
        const float scale = 1 / (sum_of(alpha, states) + sum_of(null_alpha, states));
        scale_[step] = scale;
        for (std::size_t i = 0; i < states; ++i) alpha[i] *= scale;
        for (std::size_t i = 0; i < states; ++i) null_alpha[i] *= scale;
        for (std::size_t i = 0; i < states; ++i) current_[i] = alpha[i] + null_alpha[i];
    }
}

void Lattice::backwards(Direction& direction, const Jumps& jumps, std::int64_t* counts) {
    const std::size_t states = direction.states;
    Window near{};  // what a near jump is worth beyond a far one
    for (std::size_t d = 0; d < kJumps; ++d) near[d] = jumps.near[d] - jumps.far;
    float* const next = next_.data();
    float* const weighted = weighted_.data() + kReach;
    Window widths{};
    float jumped = 0;
    for (std::size_t i = 0; i < states; ++i) current_[i] = 1;  // the backward probabilities
    for (std::size_t step = direction.steps; step-- > 0;) {
        const float* const alpha = &alpha_[step * states];
        const float* const null_alpha = &null_alpha_[step * states];
        float* const posterior = &direction.posterior[step * states];
        for (std::size_t i = 0; i < states; ++i) posterior[i] = alpha[i] * current_[i];
        for (std::size_t i = 0; i < states; ++i) next[i] = null_alpha[i] * current_[i];
        const float none = parameters_.null * direction.null[step] * scale_[step];
        direction.null[step] = sum_of(next, states);
        if (step == 0) break;
        const float* const emission = &direction.emission[step * states];
        const float scale = (1 - parameters_.null) * scale_[step];
        for (std::size_t i = 0; i < states; ++i) weighted[i] = emission[i] * current_[i] * scale;
        if (counts != nullptr) {
            const float* const before = alpha - states;
            const float* const null_before = null_alpha - states;
            for (std::size_t i = 0; i < states; ++i) {
                const float from = (before[i] + null_before[i]) * inverse_[i];
                const float* const values = weighted_.data() + i;
                for (std::size_t k = 0; k < widths.size(); ++k) widths[k] += from * values[k];
            }
            jumped += 1 - direction.null[step];
        }
        spread(weighted_.data(), states, jumps.far * sum_of(weighted, states), near, next);
        for (std::size_t i = 0; i < states; ++i) current_[i] = next[i] * inverse_[i] + current_[i] * none;
    }
    if (counts == nullptr) return;
    float inside = 0;
    for (std::size_t d = 0; d < kJumps; ++d) {
        const float expected = widths[d] * jumps.near[d];
        inside += expected;
        counts[d] += counted(expected);
    }
    counts[kJumps] += counted(std::max(jumped - inside, 0.0F));
}

}  // namespace nmt_prep::align
