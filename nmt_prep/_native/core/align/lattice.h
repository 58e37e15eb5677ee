// Probabilities of links by hidden Markov models over jumps, for several pairs of lines at a time, in both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "align/pairs.h"
#include "align/parameters.h"

namespace nmt_prep::align {

// Pair groups of similar sizes, to be computed together, the largest first: group g has order[bounds[g], bounds[g +
// 1]). Pairs with an empty side, and pairs that are too long, are in no group.
struct Groups {
    std::vector<std::uint32_t> order;
    std::vector<std::size_t> bounds;

    std::size_t size() const { return bounds.size() - 1; }
    std::span<const std::uint32_t> operator[](std::size_t group) const {
        return {order.data() + bounds[group], bounds[group + 1] - bounds[group]};
    }
};
Groups groups_of(const Pairs& pairs);

// Words of a pair in the group that have a cell, and its slot.
struct Known {
    std::uint32_t lane;  // index of the pair in its group
    std::uint32_t source;
    std::uint32_t target;
    float linked;  // the probability that the target word is linked to the source word
    std::int64_t slot;
};

// Computes posteriors; reuses its memory from group to group.
class Lattice {
   public:
    explicit Lattice(const Parameters& parameters) : parameters_(parameters) {}

    // Looks up the cells for a group of pairs.
    void look_up(const Pairs& pairs, std::span<const std::uint32_t> group);
    std::span<const Pair> pairs() const { return pairs_; }

    // Compute posteriors of target words with source words as states, and the reverse; solve_forward comes first.
    // Unless `counts` is null, they add the expected jump count for each width, and for wider jumps (the last
    // element), as multiples of kOne.
    void solve_forward(std::int64_t* counts);
    void solve_backward(std::int64_t* counts);

    // Calls found(slot, probability that both directions link the words). Requires that both directions are solved.
    template <class Found>
    void for_each_agreed(Found&& found) const {
        for (const Known& cell : known_) found(cell.slot, cell.linked * posterior(cell.source, cell.target, cell.lane));
    }

    // Posterior in the direction that was solved last.
    float posterior(std::size_t step, std::size_t state, std::size_t lane) const {
        return models_.posterior[(step * models_.states + state) * models_.lanes + lane];
    }
    // The most probable state of each step in the direction that was solved last, or kNoState: [steps][lanes].
    const std::vector<std::int32_t>& choices();
    std::size_t lanes() const { return models_.lanes; }

   private:
    // A row of floats for all lanes, aligned for vectors.
    struct alignas(4 * kLanes) Row {
        float values[kLanes];
    };
    // Memory for arrays of values for all lanes.
    class Rows {
       public:
        float* resized(std::size_t values) {
            const std::size_t rows = (values + kLanes - 1) / kLanes;
            if (rows_.size() < rows) rows_.resize(rows);
            return rows_.data()->values;
        }

       private:
        std::vector<Row> rows_;
    };
    struct Direction {
        std::size_t steps = 0;
        std::size_t states = 0;
        std::uint32_t step_sizes[kLanes]{};
        std::uint32_t state_sizes[kLanes]{};
        Rows emissions, nulls;
        float* emission = nullptr;
        float* null = nullptr;
    };

    void prepare(Direction& direction, bool forward);
    void solve(Direction& direction, const Jumps& jumps, std::int64_t* counts);
    void fill_jumps(const Direction& direction, const Jumps& jumps, float* first, float* inverse) const;

    const Parameters& parameters_;
    std::vector<Pair> pairs_;
    std::vector<Known> known_;
    CellFinder finder_;
    Direction forward_, backward_;
    Rows first_, inverse_, posterior_, current_, scratch_;
    Row widths_[kJumps]{};
    Row jumped_{};
    std::vector<std::int32_t> choices_;
    Models models_{};
};

}  // namespace nmt_prep::align
