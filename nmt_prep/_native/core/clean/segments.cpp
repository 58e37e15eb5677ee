#include "clean/segments.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <unordered_set>

#include "clean/grams.h"
#include "clean/keys.h"
#include "text/errors.h"

namespace nmt_prep::clean {
namespace {

// A side of a segment is a line: number 2 * segment, or 2 * segment + 1.
using LineNumber = std::uint32_t;

constexpr double kRounding = 1e-9;

// Numbers by key; several may have the same key.
class KeyTable {
   public:
    struct Entry {
        Key key;
        std::uint32_t number;
    };

    void add(const Key& key, std::uint32_t number) { entries_.push_back({key, number}); }

    // Ends the additions.
    void build() {
        std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
            return a.key < b.key || (a.key == b.key && a.number < b.number);
        });
        slots_.assign(std::bit_ceil(2 * entries_.size() + 1), 0);
        for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
            if (entry > 0 && entries_[entry - 1].key == entries_[entry].key) continue;
            std::size_t slot = entries_[entry].key.low & (slots_.size() - 1);
            while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = static_cast<std::uint32_t>(entry + 1);
        }
    }

    // Returns the entries with a key, by number.
    std::span<const Entry> find(const Key& key) const {
        for (std::size_t slot = key.low & (slots_.size() - 1); slots_[slot] != 0;
             slot = (slot + 1) & (slots_.size() - 1)) {
            const std::size_t first = slots_[slot] - 1;
            if (entries_[first].key != key) continue;
            std::size_t last = first + 1;
            while (last < entries_.size() && entries_[last].key == key) ++last;
            return {entries_.data() + first, last - first};
        }
        return {};
    }

   private:
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // number of the first entry of a key, plus 1
};

// A set of n-grams, reduced to 64 bits: each n-gram sets one.
std::uint64_t signature(std::uint64_t gram) { return std::uint64_t{1} << (gram >> 24 & 63); }

std::uint64_t signature(std::span<const std::uint64_t> grams) {
    std::uint64_t bits = 0;
    for (const std::uint64_t gram : grams) bits |= signature(gram);
    return bits;
}

// Lines by n-gram.
class GramTable {
   public:
    // Adds a line that has the n-gram. `bits` is the signature of all its n-grams, of which a line that covers it may
    // lack `lacking`.
    void add(std::uint64_t gram, LineNumber line, std::uint64_t bits, std::size_t lacking) {
        entries_.push_back({gram, bits, line, static_cast<std::uint32_t>(lacking)});
    }

    // Ends the additions.
    void build() {
        std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
            return a.gram < b.gram || (a.gram == b.gram && a.line < b.line);
        });
        const std::size_t buckets = std::bit_ceil(entries_.size() + 1);
        shift_ = 64 - static_cast<unsigned>(std::bit_width(buckets - 1));
        starts_.assign(buckets + 1, 0);
        bits_.assign(buckets / 8 + 1, 0);  // 8 to 16 bits an entry
        for (const Entry& entry : entries_) {
            ++starts_[bucket(entry.gram) + 1];
            bits_[place(entry.gram) >> 6] |= std::uint64_t{1} << (place(entry.gram) & 63);
        }
        for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    }

    // Appends the lines with one of the n-grams that a line with this signature may cover. Each step fetches the memory
    // that the next one reads. `scratch` is overwritten.
    void find(std::span<const std::uint64_t> grams, std::uint64_t bits, std::vector<std::uint64_t>& scratch,
              std::vector<LineNumber>& lines) const {
        for (const std::uint64_t gram : grams) __builtin_prefetch(&bits_[place(gram) >> 6]);
        scratch.clear();
        for (const std::uint64_t gram : grams) {
            if ((bits_[place(gram) >> 6] >> (place(gram) & 63) & 1) == 0) continue;
            __builtin_prefetch(&starts_[bucket(gram)]);
            scratch.push_back(gram);
        }
        for (const std::uint64_t gram : scratch) __builtin_prefetch(entries_.data() + starts_[bucket(gram)]);
        for (const std::uint64_t gram : scratch) {
            const std::size_t end = starts_[bucket(gram) + 1];
            for (std::size_t entry = starts_[bucket(gram)]; entry < end; ++entry) {
                const Entry& found = entries_[entry];
                const auto lacking = static_cast<std::uint32_t>(std::popcount(found.bits & ~bits));
                if (found.gram == gram && lacking <= found.lacking) lines.push_back(found.line);
            }
        }
    }

   private:
    struct Entry {
        std::uint64_t gram;
        std::uint64_t bits;
        LineNumber line;
        std::uint32_t lacking;
    };

    std::size_t bucket(std::uint64_t gram) const { return shift_ == 64 ? 0 : gram >> shift_; }
    std::size_t place(std::uint64_t gram) const { return gram & (8 * (starts_.size() - 1) - 1); }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> starts_;
    std::vector<std::uint64_t> bits_;  // zero for n-grams that no line has
    unsigned shift_ = 64;
};

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
            // Of lines with the same key, the first is enough.
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
    // The different n-grams of a line, in ascending order; none if it is too short to be covered, or like an earlier
    // line.
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

    // Of the n-grams of each line, enters the rarest into the table: so many that a line without any of them cannot
    // cover it.
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
    std::vector<Key> exact_;  // of the bytes of each line
    std::vector<Key> keys_;   // of the normalized text of each line
    KeyTable lines_;
    KeyTable pairs_;
    GramTable rare_;
    std::vector<std::uint64_t> grams_;  // of one line after another
    std::vector<std::uint64_t> starts_;
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

// One search: its scratch space, and what it has found.
class Search {
   public:
    explicit Search(const SegmentTables& tables) : tables_(tables) {}

    void pair(const TextView& source, const TextView& target, std::size_t pair) {
        Closest closest;
        const std::array<const TextView*, 2> sides = {&source, &target};
        std::array<LineKeys, 2> keys{};
        for (const std::size_t side : {0, 1}) {
            if (sides[side]->size(pair) == 0) continue;
            keys[side] = analysis_.keys(*sides[side], pair);
            one_side(keys[side], closest);
        }
        if (source.size(pair) > 0 && target.size(pair) > 0) both_sides(keys, closest);
        matches_.closest.push_back(closest.segment);
        matches_.kinds.push_back(static_cast<std::uint8_t>(closest.kind));
        matches_.shares.push_back(closest.share);
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
    void both_sides(const std::array<LineKeys, 2>& keys, Closest& closest) {
        const Key key = pair_key(keys[0].normalized, keys[1].normalized);
        const Key exact = pair_key(keys[0].exact, keys[1].exact);
        const auto segments = tables_.pairs().find(key);
        const auto kind = [&](std::uint32_t segment) {
            return tables_.exact_pair(segment) == exact ? Match::kExact : Match::kPair;
        };
        if (segments.size() > kManyLines && !visited_.insert(key.low ^ exact.high).second) {
            // All segments were noted for an earlier pair; only the closest one is wanted.
            const auto equal =
                std::ranges::find(segments, Match::kExact, [&](const auto& e) { return kind(e.number); });
            const auto best = equal == segments.end() ? segments.begin() : equal;
            return closest.offer(best->number, kind(best->number), 1.0);
        }
        for (const auto& entry : segments) note(entry.number, kind(entry.number), 1.0, closest);
    }

    void one_side(const LineKeys& keys, Closest& closest) {
        const Grams& grams = analysis_.grams();
        if (grams.letters() < kLongEnough) return;
        same_lines(keys.normalized, Match::kSide, 1.0, closest);
        if (tables_.coverage() > 1) return;
        candidates_.clear();
        const std::uint64_t bits = signature(grams.hashes());
        tables_.rare().find(grams.hashes(), bits, own_, candidates_);
        if (candidates_.empty()) return;
        std::ranges::sort(candidates_);
        const auto rest = std::ranges::unique(candidates_);
        candidates_.erase(rest.begin(), rest.end());
        own_ = grams.hashes();
        make_unique(own_);
        for (const LineNumber line : candidates_) covered(line, keys.normalized, closest);
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

    // Notes all segments with a line of this key.
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
    Search search(*tables_);
    for (std::size_t pair = 0; pair < source.lines; ++pair) search.pair(source, target, pair);
    return search.end();
}

}  // namespace nmt_prep::clean
