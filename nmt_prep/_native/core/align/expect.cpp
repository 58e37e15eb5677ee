#include "align/expect.h"

#include <algorithm>
#include <deque>

#include "align/diagonal.h"
#include "align/lattice.h"
#include "align/sums.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunPairs = 256;
constexpr std::size_t kRunGroups = 8;

// Adds to the count of a slot. `alone` is true if no other thread adds; atomic additions are slow, since they wait for
// all reads.
void add(std::int64_t* cells, std::int64_t slot, float agreed, bool alone) {
    if (agreed < kLeastCounted) return;
    if (alone)
        cells[slot] += counted(agreed);
    else  // a built-in function of g++ and clang++, since older releases of libc++ lack std::atomic_ref
        __atomic_fetch_add(&cells[slot], counted(agreed), __ATOMIC_RELAXED);
}

void expect_near_diagonal(const Pairs& pairs, const Parameters& parameters, Expected& expected, std::size_t threads,
                          const Poll& poll) {
    std::deque<DiagonalLinks> links;
    while (links.size() < threads) links.emplace_back(parameters);
    const std::size_t runs = (pairs.size + kRunPairs - 1) / kRunPairs;
    parallel_for(runs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t at = run * kRunPairs; at < std::min((run + 1) * kRunPairs, pairs.size); ++at) {
            const Pair pair = pairs[at];
            if (pair.empty() || pair.too_long()) continue;
            for (const AgreedCell& cell : links[thread].of(pair))
                add(expected.cells, cell.slot, cell.agreed, threads == 1);
        }
    });
}

void expect_by_jumps(const Pairs& pairs, const Parameters& parameters, Expected& expected, std::size_t threads,
                     const Poll& poll) {
    struct Thread {
        explicit Thread(const Parameters& parameters) : lattice(parameters) {}
        Lattice lattice;
        std::array<std::int64_t, kJumps + 1> forward{}, backward{};
    };
    std::deque<Thread> states;
    while (states.size() < threads) states.emplace_back(parameters);
    const Groups groups = groups_of(pairs);
    parallel_for((groups.size() + kRunGroups - 1) / kRunGroups, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        Thread& state = states[thread];
        for (std::size_t at = run * kRunGroups; at < std::min((run + 1) * kRunGroups, groups.size()); ++at) {
            state.lattice.look_up(pairs, groups[at]);
            state.lattice.solve_forward(state.forward.data());
            state.lattice.solve_backward(state.backward.data());
            state.lattice.for_each_agreed(
                [&](std::int64_t slot, float agreed) { add(expected.cells, slot, agreed, threads == 1); });
        }
    });
    for (const Thread& state : states) {
        for (std::size_t d = 0; d <= kJumps; ++d) expected.forward[d] += state.forward[d];
        for (std::size_t d = 0; d <= kJumps; ++d) expected.backward[d] += state.backward[d];
    }
}

}  // namespace

void expect(const Pairs& pairs, const Parameters& parameters, Step step, Expected& expected, std::size_t threads,
            const Poll& poll) {
    threads = std::max<std::size_t>(threads, 1);
    if (step == Step::kNearDiagonal)
        expect_near_diagonal(pairs, parameters, expected, threads, poll);
    else
        expect_by_jumps(pairs, parameters, expected, threads, poll);
}

PairCounts counts_by_pair(const Pairs& pairs, const Parameters& parameters, const Poll& poll) {
    PairCounts result;
    DiagonalLinks links(parameters);
    for (std::size_t at = 0; at < pairs.size; ++at) {
        if (at % kRunPairs == 0) poll();
        const Pair pair = pairs[at];
        if (!pair.empty() && !pair.too_long())
            for (const AgreedCell& cell : links.of(pair)) {
                if (cell.agreed < kLeastCounted) continue;
                result.source.push_back(pair.source[cell.source]);
                result.target.push_back(pair.target[cell.target]);
                result.counts.push_back(static_cast<float>(counted(cell.agreed)) / static_cast<float>(kOne));
            }
        result.offsets.push_back(static_cast<std::int64_t>(result.source.size()));
    }
    return result;
}

}  // namespace nmt_prep::align
