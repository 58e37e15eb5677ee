#include "align/expect.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "align/sums.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunPairs = 256;

}  // namespace

void expect(const Pairs& pairs, const Parameters& parameters, Step step, Expected& expected, std::size_t threads,
            const Poll& poll) {
    struct Thread {
        explicit Thread(const Parameters& parameters) : lattice(parameters) {}
        Lattice lattice;
        std::array<std::int64_t, kJumps + 1> forward{}, backward{};
    };
    std::vector<Thread> states(std::max<std::size_t>(threads, 1), Thread(parameters));
    const std::size_t runs = (pairs.size + kRunPairs - 1) / kRunPairs;
    parallel_for(runs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        Thread& state = states[thread];
        Lattice& lattice = state.lattice;
        for (std::size_t at = run * kRunPairs; at < std::min((run + 1) * kRunPairs, pairs.size); ++at) {
            const Pair pair = pairs[at];
            if (pair.empty() || pair.too_long()) continue;
            lattice.look_up(pair);
            if (step == Step::kDiagonal)
                lattice.by_diagonal();
            else
                lattice.by_jumps(state.forward.data(), state.backward.data());
            for (const Known& cell : lattice.known()) {
                const float agreed = lattice.agreed(cell.source, cell.target);
                if (agreed < kLeastCounted) continue;
                std::atomic_ref(expected.cells[cell.slot]).fetch_add(counted(agreed), std::memory_order_relaxed);
            }
        }
    });
    for (const Thread& state : states) {
        for (std::size_t d = 0; d <= kJumps; ++d) expected.forward[d] += state.forward[d];
        for (std::size_t d = 0; d <= kJumps; ++d) expected.backward[d] += state.backward[d];
    }
}

Totals totals_of(const Table& table, std::size_t columns, const std::int64_t* counts) {
    Totals totals{std::vector<std::int64_t>(table.rows()), std::vector<std::int64_t>(columns)};
    for (std::size_t row = 0; row < table.rows(); ++row) {
        for (auto at = static_cast<std::size_t>(table.first()[row]); std::cmp_less(at, table.first()[row + 1]); ++at) {
            const std::int32_t target = table.slots()[at].target;
            if (target == kFree) continue;
            totals.rows[row] += counts[at];
            totals.columns[static_cast<std::size_t>(target)] += counts[at];
        }
    }
    return totals;
}

void reestimate(Table& table, std::size_t columns, const std::int64_t* counts) {
    const Totals totals = totals_of(table, columns, counts);
    const auto inverses = [&](const std::vector<std::int64_t>& sums) {
        std::vector<double> inverse(sums.size());
        for (std::size_t i = 0; i < sums.size(); ++i) inverse[i] = sums[i] == 0 ? 0 : 1 / static_cast<double>(sums[i]);
        return inverse;
    };
    const std::vector<double> rows = inverses(totals.rows);
    const std::vector<double> of_columns = inverses(totals.columns);
    for (std::size_t row = 0; row < table.rows(); ++row) {
        for (auto at = static_cast<std::size_t>(table.first()[row]); std::cmp_less(at, table.first()[row + 1]); ++at) {
            Cell& cell = table.slots()[at];
            if (cell.target == kFree) continue;
            const auto share = static_cast<double>(counts[at]);
            cell.forward = static_cast<float>(share * rows[row]);
            cell.backward = static_cast<float>(share * of_columns[static_cast<std::size_t>(cell.target)]);
        }
    }
}

}  // namespace nmt_prep::align
