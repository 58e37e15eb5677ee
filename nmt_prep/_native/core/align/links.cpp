#include "align/links.h"

#include <algorithm>
#include <utility>

#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunPairs = 256;

// The grid of links of a pair while it grows.
class Grid {
   public:
    Grid(std::vector<std::uint8_t>& links, std::size_t sources, std::size_t targets)
        : links_(links), sources_(sources), targets_(targets), source_linked_(sources), target_linked_(targets) {
        for (std::size_t i = 0; i < sources; ++i)
            for (std::size_t j = 0; j < targets; ++j)
                if (links[i * targets + j] != 0) source_linked_[i] = target_linked_[j] = 1;
    }

    // Adds links of the union beside links, where one of their words has none yet, until there are no more.
    void grow(const std::vector<std::uint8_t>& all) {
        constexpr std::pair<int, int> kNeighbours[] = {{-1, 0},  {0, -1}, {1, 0},  {0, 1},
                                                       {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};
        for (bool grown = true; grown;) {
            grown = false;
            for (std::size_t i = 0; i < sources_; ++i) {
                for (std::size_t j = 0; j < targets_; ++j) {
                    if (links_[i * targets_ + j] == 0) continue;
                    for (const auto& [down, right] : kNeighbours) {
                        const std::size_t to_i = i + static_cast<std::size_t>(down);  // wraps beyond the size
                        const std::size_t to_j = j + static_cast<std::size_t>(right);
                        if (to_i >= sources_ || to_j >= targets_) continue;
                        const std::size_t at = to_i * targets_ + to_j;
                        if (links_[at] != 0 || all[at] == 0) continue;
                        if (source_linked_[to_i] != 0 && target_linked_[to_j] != 0) continue;
                        set(to_i, to_j);
                        grown = true;
                    }
                }
            }
        }
    }

    // Adds links of a direction where one of their words, or both if `both`, have none yet.
    void finish(const std::vector<std::uint8_t>& direction, bool both) {
        for (std::size_t i = 0; i < sources_; ++i) {
            for (std::size_t j = 0; j < targets_; ++j) {
                if (direction[i * targets_ + j] == 0) continue;
                const bool source_free = source_linked_[i] == 0;
                const bool target_free = target_linked_[j] == 0;
                if (both ? source_free && target_free : source_free || target_free) set(i, j);
            }
        }
    }

   private:
    void set(std::size_t i, std::size_t j) { links_[i * targets_ + j] = source_linked_[i] = target_linked_[j] = 1; }

    std::vector<std::uint8_t>& links_;
    std::size_t sources_;
    std::size_t targets_;
    std::vector<std::uint8_t> source_linked_, target_linked_;
};

// Calls set(step, state) for the most probable state of each step.
template <class Set>
void for_each_best(const Direction& direction, float least, Set&& set) {
    for (std::size_t step = 0; step < direction.steps; ++step) {
        const float* const posterior = &direction.posterior[step * direction.states];
        const float* const best = std::max_element(posterior, posterior + direction.states);
        if (*best >= least && *best >= direction.null[step]) set(step, static_cast<std::size_t>(best - posterior));
    }
}

}  // namespace

void symmetrize(std::vector<std::uint8_t>& forward, const std::vector<std::uint8_t>& backward, std::size_t sources,
                std::size_t targets, Symmetrization how) {
    if (how == Symmetrization::kForward) return;
    if (how == Symmetrization::kBackward) {
        forward = backward;
        return;
    }
    std::vector<std::uint8_t> all(forward.size());
    for (std::size_t at = 0; at < all.size(); ++at) all[at] = forward[at] | backward[at];
    if (how == Symmetrization::kUnion) {
        forward = std::move(all);
        return;
    }
    const std::vector<std::uint8_t> first = forward;
    for (std::size_t at = 0; at < all.size(); ++at) forward[at] &= backward[at];
    if (how == Symmetrization::kIntersection) return;
    Grid grid(forward, sources, targets);
    grid.grow(all);
    if (how == Symmetrization::kGrowDiag) return;
    const bool both = how == Symmetrization::kGrowDiagFinalAnd;
    grid.finish(first, both);
    grid.finish(backward, both);
}

PairLinks link(const Pairs& pairs, const Parameters& parameters, Symmetrization how, float least, std::size_t threads,
               const Poll& poll) {
    struct Run {
        std::vector<Link> links;
        std::int64_t too_long = 0;
    };
    struct Thread {
        explicit Thread(const Parameters& parameters) : lattice(parameters) {}
        Lattice lattice;
        std::vector<std::uint8_t> forward, backward;
    };
    std::vector<Thread> states(std::max<std::size_t>(threads, 1), Thread(parameters));
    std::vector<Run> runs((pairs.size + kRunPairs - 1) / kRunPairs);
    PairLinks result;
    result.offsets.resize(pairs.size + 1);
    parallel_for(runs.size(), threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        Thread& state = states[thread];
        for (std::size_t at = run * kRunPairs; at < std::min((run + 1) * kRunPairs, pairs.size); ++at) {
            const Pair pair = pairs[at];
            if (pair.empty()) continue;
            if (pair.too_long()) {
                ++runs[run].too_long;
                continue;
            }
            state.lattice.look_up(pair);
            state.lattice.by_jumps(nullptr, nullptr);
            state.forward.assign(pair.sources * pair.targets, 0);
            state.backward.assign(pair.sources * pair.targets, 0);
            for_each_best(state.lattice.forward(), least,
                          [&](std::size_t j, std::size_t i) { state.forward[i * pair.targets + j] = 1; });
            for_each_best(state.lattice.backward(), least,
                          [&](std::size_t i, std::size_t j) { state.backward[i * pair.targets + j] = 1; });
            symmetrize(state.forward, state.backward, pair.sources, pair.targets, how);
            const std::size_t before = runs[run].links.size();
            for (std::size_t i = 0; i < pair.sources; ++i)
                for (std::size_t j = 0; j < pair.targets; ++j)
                    if (state.forward[i * pair.targets + j] != 0)
                        runs[run].links.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
            result.offsets[at + 1] = static_cast<std::int64_t>(runs[run].links.size() - before);
        }
    });
    for (std::size_t i = 0; i < pairs.size; ++i) result.offsets[i + 1] += result.offsets[i];
    result.links.reserve(static_cast<std::size_t>(result.offsets.back()));
    for (const Run& run : runs) {
        result.links.insert(result.links.end(), run.links.begin(), run.links.end());
        result.too_long += run.too_long;
    }
    return result;
}

}  // namespace nmt_prep::align
