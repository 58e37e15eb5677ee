#include "align/lattice.h"

#include <algorithm>
#include <array>

#include "align/sums.h"

namespace nmt_prep::align {
namespace {

// The states near a state: [first, last), and the width of the jump to the first, counted from -kWidest.
struct Window {
    Window(std::size_t state, std::size_t states)
        : first(state > kReach ? state - kReach : 0),
          last(std::min(states, state + kReach + 1)),
          jump(first + kReach - state) {}
    static constexpr auto kReach = static_cast<std::size_t>(kWidest);
    std::size_t first;
    std::size_t last;
    std::size_t jump;
};

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
    slots_.resize(m * n);
    const Table& table = *parameters_.table;
    for (std::size_t j = 0; j < n; ++j) forward_.null[j] = parameters_.target_shares[pair.target[j]];
    for (std::size_t i = 0; i < m; ++i) {
        const float share = parameters_.source_shares[pair.source[i]];
        backward_.null[i] = share;
        const Table::Row row = table.row(pair.source[i]);
        for (std::size_t j = 0; j < n; ++j) {
            const std::int64_t slot = Table::empty(row) ? Table::kNone : table.find(row, pair.target[j]);
            slots_[i * n + j] = slot;
            float given_source = parameters_.floor * forward_.null[j];
            float given_target = parameters_.floor * share;
            if (slot != Table::kNone) {
                const Cell& cell = table.slots()[static_cast<std::size_t>(slot)];
                given_source += cell.forward;
                given_target += cell.backward;
            }
            forward_.emission[j * m + i] = given_source;
            backward_.emission[i * n + j] = given_target;
        }
    }
    diagonal_.prepare(m, n, parameters_.steepness);
}

void Lattice::by_diagonal() {
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
    const float linked = 1 - parameters_.null;
    for (std::vector<float>* vector : {&current_, &next_, &weighted_, &inverse_}) vector->resize(states);
    alpha_.resize(steps * states);
    null_alpha_.resize(steps * states);
    scale_.resize(steps);

    // Jumps to all states from one sum to 1.
    for (std::size_t i = 0; i < states; ++i) {
        const Window window(i, states);
        const auto outside = static_cast<float>(states - (window.last - window.first));
        inverse_[i] = 1 / (sum_of(jumps.near + window.jump, window.last - window.first) + jumps.far * outside);
    }
    float near[kJumps];  // what a near jump is worth beyond a far one
    float back[kJumps];  // the same, of the opposite jump
    for (std::size_t d = 0; d < kJumps; ++d) near[d] = jumps.near[d] - jumps.far;
    for (std::size_t d = 0; d < kJumps; ++d) back[d] = near[kJumps - 1 - d];

    for (std::size_t step = 0; step < steps; ++step) {
        const float* const emission = &direction.emission[step * states];
        float* const alpha = &alpha_[step * states];
        float* const null_alpha = &null_alpha_[step * states];
        const float none = parameters_.null * direction.null[step];
        if (step == 0) {
            // From before the first word: a jump of i + 1 to word i.
            for (std::size_t i = 0; i < states; ++i)
                next_[i] = i + 1 <= static_cast<std::size_t>(kWidest) ? jumps.near[i + 1 + kWidest] : jumps.far;
            const float scale = 1 / sum_of(next_.data(), states);
            for (std::size_t i = 0; i < states; ++i) next_[i] *= scale;
            for (std::size_t i = 0; i < states; ++i) current_[i] = next_[i];
        } else {
            for (std::size_t i = 0; i < states; ++i) weighted_[i] = current_[i] * inverse_[i];
            const float base = jumps.far * sum_of(weighted_.data(), states);
            for (std::size_t i = 0; i < states; ++i) next_[i] = base;
            for (std::size_t i = 0; i < states; ++i) {
                const Window window(i, states);
                const float from = weighted_[i];
                const float* const width = near + window.jump;
                float* const to = &next_[window.first];
                const std::size_t size = window.last - window.first;
                for (std::size_t k = 0; k < size; ++k) to[k] += from * width[k];
            }
        }
        for (std::size_t i = 0; i < states; ++i) alpha[i] = next_[i] * linked * emission[i];
        for (std::size_t i = 0; i < states; ++i) null_alpha[i] = current_[i] * none;
        const float scale = 1 / (sum_of(alpha, states) + sum_of(null_alpha, states));
        scale_[step] = scale;
        for (std::size_t i = 0; i < states; ++i) alpha[i] *= scale;
        for (std::size_t i = 0; i < states; ++i) null_alpha[i] *= scale;
        for (std::size_t i = 0; i < states; ++i) current_[i] = alpha[i] + null_alpha[i];
    }

    std::array<float, kJumps> widths{};
    float jumped = 0;
    for (std::size_t i = 0; i < states; ++i) current_[i] = 1;  // beta
    for (std::size_t step = steps; step-- > 0;) {
        const float* const alpha = &alpha_[step * states];
        const float* const null_alpha = &null_alpha_[step * states];
        float* const posterior = &direction.posterior[step * states];
        for (std::size_t i = 0; i < states; ++i) posterior[i] = alpha[i] * current_[i];
        for (std::size_t i = 0; i < states; ++i) next_[i] = null_alpha[i] * current_[i];
        const float none = parameters_.null * direction.null[step] * scale_[step];
        direction.null[step] = sum_of(next_.data(), states);
        if (step == 0) break;
        const float* const emission = &direction.emission[step * states];
        const float scale = linked * scale_[step];
        for (std::size_t i = 0; i < states; ++i) weighted_[i] = emission[i] * current_[i] * scale;
        const float base = jumps.far * sum_of(weighted_.data(), states);
        for (std::size_t i = 0; i < states; ++i) next_[i] = base;
        for (std::size_t i = 0; i < states; ++i) {
            const Window window(i, states);
            const float from = weighted_[i];
            const float* const width = back + window.jump;
            float* const to = &next_[window.first];
            const std::size_t size = window.last - window.first;
            for (std::size_t k = 0; k < size; ++k) to[k] += from * width[k];
        }
        if (counts != nullptr) {
            const float* const before = &alpha_[(step - 1) * states];
            const float* const null_before = &null_alpha_[(step - 1) * states];
            for (std::size_t i = 0; i < states; ++i) {
                const Window window(i, states);
                const float from = (before[i] + null_before[i]) * inverse_[i];
                float* const to = &widths[window.jump];
                const float* const value = &weighted_[window.first];
                const std::size_t size = window.last - window.first;
                for (std::size_t k = 0; k < size; ++k) to[k] += from * value[k];
            }
            jumped += 1 - direction.null[step];
        }
        for (std::size_t i = 0; i < states; ++i) current_[i] = next_[i] * inverse_[i] + current_[i] * none;
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
