#include "sentencepiece/unigram_training/second_best.h"

#include <algorithm>
#include <limits>

namespace nmt_prep::sentencepiece {
namespace {

// The library's limits for repetitive text: it keeps the best few paths now and then, and at last gives up.
constexpr std::size_t kResults = 2;
constexpr std::size_t kMostOpen = 10000, kKeptOpen = 10 * kResults;
constexpr std::size_t kPathsPerRound = 100000, kMostPaths = 500000;
constexpr int kMostRounds = 10;

}  // namespace

void SecondBest::score_nodes(const UnigramLattice& lattice) {
    const auto nodes = lattice.nodes();
    const std::uint32_t size = lattice.size();
    end_firsts_.assign(size + 2, 0);
    for (const LatticeNode& node : nodes) ++end_firsts_[node.end + 1];
    for (std::uint32_t i = 1; i < end_firsts_.size(); ++i) end_firsts_[i] += end_firsts_[i - 1];
    ends_.resize(nodes.size());
    node_best_.resize(nodes.size());
    best_.assign(size + 1, -std::numeric_limits<float>::infinity());
    best_[0] = 0;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        ends_[end_firsts_[nodes[i].end]++] = i;
        node_best_[i] = best_[nodes[i].begin] + nodes[i].score;
        best_[nodes[i].end] = std::max(best_[nodes[i].end], node_best_[i]);
    }
    for (std::uint32_t i = size + 1; i > 0; --i) end_firsts_[i] = end_firsts_[i - 1];
    end_firsts_[0] = 0;
}

void SecondBest::sift_up() {
    std::ranges::push_heap(heap_, {}, [this](std::uint32_t i) { return paths_[i].estimate; });
}

void SecondBest::push(const Path& path) {
    heap_.push_back(static_cast<std::uint32_t>(paths_.size()));
    paths_.push_back(path);
    sift_up();
}

std::uint32_t SecondBest::pop() {
    std::ranges::pop_heap(heap_, {}, [this](std::uint32_t i) { return paths_[i].estimate; });
    const std::uint32_t top = heap_.back();
    heap_.pop_back();
    return top;
}

// Keeps the best few open paths, and those that they continue.
void SecondBest::shrink() {
    std::vector<std::uint32_t> kept;
    while (!heap_.empty() && kept.size() < kKeptOpen) kept.push_back(pop());
    std::vector<bool> needed(paths_.size());
    for (const std::uint32_t open : kept)
        for (std::uint32_t at = open; at != kNothing && !needed[at]; at = paths_[at].next) needed[at] = true;
    std::vector<std::uint32_t> place(paths_.size(), kNothing);
    std::uint32_t size = 0;
    for (std::uint32_t i = 0; i < paths_.size(); ++i) {  // a path continues an earlier one
        if (!needed[i]) continue;
        place[i] = size;
        Path path = paths_[i];
        if (path.next != kNothing) path.next = place[path.next];
        paths_[size++] = path;
    }
    paths_.resize(size);
    heap_.clear();
    for (const std::uint32_t open : kept) {
        heap_.push_back(place[open]);
        sift_up();
    }
}

SecondBest::Outcome SecondBest::find(const UnigramLattice& lattice) {
    score_nodes(lattice);
    const auto nodes = lattice.nodes();
    paths_.clear();
    heap_.clear();
    push({best_[lattice.size()], 0, kEnd, kNothing});
    std::size_t results = 0, made = 1, room = kPathsPerRound;
    int rounds = 0;
    bool is_whole = false;
    while (!heap_.empty()) {
        const std::uint32_t top = pop();
        const Path path = paths_[top];
        if (path.node == kBegin) {
            if (++results == kResults) {
                if (is_whole) collect(nodes, top);
                return is_whole ? Outcome::kWhole : Outcome::kSplit;
            }
            is_whole = paths_[paths_[path.next].next].next == kNothing;
            continue;
        }
        const std::uint32_t end = path.node == kEnd ? lattice.size() : nodes[path.node].begin;
        if (end == 0) {
            push({path.score, path.score, kBegin, top});
            ++made;
        }
        for (std::uint32_t i = end_firsts_[end]; i < end_firsts_[end + 1]; ++i)
            push({node_best_[ends_[i]] + path.score, nodes[ends_[i]].score + path.score, ends_[i], top});
        made += end_firsts_[end + 1] - end_firsts_[end];
        if (made >= kMostPaths || paths_.size() >= kMostPaths) return Outcome::kOnly;
        if (heap_.size() >= kMostOpen || (heap_.size() > kKeptOpen && paths_.size() >= room)) {
            if (rounds++ >= kMostRounds) return Outcome::kOnly;
            shrink();
            room = paths_.size() + kPathsPerRound;
        }
    }
    return Outcome::kOnly;
}

void SecondBest::collect(std::span<const LatticeNode> nodes, std::uint32_t path) {
    others_.clear();
    for (path = paths_[path].next; paths_[path].next != kNothing; path = paths_[path].next)
        others_.push_back(nodes[paths_[path].node].id);
}

}  // namespace nmt_prep::sentencepiece
