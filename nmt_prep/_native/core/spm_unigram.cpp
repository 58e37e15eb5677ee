#include "spm_unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "spm_charsmap.h"
#include "utf8.h"

namespace nmt_prep::spm {
namespace {

constexpr float kUnknownPenalty = 10;
constexpr std::uint32_t kNotReached = UINT32_MAX;

// More than two ways to spell a stretch can differ by rounding alone, where its sums stay within `largest` of zero: each
// addition of each way is off by at most half a unit in the last of 24 bits.
double rounding(std::size_t additions, double largest) {
    return 2 * static_cast<double>(additions + 1) * largest * 0x1p-24;
}

}  // namespace

Unigram::Unigram(const Vocabulary& vocabulary) : vocabulary_(vocabulary), stranger_(0), longest_(0), trie_(build_trie()) {
    std::size_t ids = static_cast<std::size_t>(vocabulary.unk_id) + 1;
    for (const Vocabulary::Entry& entry : vocabulary.entries)
        ids = std::max(ids, static_cast<std::size_t>(entry.id) + 1);
    unk_score_ = vocabulary.lowest_score - kUnknownPenalty;
    scores_.assign(ids, unk_score_);
    largest_ = std::abs(unk_score_);
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        float& score = scores_[static_cast<std::size_t>(entry.id)];
        score = entry.score;
        if (entry.type == PieceType::kUserDefined) score = static_cast<float>(0.1 * static_cast<double>(entry.bytes - 1));
        largest_ = std::max(largest_, static_cast<double>(std::abs(score)));
    }
}

// Characters get their symbols in the order of the pieces, which is that of how common they are.
Trie Unigram::build_trie() {
    if (vocabulary_.entries.empty()) throw NotCovered("no text that it normalises has any of its pieces");
    std::vector<Trie::Entry> entries;
    std::int32_t symbols = 0;
    for (const Vocabulary::Entry& entry : vocabulary_.entries) {
        std::u32string spelling;
        const auto* at = reinterpret_cast<const std::uint8_t*>(entry.text.data());
        for (const auto* const end = at + entry.text.size(); at != end;) {
            const char32_t point = next_utf8(at);
            if (symbols_[point] < 0) symbols_.set(point, ++symbols);
            spelling.push_back(static_cast<char32_t>(symbols_[point]));
        }
        longest_ = std::max(longest_, static_cast<std::uint32_t>(spelling.size()));
        entries.emplace_back(std::move(spelling), entry.id);
    }
    stranger_ = static_cast<std::uint32_t>(symbols) + 1;
    return Trie(std::move(entries), stranger_);
}

void Unigram::spell(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    scratch.symbols.clear();
    scratch.bounds.clear();
    for (const std::uint8_t* const end = text + size; text != end;) {
        scratch.bounds.push_back(text);
        const std::int32_t symbol = symbols_[next_utf8(text)];
        scratch.symbols.push_back(symbol < 0 ? stranger_ : static_cast<std::uint32_t>(symbol));
    }
    scratch.bounds.push_back(text);
    scratch.symbols.push_back(stranger_);
    scratch.matches.resize(std::size_t{longest_} + 1);
}

double Unigram::solve_alone(Scratch& scratch) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::uint32_t size = scratch.size();
    scratch.wide.assign(size + 1, {-kInfinity, kInfinity, -1, 0});
    WideArrival* const ways = scratch.wide.data();
    ways[0].score = 0;
    std::uint32_t start = 0;
    double before = 0;
    const auto begin = [&](std::uint32_t place) {
        start = place;
        before = ways[place].score;
    };
    for_each_match(scratch, begin, [&](std::uint32_t end, std::int32_t id, float score) {
        WideArrival& way = ways[end];
        const double sum = before + static_cast<double>(score);
        const double gap = std::abs(sum - way.score);
        const bool better = sum > way.score;
        way.margin = better ? gap : std::min(way.margin, gap);
        way.score = better ? sum : way.score;
        way.id = better ? id : way.id;
        way.start = better ? start : way.start;
    });
    double margin = kInfinity;
    scratch.path.clear();
    for (std::uint32_t end = size; end > 0; end = ways[end].start) {
        scratch.path.push_back(end);
        margin = std::min(margin, ways[end].margin);
    }
    return margin;
}

void Unigram::solve_in_line(float& score, Scratch& scratch) const {
    const std::uint32_t size = scratch.size();
    std::vector<Arrival>& ways = scratch.arrivals;
    ways.assign(size + 1, {0, -1, kNotReached});
    ways[0].score = score;
    std::uint32_t start = 0, frontier = 0;
    float before = 0;
    const auto begin = [&](std::uint32_t place) {
        if (std::abs(ways[place].score) > kResetBeyond) {
            const float offset = ways[place].score;
            for (std::uint32_t i = place; i <= frontier; ++i)
                if (i == place || ways[i].start != kNotReached) ways[i].score -= offset;
        }
        start = place;
        before = ways[place].score;
    };
    for_each_match(scratch, begin, [&](std::uint32_t end, std::int32_t id, float own) {
        frontier = std::max(frontier, end);
        const float sum = own + before;
        if (ways[end].start == kNotReached || sum > ways[end].score) ways[end] = {sum, id, start};
    });
    score = ways[size].score;
    scratch.path.clear();
    for (std::uint32_t end = size; end > 0; end = ways[end].start) scratch.path.push_back(end);
}

void Unigram::push_id(std::int32_t id, std::uint32_t start, std::uint32_t end, std::size_t line_start,
                      const Scratch& scratch, IdBuffer& ids) const {
    if (id != vocabulary_.unk_id) {
        ids.push(id);
        return;
    }
    const std::uint8_t* const text = scratch.bounds[start];
    vocabulary_.push_unknown(text, static_cast<std::size_t>(scratch.bounds[end] - text), line_start, ids);
}

template <class Way>
void Unigram::push_path(const std::vector<Way>& ways, std::size_t line_start, const Scratch& scratch,
                        IdBuffer& ids) const {
    for (auto end = scratch.path.rbegin(); end != scratch.path.rend(); ++end)
        push_id(ways[*end].id, ways[*end].start, *end, line_start, scratch, ids);
}

bool Unigram::encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, float& score,
                     Scratch& scratch, IdBuffer& ids) const {
    spell(text, size, scratch);
    const std::size_t characters = scratch.size();
    const double own = static_cast<double>(characters) * largest_;
    const double largest = std::abs(static_cast<double>(score)) + own;
    const double margin = largest > kResetBeyond ? 0 : solve_alone(scratch);
    if (margin <= rounding(characters, largest)) {
        solve_in_line(score, scratch);
        push_path(scratch.arrivals, line_start, scratch, ids);
        return false;
    }
    push_path(scratch.wide, line_start, scratch, ids);
    bool known = true;
    for (auto end = scratch.path.rbegin(); end != scratch.path.rend(); ++end) {
        const std::int32_t id = scratch.wide[*end].id;
        known &= id != vocabulary_.unk_id;
        score += scores_[static_cast<std::size_t>(id)];
    }
    return known && margin > rounding(characters, kTrusted + own);
}

}  // namespace nmt_prep::spm
