#include "adequacy/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <span>
#include <vector>

#include "adequacy/links.h"
#include "align/support.h"
#include "text/parallel.h"

namespace nmt_prep::adequacy {
namespace {

constexpr std::size_t kRunPairs = 256;

bool equal(const std::int32_t* first, std::size_t size, const std::int32_t* second, std::size_t other) {
    return size == other && (first == second || std::equal(first, first + size, second));
}

// Computes the features of pairs; reuses its memory from pair to pair.
class Judge {
   public:
    Judge(const Context& context, const UsualWords& source, const UsualWords& target)
        : linker_(context.parameters, context.evidence),
          origin_(context.parameters, context.evidence),
          source_(source),
          target_(target),
          texts_(context.ratios) {}

    // The marks belong to the uncut pair.
    void write(const align::Pair& whole, const std::uint32_t* source_marks, const std::uint32_t* target_marks,
               std::span<const align::Origin> origins, double* out, std::int32_t* gaps) {
        std::fill_n(out, kFeatures, 0.0);
        std::fill_n(gaps, 4, 0);
        if (whole.empty()) return;
        const align::Pair pair = align::Support::cut(whole);
        linker_.judge(pair, origins);
        source_.begin(pair.source, pair.sources);
        target_.begin(pair.target, pair.targets);
        for (const align::Origin& origin : origins) leave_out(whole, origin);
        const Gap first = source_.write(linker_.source_values, linker_.source_links, out);
        const Gap second = target_.write(linker_.target_values, linker_.target_links, out + kSideFeatures);
        write_joint(pair, out, out + 2 * kSideFeatures);
        texts_.write({source_marks, pair.sources}, {target_marks, pair.targets},
                     out + 2 * kSideFeatures + kJointFeatures);
        const std::size_t bounds[] = {first.begin, first.end, second.begin, second.end};
        std::transform(bounds, bounds + 4, gaps, [](std::size_t at) { return static_cast<std::int32_t>(at); });
    }

   private:
    void leave_out(const align::Pair& judged, const align::Origin& origin) {
        if (origin.copies <= 0 || origin.pair.empty()) return;
        const bool same = equal(judged.source, judged.sources, origin.pair.source, origin.pair.sources) &&
                          equal(judged.target, judged.targets, origin.pair.target, origin.pair.targets);
        if (!same) origin_.judge(align::Support::cut(origin.pair), {&origin, 1});
        const Linker& known = same ? linker_ : origin_;
        source_.leave_out(origin.pair.source, known.source_values, known.source_links, origin.copies);
        target_.leave_out(origin.pair.target, known.target_values, known.target_links, origin.copies);
    }

    void write_joint(const align::Pair& pair, const double* sides, double* out) {
        const std::vector<std::int32_t>& links = linker_.source_links;
        const auto m = static_cast<double>(pair.sources);
        const auto n = static_cast<double>(pair.targets);
        std::int32_t crossed = 0;
        double steps = 0;
        double far = 0;
        linked_.clear();
        for (std::size_t i = 0; i < links.size(); ++i) {
            const std::int32_t link = links[i];
            if (link == kUnlinked) continue;
            far += std::abs((static_cast<double>(i) + 0.5) / m - (static_cast<double>(link) + 0.5) / n);
            if (!linked_.empty() && std::abs(link - linked_.back()) == 1) steps += 1;
            for (const std::int32_t before : linked_) crossed += before > link ? 1 : 0;
            linked_.push_back(link);
        }
        const auto count = static_cast<double>(linked_.size());
        const double compared = count * (count - 1) / 2;
        const double* const other = sides + kSideFeatures;
        const double values[kJointFeatures] = {
            count / std::min(m, n),
            count / std::max(m, n),
            compared > 0 ? static_cast<double>(crossed) / compared : 0.5,
            count > 0 ? steps / count : 0.0,
            count > 0 ? far / count : 0.3,
            sides[kValue] + other[kValue],
            std::max(sides[kGap], other[kGap]),
            std::min(sides[kWorstWord], other[kWorstWord]),
            std::min(sides[kDeficit], other[kDeficit]),
            std::max(sides[kUnlinkedRun], other[kUnlinkedRun]),
        };
        std::ranges::copy(values, out);
    }

    Linker linker_, origin_;
    SideJudge source_, target_;
    TextJudge texts_;
    std::vector<std::int32_t> linked_;  // the links of the source, without kUnlinked
};

// Calls body(pair, thread) for the numbers of all pairs, in runs.
template <class Body>
void for_each_pair(std::size_t pairs, std::size_t threads, const Poll& poll, Body&& body) {
    parallel_for((pairs + kRunPairs - 1) / kRunPairs, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        for (std::size_t at = run * kRunPairs; at < std::min((run + 1) * kRunPairs, pairs); ++at) body(at, thread);
    });
}

// Private sums of a thread.
struct HeldSums {
    explicit HeldSums(std::size_t words) : values(words), links(words), counts(words) {}

    void add(const std::int32_t* words, const std::vector<double>& of, const std::vector<std::int32_t>& linked) {
        for (std::size_t i = 0; i < of.size(); ++i) {
            const auto word = static_cast<std::size_t>(words[i]);
            values[word] += fixed(of[i]);
            links[word] += linked[i] == kUnlinked ? 0 : 1;
            counts[word] += 1;
        }
    }
    void add_to(const WordSums& sums) const {
        for (std::size_t word = 0; word < sums.words; ++word) {
            sums.values[word] += values[word];
            sums.links[word] += links[word];
            sums.counts[word] += counts[word];
        }
    }
    std::vector<std::int64_t> values, links, counts;
};

}  // namespace

void count_words(const align::Pairs& pairs, const std::int64_t* copies, const align::Parameters& parameters,
                 const align::Evidence& evidence, const WordSums& source, const WordSums& target, std::size_t threads,
                 const Poll& poll) {
    const std::size_t workers = std::max<std::size_t>(threads, 1);
    std::deque<Linker> linkers;
    while (linkers.size() < workers) linkers.emplace_back(parameters, evidence);
    std::vector<HeldSums> sources(workers, HeldSums(source.words));
    std::vector<HeldSums> targets(workers, HeldSums(target.words));
    for_each_pair(pairs.size, threads, poll, [&](std::size_t at, std::size_t thread) {
        if (pairs[at].empty()) return;
        const align::Pair pair = align::Support::cut(pairs[at]);
        const align::Origin itself{pairs[at], copies[at]};
        Linker& linker = linkers[thread];
        linker.judge(pair, {&itself, 1});
        sources[thread].add(pair.source, linker.source_values, linker.source_links);
        targets[thread].add(pair.target, linker.target_values, linker.target_links);
    });
    for (const HeldSums& sums : sources) sums.add_to(source);
    for (const HeldSums& sums : targets) sums.add_to(target);
}

void features(const MarkedPairs& judged, const Origins& origins, const Context& context, double* out,
              std::int32_t* gaps, std::size_t threads, const Poll& poll) {
    const UsualWords source(context.source, context.parameters.source_shares);
    const UsualWords target(context.target, context.parameters.target_shares);
    std::deque<Judge> judges;
    while (judges.size() < std::max<std::size_t>(threads, 1)) judges.emplace_back(context, source, target);
    const align::Pairs& pairs = judged.pairs;
    for_each_pair(pairs.size, threads, poll, [&](std::size_t at, std::size_t thread) {
        std::array<align::Origin, 2> known;
        std::size_t some = 0;
        const auto add = [&](std::size_t place) { known[some++] = {origins.sample[place], origins.copies[place]}; };
        if (origins.places == nullptr) {
            add(at);
        } else {
            const std::int32_t* const places = origins.places + 2 * at;
            if (places[0] >= 0) add(static_cast<std::size_t>(places[0]));
            if (places[1] >= 0 && places[1] != places[0]) add(static_cast<std::size_t>(places[1]));
        }
        judges[thread].write(pairs[at], judged.source_marks + pairs.source_offsets[at],
                             judged.target_marks + pairs.target_offsets[at], {known.data(), some}, out + kFeatures * at,
                             gaps + 4 * at);
    });
}

}  // namespace nmt_prep::adequacy
