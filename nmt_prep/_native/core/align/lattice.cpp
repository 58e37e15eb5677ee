#include "align/lattice.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "align/sums.h"

namespace nmt_prep::align {
namespace {

constexpr auto kReach = static_cast<std::size_t>(kWidest);

// Pairs with more pairs of words are computed alone, so that arrays stay within a few megabytes.
constexpr std::size_t kMostTogether = std::size_t{1} << 16;

}  // namespace

Groups groups_of(const Pairs& pairs) {
    // Orders by classes of source sizes, then by target size, ascending and descending in turn, so that neighbors have
    // similar sizes.
    std::vector<std::uint64_t> keys;
    keys.reserve(pairs.size);
    for (std::size_t i = 0; i < pairs.size; ++i) {
        const Pair pair = pairs[i];
        if (pair.empty() || pair.too_long()) continue;
        const auto width = static_cast<unsigned>(std::bit_width(pair.sources >> 4));
        const std::uint64_t sources = (pair.sources - 1) >> width;
        const std::uint64_t targets = sources % 2 == 0 ? pair.targets : kMostWords - pair.targets;
        keys.push_back((std::uint64_t{width} << 56) | sources << 48 | targets << 32 | i);
    }
    std::ranges::sort(keys, std::greater{});

    Groups groups;
    groups.order.reserve(keys.size());
    groups.bounds.push_back(0);
    std::size_t sources = 0;
    std::size_t targets = 0;
    for (const std::uint64_t key : keys) {
        const auto at = static_cast<std::uint32_t>(key);
        const Pair pair = pairs[at];
        sources = std::max(sources, pair.sources);
        targets = std::max(targets, pair.targets);
        const std::size_t size = groups.order.size() - groups.bounds.back();
        if (size == kLanes || (size > 0 && sources * targets > kMostTogether)) {
            groups.bounds.push_back(groups.order.size());
            sources = pair.sources;
            targets = pair.targets;
        }
        groups.order.push_back(at);
    }
    if (!groups.order.empty()) groups.bounds.push_back(groups.order.size());
    return groups;
}

void Lattice::prepare(Direction& direction, bool forward) {
    const std::size_t lanes = models_.lanes;
    direction.steps = direction.states = 1;
    std::fill_n(direction.step_sizes, kLanes, 0);
    std::fill_n(direction.state_sizes, kLanes, 0);
    for (std::size_t lane = 0; lane < pairs_.size(); ++lane) {
        const Pair& pair = pairs_[lane];
        direction.step_sizes[lane] = static_cast<std::uint32_t>(forward ? pair.targets : pair.sources);
        direction.state_sizes[lane] = static_cast<std::uint32_t>(forward ? pair.sources : pair.targets);
        direction.steps = std::max<std::size_t>(direction.steps, direction.step_sizes[lane]);
        direction.states = std::max<std::size_t>(direction.states, direction.state_sizes[lane]);
    }
    direction.null = direction.nulls.resized(direction.steps * lanes);
    direction.emission = direction.emissions.resized(direction.steps * direction.states * lanes);
    const float* const shares = forward ? parameters_.target_shares : parameters_.source_shares;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::int32_t* const words =
            lane >= pairs_.size() ? nullptr : (forward ? pairs_[lane].target : pairs_[lane].source);
        const std::size_t size = direction.step_sizes[lane];
        for (std::size_t step = 0; step < direction.steps; ++step)
            direction.null[step * lanes + lane] = step < size ? shares[words[step]] : 1;
    }
    for (std::size_t step = 0; step < direction.steps; ++step) {
        float floors[kLanes]{};
        for (std::size_t lane = 0; lane < lanes; ++lane)
            if (step < direction.step_sizes[lane])
                floors[lane] = parameters_.floor * direction.null[step * lanes + lane];
        float* at = direction.emission + step * direction.states * lanes;
        for (std::size_t state = 0; state < direction.states; ++state)
            for (std::size_t lane = 0; lane < lanes; ++lane)
                *at++ = state < direction.state_sizes[lane] ? floors[lane] : 0;
    }
}

void Lattice::look_up(const Pairs& pairs, std::span<const std::uint32_t> group) {
    pairs_.clear();
    for (const std::uint32_t at : group) pairs_.push_back(pairs[at]);
    const bool alone = pairs_.size() == 1 && pairs_[0].sources * pairs_[0].targets > kMostTogether;
    const std::size_t lanes = models_.lanes = alone ? 1 : kLanes;
    prepare(forward_, true);
    prepare(backward_, false);
    known_.clear();
    const Table& table = *parameters_.table;
    for (std::uint32_t lane = 0; lane < pairs_.size(); ++lane) {
        const Pair& pair = pairs_[lane];
        finder_.find(table, *parameters_.filter, pair.source, pair.sources, pair.target, pair.targets,
                     [&](std::uint32_t i, std::uint32_t j, std::int64_t slot) {
                         const Cell& cell = table.slots()[static_cast<std::size_t>(slot)];
                         forward_.emission[(j * forward_.states + i) * lanes + lane] += cell.forward;
                         backward_.emission[(i * backward_.states + j) * lanes + lane] += cell.backward;
                         known_.push_back({lane, i, j, 0, slot});
                     });
    }
}

void Lattice::solve_forward(std::int64_t* counts) {
    solve(forward_, parameters_.forward, counts);
    for (Known& cell : known_) cell.linked = posterior(cell.target, cell.source, cell.lane);
}

void Lattice::solve_backward(std::int64_t* counts) { solve(backward_, parameters_.backward, counts); }

void Lattice::fill_jumps(const Direction& direction, const Jumps& jumps, float* first, float* inverse) const {
    double before[kJumps + 1]{};  // sums of the weights of narrow jumps
    for (std::size_t d = 0; d < kJumps; ++d) before[d + 1] = before[d] + static_cast<double>(jumps.near[d]);
    const auto far = static_cast<double>(jumps.far);
    const std::size_t lanes = models_.lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t states = std::max<std::size_t>(direction.state_sizes[lane], 1);
        // The first jump starts before the first word: a jump of i + 1 to word i.
        const std::size_t near = std::min(states, kReach);
        const double narrow = before[kReach + 1 + near] - before[kReach + 1];
        const auto scale = static_cast<float>(1 / (narrow + far * static_cast<double>(states - near)));
        for (std::size_t i = 0; i < direction.states; ++i) {
            const float weight = i < kReach ? jumps.near[i + 1 + kReach] : jumps.far;
            first[i * lanes + lane] = i < states ? weight * scale : 0;
        }
        for (std::size_t i = 0; i < states; ++i) {
            const std::size_t from = i > kReach ? i - kReach : 0;
            const std::size_t to = std::min(states, i + kReach + 1);
            const double inside = before[to + kReach - i] - before[from + kReach - i];
            const auto outside = static_cast<double>(states - (to - from));
            inverse[i * lanes + lane] = static_cast<float>(1 / (inside + far * outside));
        }
        for (std::size_t i = states; i < direction.states; ++i) inverse[i * lanes + lane] = 0;
    }
}

void Lattice::solve(Direction& direction, const Jumps& jumps, std::int64_t* counts) {
    const std::size_t lanes = models_.lanes;
    const std::size_t states = direction.states * lanes;
    float* const first = first_.resized(states);
    float* const inverse = inverse_.resized(states);
    fill_jumps(direction, jumps, first, inverse);
    models_ = {lanes,
               direction.steps,
               direction.states,
               direction.step_sizes,
               &jumps,
               parameters_.null,
               direction.emission,
               first,
               inverse,
               direction.null,
               posterior_.resized(direction.steps * states),
               current_.resized(direction.steps * states),
               scratch_.resized(scratch_size(direction.steps, direction.states) * lanes),
               counts == nullptr ? nullptr : widths_[0].values,
               jumped_.values};
    align::solve(models_);
    if (counts == nullptr) return;
    for (std::size_t lane = 0; lane < pairs_.size(); ++lane) {
        float inside = 0;
        for (std::size_t d = 0; d < kJumps; ++d) {
            const float expected = models_.widths[d * lanes + lane] * jumps.near[d];
            inside += expected;
            counts[d] += counted(expected);
        }
        counts[kJumps] += counted(std::max(jumped_.values[lane] - inside, 0.0F));
    }
}

const std::vector<std::int32_t>& Lattice::choices() {
    choices_.resize(models_.steps * models_.lanes);
    choose(models_, choices_.data());
    return choices_;
}

}  // namespace nmt_prep::align
