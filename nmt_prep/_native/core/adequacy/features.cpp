#include "adequacy/features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

#include "align/marks.h"
#include "align/support.h"
#include "text/exp_log.h"
#include "text/parallel.h"

namespace nmt_prep::adequacy {
namespace {

using align::MarkKind;

constexpr std::size_t kRunPairs = 256;
constexpr double kLinked = 0.7;  // least value of both words of a link
constexpr double kUsual = 2;     // occurrences of the mean word that are added to those of each word
constexpr double kLeastRate = 1e-3;
constexpr double kTolerated = 0.5;  // deficit of a word that does not lengthen a gap
constexpr double kVeryLow = -2;
constexpr std::int32_t kUnlinked = -1;

// The words of a side of a pair that is judged.
struct SideView {
    const std::int32_t* words;
    const std::uint32_t* marks;
    std::size_t size;
};

// Judges pairs: values of words, and links between words that are each other's best counterpart.
class Linker {
   public:
    Linker(const align::Parameters& parameters, const align::Evidence& evidence) : support_(parameters, evidence) {}

    void judge(const align::Pair& pair, std::span<const align::Origin> origins) {
        support_.judge(pair, origins);
        source_values = support_.source_values();
        target_values = support_.target_values();
        source_links.assign(pair.sources, kUnlinked);
        target_links.assign(pair.targets, kUnlinked);
        source_best_.assign(pair.sources, 0);
        target_best_.assign(pair.targets, 0);
        for (const align::SupportedCell& cell : support_.cells()) {
            if (cell.count <= 0) continue;
            take_best(cell.backward, source_best_[cell.source], cell.target, source_links[cell.source]);
            take_best(cell.forward, target_best_[cell.target], cell.source, target_links[cell.target]);
        }
        const auto mutual = [](std::int32_t at, std::int32_t other, const std::vector<std::int32_t>& links) {
            return other != kUnlinked && links[static_cast<std::size_t>(other)] == at;
        };
        for (std::size_t i = 0; i < source_links.size(); ++i) {
            const std::int32_t j = source_links[i];
            const bool linked = mutual(static_cast<std::int32_t>(i), j, target_links) && source_values[i] > kLinked &&
                                target_values[static_cast<std::size_t>(j)] > kLinked;
            if (!linked) source_links[i] = kUnlinked;
        }
        for (std::size_t j = 0; j < target_links.size(); ++j)
            if (!mutual(static_cast<std::int32_t>(j), target_links[j], source_links)) target_links[j] = kUnlinked;
    }

    std::vector<double> source_values, target_values;
    std::vector<std::int32_t> source_links, target_links;  // positions on the other side, or kUnlinked

   private:
    static void take_best(float value, float& best, std::uint32_t at, std::int32_t& link) {
        if (value <= best) return;
        best = value;
        link = static_cast<std::int32_t>(at);
    }

    align::Support support_;
    std::vector<float> source_best_, target_best_;
};

std::int64_t fixed(double value) { return static_cast<std::int64_t>(value * static_cast<double>(align::kOne)); }

// Means over a text that are added to the sums of each word.
struct Means {
    explicit Means(const WordSums& sums) {
        std::int64_t values = 0;
        std::int64_t links = 0;
        std::int64_t counts = 0;
        for (std::size_t word = 0; word < sums.words; ++word) {
            values += sums.values[word];
            links += sums.links[word];
            counts += sums.counts[word];
        }
        const auto total = static_cast<double>(std::max<std::int64_t>(counts, 1));
        value = static_cast<double>(values) / static_cast<double>(align::kOne) / total;
        rate = static_cast<double>(links) / total;
    }
    double value, rate;
};

struct Gap {
    std::size_t begin = 0;
    std::size_t end = 0;
    double weight = 0;
};

double longer_by(std::size_t size) { return log(1.0 + static_cast<double>(size)); }

// The features of one side.
class SideJudge {
   public:
    SideJudge(const WordSums& sums, const float* shares) : sums_(sums), shares_(shares), means_(sums) {}

    void begin(const SideView& side) {
        side_ = side;
        own_.assign(side.size, {});
    }

    // Leaves out what a pair that was counted brought to the sums of its words.
    void leave_out(const std::int32_t* words, const std::vector<double>& values, const std::vector<std::int32_t>& links,
                   std::int64_t copies) {
        for (std::size_t at = 0; at < values.size(); ++at) {
            const std::int64_t value = copies * fixed(values[at]);
            const std::int64_t link = links[at] == kUnlinked ? 0 : copies;
            for (std::size_t i = 0; i < side_.size; ++i) {
                if (side_.words[i] != words[at]) continue;
                own_[i].value += value;
                own_[i].links += link;
                own_[i].count += copies;
            }
        }
    }

    // Writes the features; returns the widest gap.
    Gap write(const std::vector<double>& values, const std::vector<std::int32_t>& links, double* out) {
        const std::size_t n = side_.size;
        deficit_.resize(n);
        double surprise = 0;
        double sum = 0;
        double informed = 0;
        double deficits = 0;
        double squares = 0;
        double informed_deficits = 0;
        double information = 0;
        double unlinked = 0;
        double very_low = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto word = static_cast<std::size_t>(side_.words[i]);
            Own left{sums_.values[word] - own_[i].value, sums_.links[word] - own_[i].links,
                     sums_.counts[word] - own_[i].count};
            if (left.count <= 0) left = {};  // the pair was counted more often than its words were
            const double count = static_cast<double>(left.count) + kUsual;
            const double usual =
                static_cast<double>(left.value) / static_cast<double>(align::kOne) + kUsual * means_.value;
            const double rate = (static_cast<double>(left.links) + kUsual * means_.rate) / count;
            const bool linked = links[i] != kUnlinked;
            const double d = values[i] - usual / count;
            const double bits = -log(static_cast<double>(shares_[word]));
            deficit_[i] = d;
            surprise -= log(std::max(linked ? rate : 1 - rate, kLeastRate));
            sum += values[i];
            informed += bits * values[i];
            deficits += d;
            squares += d * d;
            informed_deficits += bits * d;
            information += bits;
            if (!linked) unlinked += bits;
            if (d < kVeryLow) very_low += 1;
        }
        const auto size = static_cast<double>(n);
        information = std::max(information, 1e-9);
        const double mean = deficits / size;
        const Gap gap = widest_gap();
        const std::size_t run = longest_run(links);
        const std::size_t part = std::min(std::max<std::size_t>(2, n / 4), n);
        const double values_out[kSideFeatures] = {
            sum / size,
            informed / information,
            mean,
            informed_deficits / information,
            surprise / size,
            unlinked / information,
            *std::ranges::min_element(deficit_),
            longer_by(run),
            static_cast<double>(run) / size,
            gap.weight,
            gap.weight / size,
            mean_of(0, part),
            mean_of(n - part, n),
            very_low / size,
            std::sqrt(std::max(squares / size - mean * mean, 0.0)),
        };
        std::ranges::copy(values_out, out);
        return gap;
    }

   private:
    struct Own {
        std::int64_t value = 0;
        std::int64_t links = 0;
        std::int64_t count = 0;
    };

    // The run of words whose deficits exceed what is tolerated by the greatest sum.
    Gap widest_gap() const {
        Gap widest;
        double weight = 0;
        std::size_t begin = 0;
        for (std::size_t i = 0; i < deficit_.size(); ++i) {
            if (weight <= 0) {
                weight = 0;
                begin = i;
            }
            weight -= deficit_[i] + kTolerated;
            if (weight > widest.weight) widest = {begin, i + 1, weight};
        }
        return widest;
    }

    static std::size_t longest_run(const std::vector<std::int32_t>& links) {
        std::size_t longest = 0;
        std::size_t run = 0;
        for (const std::int32_t link : links) {
            run = link == kUnlinked ? run + 1 : 0;
            longest = std::max(longest, run);
        }
        return longest;
    }

    double mean_of(std::size_t begin, std::size_t end) const {
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += deficit_[i];
        return sum / static_cast<double>(end - begin);
    }

    WordSums sums_;
    const float* shares_;
    Means means_;
    SideView side_{};
    std::vector<Own> own_;
    std::vector<double> deficit_;
};

// What the marks of a side say.
struct MarkSums {
    std::array<double, 16> kinds{};  // number of marks of each kind
    double characters = 0;
    MarkKind end = MarkKind::kWord;      // last mark that is not a quote or bracket
    std::vector<std::uint32_t> numbers;  // digits, in ascending order

    void fill(const SideView& side) {
        kinds.fill(0);
        characters = 0;
        end = MarkKind::kWord;
        numbers.clear();
        for (std::size_t i = 0; i < side.size; ++i) {
            const MarkKind kind = align::kind_of_mark(side.marks[i]);
            kinds[static_cast<std::size_t>(kind)] += 1;
            characters += align::characters_of_mark(side.marks[i]);
            if (kind == MarkKind::kNumber) numbers.push_back(align::digits_of_mark(side.marks[i]));
            if (kind != MarkKind::kQuote && kind != MarkKind::kBracket) end = kind;
        }
        if (end == MarkKind::kNumber) end = MarkKind::kWord;
        std::ranges::sort(numbers);
    }
    double of(MarkKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

std::size_t common(const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second) {
    std::size_t both = 0;
    for (auto a = first.begin(), b = second.begin(); a != first.end() && b != second.end();) {
        if (*a == *b) {
            ++both;
            ++a;
            ++b;
        } else if (*a < *b) {
            ++a;
        } else {
            ++b;
        }
    }
    return both;
}

class Judge {
   public:
    explicit Judge(const Context& context)
        : context_(context),
          linker_(context.parameters, context.evidence),
          origin_(context.parameters, context.evidence),
          source_(context.source, context.parameters.source_shares),
          target_(context.target, context.parameters.target_shares) {}

    // The marks are those of the uncut pair.
    void write(const align::Pair& whole, const std::uint32_t* source_marks, const std::uint32_t* target_marks,
               std::span<const align::Origin> origins, double* out, std::int32_t* gaps) {
        std::fill_n(out, kFeatures, 0.0);
        std::fill_n(gaps, 4, 0);
        if (whole.empty()) return;
        const align::Pair pair = align::Support::cut(whole);
        linker_.judge(pair, origins);
        const SideView source{pair.source, source_marks, pair.sources};
        const SideView target{pair.target, target_marks, pair.targets};
        source_.begin(source);
        target_.begin(target);
        for (const align::Origin& origin : origins) leave_out(whole, origin);
        const Gap first = source_.write(linker_.source_values, linker_.source_links, out);
        const Gap second = target_.write(linker_.target_values, linker_.target_links, out + kSideFeatures);
        write_joint(pair, out, out + 2 * kSideFeatures);
        write_lengths(source, target, out + 2 * kSideFeatures + 10);
        write_marks(out + 2 * kSideFeatures + 16);
        const std::size_t bounds[] = {first.begin, first.end, second.begin, second.end};
        std::transform(bounds, bounds + 4, gaps, [](std::size_t at) { return static_cast<std::int32_t>(at); });
    }

   private:
    void leave_out(const align::Pair& judged, const align::Origin& origin) {
        if (origin.copies <= 0 || origin.pair.empty()) return;
        const bool same = judged.source == origin.pair.source && judged.target == origin.pair.target &&
                          judged.sources == origin.pair.sources && judged.targets == origin.pair.targets;
        if (!same) origin_.judge(align::Support::cut(origin.pair), {&origin, 1});
        const Linker& known = same ? linker_ : origin_;
        source_.leave_out(origin.pair.source, known.source_values, known.source_links, origin.copies);
        target_.leave_out(origin.pair.target, known.target_values, known.target_links, origin.copies);
    }

    void write_joint(const align::Pair& pair, const double* sides, double* out) const {
        const std::vector<std::int32_t>& links = linker_.source_links;
        const auto m = static_cast<double>(pair.sources);
        const auto n = static_cast<double>(pair.targets);
        double count = 0;
        double crossed = 0;
        double compared = 0;
        double steps = 0;
        double far = 0;
        std::int32_t last = kUnlinked;
        for (std::size_t i = 0; i < links.size(); ++i) {
            if (links[i] == kUnlinked) continue;
            count += 1;
            far += std::abs((static_cast<double>(i) + 0.5) / m - (static_cast<double>(links[i]) + 0.5) / n);
            if (last != kUnlinked && std::abs(links[i] - last) == 1) steps += 1;
            last = links[i];
            for (std::size_t before = 0; before < i; ++before) {
                if (links[before] == kUnlinked) continue;
                compared += 1;
                if (links[before] > links[i]) crossed += 1;
            }
        }
        const double* const other = sides + kSideFeatures;
        const double values[] = {
            count / std::min(m, n),          count / std::max(m, n),        compared > 0 ? crossed / compared : 0.5,
            count > 0 ? steps / count : 0.0, count > 0 ? far / count : 0.3, sides[0] + other[0],
            std::max(sides[9], other[9]),    std::min(sides[6], other[6]),  std::min(sides[2], other[2]),
            std::max(sides[7], other[7]),
        };
        std::ranges::copy(values, out);
    }

    void write_lengths(const SideView& source, const SideView& target, double* out) {
        source_marks_.fill(source);
        target_marks_.fill(target);
        const auto m = static_cast<double>(source.size);
        const auto n = static_cast<double>(target.size);
        const double scale = std::sqrt(std::min(m, n));
        const double words = (log((m + 1) / (n + 1)) - context_.ratios.words) * scale;
        const double characters =
            (log((source_marks_.characters + 1) / (target_marks_.characters + 1)) - context_.ratios.characters) * scale;
        const double values[] = {log(1 + m),
                                 log(1 + n),
                                 std::max(words, 0.0),
                                 std::max(-words, 0.0),
                                 std::max(characters, 0.0),
                                 std::max(-characters, 0.0)};
        std::ranges::copy(values, out);
    }

    void write_marks(double* out) const {
        const MarkSums& a = source_marks_;
        const MarkSums& b = target_marks_;
        const auto difference = [&](MarkKind kind) { return a.of(kind) - b.of(kind); };
        const std::size_t both = common(a.numbers, b.numbers);
        const double stops =
            difference(MarkKind::kStop) + difference(MarkKind::kQuestion) + difference(MarkKind::kExclamation);
        const double values[] = {
            longer_by(a.numbers.size() - both),
            longer_by(b.numbers.size() - both),
            longer_by(both),
            a.end == b.end ? 0.0 : 1.0,
            std::abs(difference(MarkKind::kQuestion)),
            std::abs(difference(MarkKind::kExclamation)),
            difference(MarkKind::kComma) / std::sqrt(a.characters + b.characters + 1),
            std::abs(difference(MarkKind::kQuote)),
            std::abs(difference(MarkKind::kBracket)),
            std::abs(difference(MarkKind::kColon)),
            std::max(stops, 0.0),
            std::max(-stops, 0.0),
        };
        std::ranges::copy(values, out);
    }

    const Context& context_;
    Linker linker_, origin_;
    SideJudge source_, target_;
    MarkSums source_marks_, target_marks_;
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
    std::vector<Linker> linkers(workers, Linker(parameters, evidence));
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
    std::vector<Judge> judges;
    for (std::size_t thread = 0; thread < std::max<std::size_t>(threads, 1); ++thread) judges.emplace_back(context);
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
