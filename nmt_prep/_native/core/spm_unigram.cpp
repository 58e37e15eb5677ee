#include "spm_unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nmt_prep::spm {
namespace {

constexpr float kUnknownPenalty = 10;
constexpr float kResetBeyond = 100000;  // the library starts its sums anew from here on
constexpr std::size_t kNotReached = SIZE_MAX;

Trie trie_of(const Vocabulary& vocabulary) {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    for (const Vocabulary::Entry& entry : vocabulary.entries)
        entries.emplace_back(entry.text, entry.id);
    return Trie(std::move(entries));
}

// More than two ways to spell a stretch can differ by rounding alone, where its sums stay within `largest` of zero: each
// addition of each way is off by at most half a unit in the last of 24 bits.
double rounding(std::size_t additions, double largest) {
    return 2 * static_cast<double>(additions + 1) * largest * 0x1p-24;
}

}  // namespace

Unigram::Unigram(const Vocabulary& vocabulary) : vocabulary_(vocabulary), trie_(trie_of(vocabulary)) {
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

// Pieces that the text has at `start`, the shortest first; at last the unknown piece, where no piece is one character.
template <class Visit>
void Unigram::for_each_match(const std::uint8_t* text, std::size_t size, std::size_t start, const Visit& visit) const {
    const std::size_t single = start + character_size(text[start]);
    bool has_single = false;
    if (!trie_.empty()) {
        std::uint32_t node = Trie::kRoot;
        for (std::size_t at = start; at < size;) {
            node = trie_.step(node, text[at++]);
            if (node == Trie::kNowhere) break;
            const std::int32_t id = trie_.value(node);
            if (id < 0) continue;
            has_single |= at == single;
            visit(at, id, scores_[static_cast<std::size_t>(id)]);
        }
    }
    if (!has_single) visit(single, vocabulary_.unk_id, unk_score_);
}

double Unigram::solve_alone(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    scratch.wide.assign(size + 1, {0, std::numeric_limits<double>::infinity(), -1, kNotReached});
    for (std::size_t start = 0; start < size; start += character_size(text[start])) {
        const double before = scratch.wide[start].score;
        for_each_match(text, size, start, [&](std::size_t end, std::int32_t id, float score) {
            WideArrival& way = scratch.wide[end];
            const double sum = before + static_cast<double>(score);
            if (way.start == kNotReached) {
                way = {sum, way.margin, id, start};
            } else if (sum > way.score) {
                way = {sum, sum - way.score, id, start};
            } else {
                way.margin = std::min(way.margin, way.score - sum);
            }
        });
    }
    double margin = std::numeric_limits<double>::infinity();
    scratch.path.clear();
    for (std::size_t end = size; end > 0; end = scratch.wide[end].start) {
        scratch.path.push_back(end);
        margin = std::min(margin, scratch.wide[end].margin);
    }
    return margin;
}

void Unigram::solve_in_line(const std::uint8_t* text, std::size_t size, float& score, Scratch& scratch) const {
    std::vector<Arrival>& ways = scratch.arrivals;
    ways.assign(size + 1, {0, -1, kNotReached});
    ways[0].score = score;
    std::size_t frontier = 0;
    for (std::size_t start = 0; start < size; start += character_size(text[start])) {
        if (std::abs(ways[start].score) > kResetBeyond) {
            const float offset = ways[start].score;
            for (std::size_t i = start; i <= frontier; ++i)
                if (i == start || ways[i].start != kNotReached) ways[i].score -= offset;
        }
        const float before = ways[start].score;
        for_each_match(text, size, start, [&](std::size_t end, std::int32_t id, float own) {
            frontier = std::max(frontier, end);
            const float sum = own + before;
            if (ways[end].start == kNotReached || sum > ways[end].score) ways[end] = {sum, id, start};
        });
    }
    score = ways[size].score;
    scratch.path.clear();
    for (std::size_t end = size; end > 0; end = ways[end].start) scratch.path.push_back(end);
}

void Unigram::push_id(std::int32_t id, const std::uint8_t* text, std::size_t size, std::size_t line_start,
                      IdBuffer& ids) const {
    if (id == vocabulary_.unk_id)
        vocabulary_.push_unknown(text, size, line_start, ids);
    else
        ids.push(id);
}

template <class Way>
void Unigram::push_path(const std::uint8_t* text, std::size_t line_start, const std::vector<Way>& ways,
                        const std::vector<std::size_t>& path, IdBuffer& ids) const {
    for (auto end = path.rbegin(); end != path.rend(); ++end) {
        const Way& way = ways[*end];
        push_id(way.id, text + way.start, *end - way.start, line_start, ids);
    }
}

bool Unigram::encode(const std::uint8_t* text, std::size_t size, std::size_t line_start, float& score,
                     Scratch& scratch, IdBuffer& ids) const {
    const double own = static_cast<double>(size) * largest_;
    const double largest = std::abs(static_cast<double>(score)) + own;
    if (largest > kResetBeyond) {
        solve_in_line(text, size, score, scratch);
        push_path(text, line_start, scratch.arrivals, scratch.path, ids);
        return false;
    }
    const double margin = solve_alone(text, size, scratch);
    if (margin <= rounding(size, largest)) {
        solve_in_line(text, size, score, scratch);
        push_path(text, line_start, scratch.arrivals, scratch.path, ids);
        return false;
    }
    push_path(text, line_start, scratch.wide, scratch.path, ids);
    bool known = true;
    for (auto end = scratch.path.rbegin(); end != scratch.path.rend(); ++end) {
        const std::int32_t id = scratch.wide[*end].id;
        known &= id != vocabulary_.unk_id;
        score += scores_[static_cast<std::size_t>(id)];
    }
    return known && margin > rounding(size, kTrusted + own);
}

void Unigram::add(float& score, std::int32_t id) const {
    if (std::abs(score) > kResetBeyond) score = 0;
    score += scores_[static_cast<std::size_t>(id)];
}

void Unigram::list_edges(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    scratch.edges.clear();
    for (std::size_t start = 0; start < size; start += character_size(text[start]))
        for_each_match(text, size, start, [&](std::size_t end, std::int32_t id, float score) {
            scratch.edges.push_back({start, end, id, static_cast<double>(score)});
        });
    std::stable_sort(scratch.edges.begin(), scratch.edges.end(),
                     [](const Edge& one, const Edge& other) { return one.end < other.end; });
    scratch.edge_bounds.assign(size + 2, 0);
    for (const Edge& edge : scratch.edges) ++scratch.edge_bounds[edge.end + 1];
    for (std::size_t i = 0; i <= size; ++i) scratch.edge_bounds[i + 1] += scratch.edge_bounds[i];
}

// Forward filtering, backward sampling.
void Unigram::sample(const std::uint8_t* text, std::size_t size, std::size_t line_start, double alpha, Random& random,
                     Scratch& scratch, IdBuffer& ids) const {
    list_edges(text, size, scratch);
    const std::vector<std::size_t>& bounds = scratch.edge_bounds;
    std::vector<double>& sums = scratch.sums;  // logarithms
    sums.assign(size + 1, -std::numeric_limits<double>::infinity());
    sums[0] = 0;
    for (std::size_t end = 1; end <= size; ++end) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t e = bounds[end]; e < bounds[end + 1]; ++e)
            most = std::max(most, sums[scratch.edges[e].start] + alpha * scratch.edges[e].score);
        for (std::size_t e = bounds[end]; e < bounds[end + 1]; ++e)
            sum += std::exp(sums[scratch.edges[e].start] + alpha * scratch.edges[e].score - most);
        if (bounds[end] != bounds[end + 1]) sums[end] = most + std::log(sum);
    }
    scratch.path.clear();
    for (std::size_t end = size; end > 0; end = scratch.edges[scratch.path.back()].start) {
        double left = random.uniform();
        std::size_t chosen = bounds[end];
        for (std::size_t e = bounds[end]; e < bounds[end + 1]; ++e) {
            chosen = e;
            left -= std::exp(sums[scratch.edges[e].start] + alpha * scratch.edges[e].score - sums[end]);
            if (left < 0) break;
        }
        scratch.path.push_back(chosen);
    }
    for (auto e = scratch.path.rbegin(); e != scratch.path.rend(); ++e) {
        const Edge& edge = scratch.edges[*e];
        push_id(edge.id, text + edge.start, edge.end - edge.start, line_start, ids);
    }
}

void Unigram::sample_best(const std::uint8_t* text, std::size_t size, std::size_t line_start, std::size_t most,
                          double alpha, Random& random, Scratch& scratch, IdBuffer& ids) const {
    // The best ways to each place: by which edge, after which of the ways to where it begins.
    struct Way {
        double score;
        std::size_t edge, rank;
    };
    list_edges(text, size, scratch);
    std::vector<std::vector<Way>> ways(size + 1);
    ways[0].push_back({0, 0, 0});
    const auto worse = [](const Way& one, const Way& other) {
        if (one.score != other.score) return one.score < other.score;
        return one.edge != other.edge ? one.edge > other.edge : one.rank > other.rank;
    };
    std::vector<Way> next;  // a heap: the best way of each edge that was not taken yet
    for (std::size_t end = 1; end <= size; ++end) {
        next.clear();
        const auto offer = [&](std::size_t edge, std::size_t rank) {
            const std::vector<Way>& before = ways[scratch.edges[edge].start];
            if (rank >= before.size()) return;
            next.push_back({before[rank].score + scratch.edges[edge].score, edge, rank});
            std::push_heap(next.begin(), next.end(), worse);
        };
        for (std::size_t e = scratch.edge_bounds[end]; e < scratch.edge_bounds[end + 1]; ++e) offer(e, 0);
        while (!next.empty() && ways[end].size() < most) {
            std::pop_heap(next.begin(), next.end(), worse);
            const Way way = next.back();
            next.pop_back();
            ways[end].push_back(way);
            offer(way.edge, way.rank + 1);
        }
    }
    const std::vector<Way>& best = ways[size];
    double sum = 0;
    for (const Way& way : best) sum += std::exp(alpha * (way.score - best[0].score));
    double left = random.uniform() * sum;
    std::size_t rank = 0;
    for (; rank + 1 < best.size(); ++rank) {
        left -= std::exp(alpha * (best[rank].score - best[0].score));
        if (left < 0) break;
    }
    scratch.path.clear();
    for (std::size_t end = size; end > 0;) {
        const Way& way = ways[end][rank];
        scratch.path.push_back(way.edge);
        end = scratch.edges[way.edge].start;
        rank = way.rank;
    }
    for (auto e = scratch.path.rbegin(); e != scratch.path.rend(); ++e) {
        const Edge& edge = scratch.edges[*e];
        push_id(edge.id, text + edge.start, edge.end - edge.start, line_start, ids);
    }
}

}  // namespace nmt_prep::spm
