#include "align/links.h"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "align/lattice.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunGroups = 8;

// The grid of links of a pair while it grows.
class Grid {
   public:
    Grid(std::vector<std::uint8_t>& links, std::size_t sources, std::size_t targets)
        : links_(links), sources_(sources), targets_(targets), source_linked_(sources), target_linked_(targets) {
        for (std::size_t i = 0; i < sources; ++i)
            for (std::size_t j = 0; j < targets; ++j)
                if (links[i * targets + j] != 0) source_linked_[i] = target_linked_[j] = 1;
    }

    // Adds links of the union next to existing links if one of their words is not linked yet, until no more can be
    // added.
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

    // Adds links of a direction if one of their words is not linked yet, or with `both` neither word.
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

// Links the words of pair groups; reuses its memory.
class Linker {
   public:
    Linker(const Parameters& parameters, Symmetrization how) : lattice_(parameters), how_(how) {}

    // Appends the links of a group's pairs to links, and sets their numbers in sizes.
    void link(const Pairs& pairs, std::span<const std::uint32_t> group, std::vector<Link>& links,
              std::vector<std::uint32_t>& sizes) {
        lattice_.look_up(pairs, group);
        lattice_.solve_forward(nullptr);
        forward_ = lattice_.choices();
        lattice_.solve_backward(nullptr);
        const std::vector<std::int32_t>& backward = lattice_.choices();
        const std::size_t lanes = lattice_.lanes();
        for (std::size_t lane = 0; lane < group.size(); ++lane) {
            const Pair& pair = lattice_.pairs()[lane];
            const std::size_t n = pair.targets;
            grid_.assign(pair.sources * n, 0);
            other_.assign(pair.sources * n, 0);
            for (std::size_t j = 0; j < n; ++j)
                if (const std::int32_t i = forward_[j * lanes + lane]; i != kNoState)
                    grid_[static_cast<std::size_t>(i) * n + j] = 1;
            for (std::size_t i = 0; i < pair.sources; ++i)
                if (const std::int32_t j = backward[i * lanes + lane]; j != kNoState)
                    other_[i * n + static_cast<std::size_t>(j)] = 1;
            symmetrize(grid_, other_, pair.sources, n, how_);
            const std::size_t before = links.size();
            for (std::size_t i = 0; i < pair.sources; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    if (grid_[i * n + j] != 0)
                        links.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
            sizes[group[lane]] = static_cast<std::uint32_t>(links.size() - before);
        }
    }

   private:
    Lattice lattice_;
    Symmetrization how_;
    std::vector<std::int32_t> forward_;
    std::vector<std::uint8_t> grid_, other_;
};

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

PairLinks link(const Pairs& pairs, const Parameters& parameters, Symmetrization how, std::size_t threads,
               const Poll& poll) {
    const Groups groups = groups_of(pairs);
    threads = std::clamp<std::size_t>(threads, 1, groups.size() / kRunGroups + 1);
    std::vector<std::vector<Link>> found(groups.size());  // the links of each group
    std::vector<std::uint32_t> sizes(pairs.size);
    std::deque<Linker> linkers;
    while (linkers.size() < threads) linkers.emplace_back(parameters, how);
    parallel_for((groups.size() + kRunGroups - 1) / kRunGroups, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t at = run * kRunGroups; at < std::min((run + 1) * kRunGroups, groups.size()); ++at)
            linkers[thread].link(pairs, groups[at], found[at], sizes);
    });

    PairLinks result;
    result.offsets.resize(pairs.size + 1);
    for (std::size_t i = 0; i < pairs.size; ++i) {
        result.offsets[i + 1] = result.offsets[i] + sizes[i];
        result.too_long += !pairs[i].empty() && pairs[i].too_long();
    }
    result.links.resize(static_cast<std::size_t>(result.offsets.back()));
    for (std::size_t group = 0; group < groups.size(); ++group) {
        const Link* at = found[group].data();
        for (const std::uint32_t pair : groups[group]) {
            std::copy_n(at, sizes[pair], result.links.data() + result.offsets[pair]);
            at += sizes[pair];
        }
    }
    return result;
}

}  // namespace nmt_prep::align
