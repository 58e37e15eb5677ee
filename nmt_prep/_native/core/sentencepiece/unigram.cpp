#include "sentencepiece/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "sentencepiece/charsmap.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr float kUnknownPenalty = 10;
constexpr std::uint32_t kNotReached = UINT32_MAX;

// Upper limit of the error of one addition in float: half a unit in the last place of sums within `largest` of zero.
double rounding(double largest) {
    int exponent = 0;
    std::frexp(largest * 1.001, &exponent);  // sums of rounded sums may be slightly larger
    return std::ldexp(1.0, exponent - 25);
}

}  // namespace

// The unit in the last place of a number: the largest power of two that divides it.
double last_place(double number) {
    int exponent = 0;
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &exponent), 53));
    return std::ldexp(static_cast<double>(mantissa & -mantissa), exponent - 53);
}

Unigram::Unigram(const Vocabulary& vocabulary, const Alphabet& alphabet, const std::vector<double>& exact_scores)
    : vocabulary_(vocabulary), alphabet_(alphabet) {
    std::size_t ids = static_cast<std::size_t>(vocabulary.unk_id) + 1;
    for (const Vocabulary::Entry& entry : vocabulary.entries)
        ids = std::max(ids, static_cast<std::size_t>(entry.id) + 1);
    unk_score_ = vocabulary.lowest_score - kUnknownPenalty;
    scores_.assign(ids + 1, unk_score_);
    scores_[0] = -std::numeric_limits<float>::infinity();
    largest_ = std::abs(unk_score_);
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        const bool is_defined = entry.type == PieceType::kUserDefined;
        const float score = is_defined ? static_cast<float>(0.1 * static_cast<double>(entry.bytes - 1)) : entry.score;
        scores_[static_cast<std::size_t>(entry.id) + 1] = score;
        largest_ = std::max(largest_, static_cast<double>(std::abs(score)));
    }
    exact_scores_.assign(scores_.begin(), scores_.end());
    if (!exact_scores.empty()) use_exact_scores(exact_scores);
}

void Unigram::use_exact_scores(const std::vector<double>& scores) {
    for (const Vocabulary::Entry& entry : vocabulary_.entries) {
        const auto id = static_cast<std::size_t>(entry.id);
        exact_scores_[id + 1] = scores[id];
    }
    // The lowest score is the lowest of all pieces, even of pieces that no text matches.
    const double unknown = std::ranges::min(scores) - static_cast<double>(kUnknownPenalty);
    exact_scores_[static_cast<std::size_t>(vocabulary_.unk_id) + 1] = unknown;
    double unit = std::numeric_limits<double>::infinity();
    for (const double score : std::span(exact_scores_).subspan(1)) {
        largest_ = std::max(largest_, std::abs(score));
        if (score != 0) unit = std::min(unit, last_place(score));
    }
    largest_exact_ = 0x1p53 * unit;
}

void Unigram::spell(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    scratch.spelling.size = 0;
    alphabet_.append(text, size, scratch.spelling);
    scratch.text = text;
    scratch.characters = static_cast<std::uint32_t>(scratch.spelling.size - 1);
    scratch.matches.resize(std::size_t{alphabet_.longest()} + 1);
}

// Finds the best segmentation of the segment by itself, given the error of an addition.
Lattice::Path Unigram::solve_alone(double error, Scratch& scratch) const {
    alphabet_.find_pieces(scratch.spelling, scratch.alone);
    return scratch.alone.find_best_alone({0, scratch.characters}, exact_scores_, error);
}

void Unigram::solve_in_line(float& score, Scratch& scratch) const {
    const std::uint32_t size = scratch.characters;
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
    const std::vector<std::uint32_t>& bounds = scratch.spelling.bounds;
    vocabulary_.push_unknown(scratch.text + bounds[start], bounds[end] - bounds[start], line_start, ids);
}

void Unigram::push_path(std::size_t line_start, const Scratch& scratch, IdBuffer& ids) const {
    for (auto end = scratch.path.rbegin(); end != scratch.path.rend(); ++end) {
        const Arrival& way = scratch.arrivals[*end];
        push_id(way.id, way.start, *end, line_start, scratch, ids);
    }
}

void Unigram::encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, float& score, Scratch& scratch,
                     IdBuffer& ids) const {
    spell(text, size, scratch);
    const double largest = std::abs(static_cast<double>(score)) + static_cast<double>(scratch.characters) * largest_;
    if (size <= kMaxAlone && largest <= kResetBeyond) {
        const double error = rounding(largest);
        const Lattice::Path path = solve_alone(error, scratch);
        if (scratch.alone.is_certain(path, {0, scratch.characters}, exact_scores_, error)) {
            push_pieces(path, scratch.spelling.bounds.data(), scratch.characters, text, line_start, ids);
            for (std::size_t i = 0; i < path.size; ++i) score += score_of(path.ids[i]);
            return;
        }
    }
    solve_in_line(score, scratch);
    push_path(line_start, scratch, ids);
}

bool Unigram::encode_anywhere(const Lattice::Run& word, Scratch& scratch, IdBuffer& ids) const {
    static const double kError = rounding(kResetBeyond);
    const Lattice::Path path = scratch.words.lattice.find_best_alone(word, exact_scores_, kError);
    if (std::find(path.ids, path.ids + path.size, vocabulary_.unk_id) != path.ids + path.size) return false;
    if (!scratch.words.lattice.is_certain(path, word, exact_scores_, kError)) return false;
    std::copy_n(path.ids, path.size, ids.room(path.size));
    ids.grow(path.size);
    return true;
}

void Unigram::encode_pretoken(const std::uint8_t* text, std::size_t size, std::size_t line_start, Scratch& scratch,
                              IdBuffer& ids) const {
    spell(text, size, scratch);
    const Lattice::Path path = solve_alone(0, scratch);
    push_pieces(path, scratch.spelling.bounds.data(), scratch.characters, text, line_start, ids);
}

void Unigram::encode_run(const Lattice::Run& run, std::size_t line_start, float& score, Runs& runs, Scratch& scratch,
                         IdBuffer& ids) const {
    const std::uint32_t* const symbols = runs.spelling.symbols.data();
    const double largest = std::abs(static_cast<double>(score)) + static_cast<double>(run.end - run.begin) * largest_;
    const Lattice::Path path = largest <= kResetBeyond
                                   ? runs.lattice.find_best(run, scores_, score)
                                   : runs.lattice.find_best_within(kResetBeyond, run, scores_, score);
    if (path.size == 0) {
        const std::string text = alphabet_.text_of(symbols + run.begin, run.end - run.begin);
        spell(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), scratch);
        solve_in_line(score, scratch);
        push_path(line_start, scratch, ids);
        return;
    }
    push_ids(path, ids, [&](std::size_t i) {
        // The piece that is not known has one character.
        const std::string text = alphabet_.text_of(symbols + path.starts[i], 1);
        vocabulary_.push_unknown(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), line_start, ids);
    });
}

// Appends the pieces of a path whose starts count from the beginning of `bounds`; `end` is where its text ends.
void Unigram::push_pieces(const Lattice::Path& path, const std::uint32_t* bounds, std::size_t end,
                          const std::uint8_t* text, std::size_t line_start, IdBuffer& ids) const {
    push_ids(path, ids, [&](std::size_t i) {
        const std::uint32_t first = bounds[path.starts[i]], last = bounds[i + 1 < path.size ? path.starts[i + 1] : end];
        vocabulary_.push_unknown(text + first, last - first, line_start, ids);
    });
}

// Appends the ids of a path; `push_unknown` appends that of a piece that is not known, given its place in the path.
template <class PushUnknown>
void Unigram::push_ids(const Lattice::Path& path, IdBuffer& ids, const PushUnknown& push_unknown) const {
    if (std::find(path.ids, path.ids + path.size, vocabulary_.unk_id) == path.ids + path.size) {
        std::copy_n(path.ids, path.size, ids.room(path.size));
        ids.grow(path.size);
        return;
    }
    for (std::size_t i = 0; i < path.size; ++i) {
        if (path.ids[i] == vocabulary_.unk_id)
            push_unknown(i);
        else
            ids.push(path.ids[i]);
    }
}

}  // namespace nmt_prep::sentencepiece
