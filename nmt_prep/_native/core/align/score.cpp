#include "align/score.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <vector>

#include "align/support.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunPairs = 256;

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double score_of(Support& support, const Pair& pair, std::int64_t own) {
    if (pair.empty()) return std::numeric_limits<double>::quiet_NaN();
    const Origin itself{pair, own};
    support.judge(Support::cut(pair), {&itself, 1});
    return mean(support.target_values()) + mean(support.source_values());
}

}  // namespace

void score(const Pairs& pairs, const Parameters& parameters, const Evidence& evidence, const std::int64_t* own,
           double* scores, std::size_t threads, const Poll& poll) {
    std::deque<Support> supports;
    while (supports.size() < std::max<std::size_t>(threads, 1)) supports.emplace_back(parameters, evidence);
    const std::size_t runs = (pairs.size + kRunPairs - 1) / kRunPairs;
    parallel_for(runs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t at = run * kRunPairs; at < std::min((run + 1) * kRunPairs, pairs.size); ++at)
            scores[at] = score_of(supports[thread], pairs[at], own == nullptr ? 0 : own[at]);
    });
}

}  // namespace nmt_prep::align
