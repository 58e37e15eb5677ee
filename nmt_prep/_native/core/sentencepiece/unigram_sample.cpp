// Subword regularization (Kudo 2018): samples a segmentation from all or from the best ones.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sentencepiece/unigram.h"

namespace nmt_prep::sentencepiece {

void Unigram::list_edges(Scratch& scratch) const {
    const std::size_t size = scratch.characters;
    scratch.edges.clear();
    std::uint32_t start = 0;
    for_each_match(
        scratch, [&](std::uint32_t place) { start = place; },
        [&](std::uint32_t end, std::int32_t id, float score) {
            scratch.edges.push_back({start, end, id, static_cast<double>(score)});
        });
    std::ranges::stable_sort(scratch.edges, [](const Edge& one, const Edge& other) { return one.end < other.end; });
    scratch.edge_bounds.assign(size + 2, 0);
    for (const Edge& edge : scratch.edges) ++scratch.edge_bounds[edge.end + 1];
    for (std::size_t i = 0; i <= size; ++i) scratch.edge_bounds[i + 1] += scratch.edge_bounds[i];
}

void Unigram::push_edges(std::size_t line_start, const Scratch& scratch, IdBuffer& ids) const {
    for (auto e = scratch.path.rbegin(); e != scratch.path.rend(); ++e) {
        const Edge& edge = scratch.edges[*e];
        push_id(edge.id, edge.start, edge.end, line_start, scratch, ids);
    }
}

LatticeSampler::Sums Unigram::sum_segment(const std::uint8_t* text, std::size_t size, Scratch& scratch) const {
    spell(text, size, scratch);
    alphabet_.find_pieces(scratch.spelling, scratch.alone);
    return scratch.sampler.sum(scratch.alone, {0, scratch.characters});
}

void Unigram::sample_segment(const std::uint8_t* text, std::size_t size, std::size_t line_start, Random& random,
                             Scratch& scratch, IdBuffer& ids) const {
    const Lattice::Path path = scratch.sampler.draw(sum_segment(text, size, scratch), random);
    push_pieces(path, scratch.spelling.bounds.data(), scratch.characters, text, line_start, ids);
}

void Unigram::sample_word(const std::uint8_t* text, std::size_t size, std::uint64_t hash, std::size_t line_start,
                          Random& random, Scratch& scratch, IdBuffer& ids) const {
    PhraseCache& words = scratch.sampler.words();
    LatticeSampler::Sums sums = words.view(hash, text, size);
    if (sums.empty()) {
        sums = sum_segment(text, size, scratch);
        const bool known = !LatticeSampler::has(sums, vocabulary_.unk_id);
        const Lattice::Path path = scratch.sampler.draw(sums, random);
        push_pieces(path, scratch.spelling.bounds.data(), scratch.characters, text, line_start, ids);
        if (known && sums.size() <= PhraseCache::kMaxWords) words.put(hash, text, size, sums.data(), sums.size());
        return;
    }
    const Lattice::Path path = scratch.sampler.draw(sums, random);
    std::copy_n(path.ids, path.size, ids.room(path.size));
    ids.grow(path.size);
}

void Unigram::sample_run(const Lattice::Run& run, const std::uint8_t* text, std::size_t line_start, Random& random,
                         const Runs& runs, Scratch& scratch, IdBuffer& ids) const {
    const Lattice::Path path = scratch.sampler.draw(scratch.sampler.sum(runs.lattice, run), random);
    push_pieces(path, runs.spelling.bounds.data() + run.begin, run.end - run.begin, text, line_start, ids);
}

void Unigram::sample_best(const std::uint8_t* text, std::size_t bytes, std::size_t line_start, std::size_t most,
                          double alpha, Random& random, Scratch& scratch, IdBuffer& ids) const {
    // The best segmentations up to each position: the last edge, and the index of the segmentation before it.
    struct Way {
        double score;
        std::size_t edge, rank;
    };
    spell(text, bytes, scratch);
    list_edges(scratch);
    const std::size_t size = scratch.characters;
    std::vector<std::vector<Way>> ways(size + 1);
    ways[0].push_back({0, 0, 0});
    const auto worse = [](const Way& one, const Way& other) {
        if (one.score != other.score) return one.score < other.score;
        return one.edge != other.edge ? one.edge > other.edge : one.rank > other.rank;
    };
    std::vector<Way> next;  // a heap: the best segmentation of each edge that was not taken yet
    for (std::size_t end = 1; end <= size; ++end) {
        next.clear();
        const auto offer = [&](std::size_t edge, std::size_t rank) {
            const std::vector<Way>& before = ways[scratch.edges[edge].start];
            if (rank >= before.size()) return;
            next.push_back({before[rank].score + scratch.edges[edge].score, edge, rank});
            std::ranges::push_heap(next, worse);
        };
        for (std::size_t e = scratch.edge_bounds[end]; e < scratch.edge_bounds[end + 1]; ++e) offer(e, 0);
        while (!next.empty() && ways[end].size() < most) {
            std::ranges::pop_heap(next, worse);
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
        scratch.path.push_back(static_cast<std::uint32_t>(way.edge));
        end = scratch.edges[way.edge].start;
        rank = way.rank;
    }
    push_edges(line_start, scratch, ids);
}

}  // namespace nmt_prep::sentencepiece
