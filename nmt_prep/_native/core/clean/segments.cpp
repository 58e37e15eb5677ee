#include "clean/segments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_set>

#include "clean/grams.h"
#include "clean/keys.h"
#include "clean/segment_tables.h"
#include "text/errors.h"
#include "text/huge_pages.h"

namespace nmt_prep::clean {
namespace {

constexpr double kRounding = 1e-9;

struct LineKeys {
    Key normalized;
    Key exact;
};

Key pair_key(const Key& a, const Key& b) {
    const std::array<Key, 2> ordered = a < b ? std::array{a, b} : std::array{b, a};
    Key key;
    pair_keys(&ordered[0], &ordered[1], 1, &key);
    return key;
}

void make_unique(std::vector<std::uint64_t>& grams) {
    std::ranges::sort(grams);
    const auto rest = std::ranges::unique(grams);
    grams.erase(rest.begin(), rest.end());
}

std::size_t needed_grams(std::size_t grams, double coverage) {
    const double needed = std::ceil(coverage * static_cast<double>(grams) - kRounding);
    return std::max<std::size_t>(static_cast<std::size_t>(std::max(needed, 0.0)), 1);
}

// Normalizes lines, and computes their keys and n-grams.
class Analysis {
   public:
    LineKeys keys(const TextView& text, std::size_t line) {
        normal_.normalize_words(text, line);
        return {normalized_key(normal_, text, line), hash_key(text.line(line), text.size(line))};
    }
    // Finds the n-grams of the line that keys() was called for.
    const Grams& grams() {
        grams_.find(normal_);
        return grams_;
    }

   private:
    KeyText normal_;
    Grams grams_;
};

}  // namespace

class SegmentTables {
   public:
    SegmentTables(const TextView& first, const TextView& second, double coverage)
        : coverage_(coverage), exact_(2 * first.lines), keys_(2 * first.lines), starts_{0} {
        if (first.lines != second.lines || first.lines > kMostSegments)
            throw InvalidTextError("the sides of the segments have different numbers of lines, or too many");
        const std::array<const TextView*, 2> sides = {&first, &second};
        Analysis analysis;
        for_each_line(sides, [&](LineNumber line, const TextView& text, std::size_t segment) {
            const LineKeys found = analysis.keys(text, segment);
            exact_[line] = found.exact;
            keys_[line] = found.normalized;
            lines_.add(found.normalized, line);
        });
        for (std::size_t segment = 0; segment < first.lines; ++segment)
            if (first.size(segment) > 0 && second.size(segment) > 0)
                pairs_.add(pair_key(keys_[2 * segment], keys_[2 * segment + 1]), static_cast<std::uint32_t>(segment));
        lines_.build();
        pairs_.build();
        if (coverage_ > 1) return;
        for_each_line(sides, [&](LineNumber line, const TextView& text, std::size_t segment) {
            starts_.resize(line + 1, grams_.size());
            // If lines have the same key, the first of them is enough.
            if (lines_.find(keys_[line]).front().number == line) add_grams(analysis, text, segment);
        });
        starts_.resize(2 * first.lines + 1, grams_.size());
        choose_grams();
        rare_.build();
    }

    double coverage() const { return coverage_; }
    // The key of the bytes of both sides of a segment.
    Key exact_pair(std::uint32_t segment) const {
        return pair_key(exact_[std::size_t{2} * segment], exact_[std::size_t{2} * segment + 1]);
    }
    Key normalized(LineNumber line) const { return keys_[line]; }
    // Lines by normalized key.
    const KeyTable& lines() const { return lines_; }
    // Segments by the normalized keys of both sides.
    const KeyTable& pairs() const { return pairs_; }
    // The rarest n-grams of each line.
    const GramTable& rare() const { return rare_; }
    // Returns the distinct n-grams of a line, in ascending order. Lines that are too short to be covered, and repeated
    // lines, have none.
    std::span<const std::uint64_t> grams(LineNumber line) const {
        return {grams_.data() + starts_[line], starts_[line + 1] - starts_[line]};
    }

   private:
    static constexpr std::size_t kMostSegments = (std::size_t{1} << 31) - 1;

    template <class Each>
    static void for_each_line(const std::array<const TextView*, 2>& sides, Each&& each) {
        for (std::size_t segment = 0; segment < sides[0]->lines; ++segment)
            for (const std::size_t side : {0, 1})
                if (sides[side]->size(segment) > 0)
                    each(static_cast<LineNumber>(2 * segment + side), *sides[side], segment);
    }

    void add_grams(Analysis& analysis, const TextView& text, std::size_t segment) {
        analysis.keys(text, segment);
        const Grams& grams = analysis.grams();
        if (grams.letters() < kLongEnough) return;
        std::vector<std::uint64_t> hashes = grams.hashes();
        make_unique(hashes);
        if (hashes.size() >= kFewestGrams) grams_.insert(grams_.end(), hashes.begin(), hashes.end());
    }

    // Enters the rarest n-grams of each line into the table, as many as needed so that a line without any of them
    // cannot cover it.
    void choose_grams() {
        std::vector<std::uint32_t> counts(std::bit_ceil(grams_.size() + 1));  // n-grams may share a counter
        const auto count = [&](std::uint64_t gram) -> std::uint32_t& { return counts[gram & (counts.size() - 1)]; };
        for (const std::uint64_t gram : grams_) ++count(gram);
        std::vector<std::uint64_t> rarest;
        for (LineNumber line = 0; line + 1 < starts_.size(); ++line) {
            const std::span<const std::uint64_t> own = grams(line);
            if (own.empty()) continue;
            rarest.assign(own.begin(), own.end());
            const std::size_t lacking = own.size() - needed_grams(own.size(), coverage_);
            const std::uint64_t bits = signature(own);
            std::ranges::nth_element(rarest, rarest.begin() + static_cast<std::ptrdiff_t>(lacking),
                                     [&](std::uint64_t a, std::uint64_t b) {
                                         return count(a) < count(b) || (count(a) == count(b) && a < b);
                                     });
            for (std::size_t i = 0; i <= lacking; ++i) rare_.add(rarest[i], line, bits, lacking);
        }
    }

    double coverage_;
    LargeVector<Key> exact_;  // hash of each line's bytes
    LargeVector<Key> keys_;   // hash of the normalized text of each line
    KeyTable lines_;
    KeyTable pairs_;
    GramTable rare_;
    LargeVector<std::uint64_t> grams_;  // n-grams of one line after another
    LargeVector<std::uint64_t> starts_;
};

namespace {

// The closest match of a pair so far.
struct Closest {
    std::int64_t segment = -1;
    Match kind = Match::kNone;
    double share = 0;

    void offer(std::uint32_t other, Match how, double part) {
        const bool closer = kind == Match::kNone || how < kind ||
                            (how == kind && (part > share || (part == share && std::int64_t{other} < segment)));
        if (closer) *this = {other, how, part};
    }
};

// The scratch space and the results of one search.
class Search {
   public:
    explicit Search(const SegmentTables& tables) : tables_(tables) {}

    // The pairs from `first` to `last`. All are analysed and their table entries fetched before one is looked up.
    void pairs(const TextView& source, const TextView& target, std::size_t first, std::size_t last) {
        pairs_.clear();
        hashes_.clear();
        present_.clear();
        for (std::size_t pair = first; pair < last; ++pair) analyse(source, target, pair);
        for (Pair& pair : pairs_) filter(pair);
        for (const Pair& pair : pairs_)
            for (const Line& line : pair.lines) tables_.rare().prefetch_entries(line.present.of(present_));
        for (const Pair& pair : pairs_) look_up(pair);
    }

    SegmentMatches end() {
        std::vector<SegmentMatch>& found = matches_.found;
        std::ranges::sort(found, [](const SegmentMatch& a, const SegmentMatch& b) {
            return a.segment < b.segment || (a.segment == b.segment && a.kind < b.kind);
        });
        const auto rest = std::ranges::unique(found, {}, &SegmentMatch::segment);
        found.erase(rest.begin(), rest.end());
        return std::move(matches_);
    }

   private:
    // A part of a list of n-grams.
    struct Part {
        std::size_t first = 0;
        std::size_t count = 0;
        std::span<const std::uint64_t> of(const std::vector<std::uint64_t>& grams) const {
            return {grams.data() + first, count};
        }
    };

    struct Line {
        LineKeys keys{};
        bool there = false;
        bool long_enough = false;
        std::uint64_t bits = 0;  // signature of the n-grams
        Part hashes;             // all n-grams
        Part present;            // n-grams that some line of the segments may have
    };

    struct Pair {
        std::array<Line, 2> lines;
        Key key{};  // hash of both sides
    };

    void analyse(const TextView& source, const TextView& target, std::size_t number) {
        const std::array<const TextView*, 2> sides = {&source, &target};
        Pair& pair = pairs_.emplace_back();
        for (const std::size_t side : {0, 1}) {
            if (sides[side]->size(number) == 0) continue;
            Line& line = pair.lines[side];
            line.there = true;
            line.keys = analysis_.keys(*sides[side], number);
            const Grams& grams = analysis_.grams();
            line.long_enough = grams.letters() >= kLongEnough;
            if (!line.long_enough) continue;
            tables_.lines().prefetch_slot(line.keys.normalized);
            if (tables_.coverage() > 1) continue;
            line.hashes = {hashes_.size(), grams.hashes().size()};
            line.bits = signature(grams.hashes());
            hashes_.insert(hashes_.end(), grams.hashes().begin(), grams.hashes().end());
            tables_.rare().prefetch(grams.hashes());
        }
        if (!pair.lines[0].there || !pair.lines[1].there) return;
        pair.key = pair_key(pair.lines[0].keys.normalized, pair.lines[1].keys.normalized);
        tables_.pairs().prefetch_slot(pair.key);
    }

    void filter(Pair& pair) {
        for (Line& line : pair.lines) {
            line.present.first = present_.size();
            tables_.rare().add_present(line.hashes.of(hashes_), present_);
            line.present.count = present_.size() - line.present.first;
            if (line.long_enough) tables_.lines().prefetch_entry(line.keys.normalized);
        }
        if (pair.lines[0].there && pair.lines[1].there) tables_.pairs().prefetch_entry(pair.key);
    }

    void look_up(const Pair& pair) {
        Closest closest;
        for (const Line& line : pair.lines)
            if (line.long_enough) one_side(line, closest);
        if (pair.lines[0].there && pair.lines[1].there) both_sides(pair, closest);
        matches_.closest.push_back(closest.segment);
        matches_.kinds.push_back(static_cast<std::uint8_t>(closest.kind));
        matches_.shares.push_back(closest.share);
    }

    void both_sides(const Pair& pair, Closest& closest) {
        const Key& key = pair.key;
        const Key exact = pair_key(pair.lines[0].keys.exact, pair.lines[1].keys.exact);
        const auto segments = tables_.pairs().find(key);
        const auto kind = [&](std::uint32_t segment) {
            return tables_.exact_pair(segment) == exact ? Match::kExact : Match::kPair;
        };
        if (segments.size() > kManyLines && !visited_.insert(key.low ^ exact.high).second) {
            // All segments were recorded for an earlier pair; only the closest one is needed.
            const auto equal =
                std::ranges::find(segments, Match::kExact, [&](const auto& e) { return kind(e.number); });
            const auto best = equal == segments.end() ? segments.begin() : equal;
            return closest.offer(best->number, kind(best->number), 1.0);
        }
        for (const auto& entry : segments) note(entry.number, kind(entry.number), 1.0, closest);
    }

    void one_side(const Line& line, Closest& closest) {
        same_lines(line.keys.normalized, Match::kSide, 1.0, closest);
        candidates_.clear();
        tables_.rare().find(line.present.of(present_), line.bits, candidates_);
        if (candidates_.empty()) return;
        std::ranges::sort(candidates_);
        const auto rest = std::ranges::unique(candidates_);
        candidates_.erase(rest.begin(), rest.end());
        const std::span<const std::uint64_t> hashes = line.hashes.of(hashes_);
        own_.assign(hashes.begin(), hashes.end());
        make_unique(own_);
        for (const LineNumber candidate : candidates_) covered(candidate, line.keys.normalized, closest);
    }

    void covered(LineNumber line, const Key& own, Closest& closest) {
        const std::span<const std::uint64_t> grams = tables_.grams(line);
        const std::size_t needed = needed_grams(grams.size(), tables_.coverage());
        if (own_.size() < needed) return;
        std::size_t common = 0;
        auto at = own_.begin();
        for (const std::uint64_t gram : grams) {
            at = std::lower_bound(at, own_.end(), gram);
            if (at == own_.end()) break;
            common += *at == gram ? 1 : 0;
        }
        if (common < needed) return;
        const double share = static_cast<double>(common) / static_cast<double>(grams.size());
        const Key key = tables_.normalized(line);
        if (key != own) same_lines(key, Match::kCovered, share, closest);
    }

    // Records all segments with a line of this key.
    void same_lines(const Key& key, Match kind, double share, Closest& closest) {
        const auto lines = tables_.lines().find(key);
        if (lines.size() > kManyLines && !visited_.insert(key.low ^ static_cast<std::uint64_t>(kind)).second)
            return closest.offer(lines.front().number / 2, kind, share);
        for (const auto& entry : lines) note(entry.number / 2, kind, share, closest);
    }

    void note(std::uint32_t segment, Match kind, double share, Closest& closest) {
        closest.offer(segment, kind, share);
        matches_.found.push_back({segment, kind});
    }

    static constexpr std::size_t kManyLines = 16;

    const SegmentTables& tables_;
    Analysis analysis_;
    std::vector<Pair> pairs_;
    std::vector<std::uint64_t> hashes_;   // n-grams of pairs_
    std::vector<std::uint64_t> present_;  // n-grams that some line of the segments may have
    std::vector<LineNumber> candidates_;
    std::vector<std::uint64_t> own_;
    std::unordered_set<std::uint64_t> visited_;  // keys of many lines whose segments were noted
    SegmentMatches matches_;
};

}  // namespace

SegmentIndex::SegmentIndex(const TextView& first, const TextView& second, double coverage)
    : tables_(std::make_unique<const SegmentTables>(first, second, coverage)) {}
SegmentIndex::SegmentIndex(SegmentIndex&&) noexcept = default;
SegmentIndex& SegmentIndex::operator=(SegmentIndex&&) noexcept = default;
SegmentIndex::~SegmentIndex() = default;

SegmentMatches SegmentIndex::search(const TextView& source, const TextView& target) const {
    constexpr std::size_t kBlock = 64;
    Search search(*tables_);
    for (std::size_t first = 0; first < source.lines; first += kBlock)
        search.pairs(source, target, first, std::min(first + kBlock, source.lines));
    return search.end();
}

}  // namespace nmt_prep::clean
