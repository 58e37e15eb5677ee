#include "sentencepiece/unigram_training/lattice.h"

#include <algorithm>
#include <limits>

namespace nmt_prep::sentencepiece {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

}  // namespace

void UnigramLattice::add(std::uint32_t at, std::uint32_t size, float weight) {
    const TrainingPiece* const pieces = pieces_.tree.pieces.data();
    const Word word{positions_, positions_ + size, count_, weight};
    words_.push_back(word);
    positions_ = word.end + 1;
    for (std::uint32_t begin = word.begin; begin < word.end; ++begin, ++at) {
        const std::uint32_t left = word.end - begin;
        if (nodes_.size() < count_ + most_at_place_) nodes_.resize(2 * nodes_.size() + most_at_place_);
        LatticeNode *const first = nodes_.data() + count_, *next = first;
        std::uint32_t shortest = 0;
        for (std::uint32_t id = pieces_.tree.longest[at]; id != kNoPiece; id = pieces[id].parent) {
            shortest = pieces[id].length;
            if (shortest <= left) *next++ = {id, begin, begin + shortest, pieces[id].score};
        }
        if (shortest != 1) {  // the character is no piece
            std::copy_backward(first, next, next + 1);
            *first = {pieces_.unknown_id(), begin, begin + 1, pieces_.unknown_score()};
            ++next;
        }
        count_ = static_cast<std::uint32_t>(next - nodes_.data());
    }
}

// Returns the first node of a word near the middle of all nodes.
std::size_t UnigramLattice::middle() const {
    const auto word = std::ranges::lower_bound(words_, count_ / 2, {}, &Word::first);
    return word == words_.end() ? count_ : word->first;
}

// Sums up the scores of all segmentations before and after each position. Each sum waits for the one before it, so four
// rows of sums take turns: both directions, in both word halves.
void UnigramLattice::sum_up(const FloatLogs& log, std::vector<float>& sums) {
    forward_.assign(positions_, kNone);
    backward_.assign(positions_, kNone);
    for (const Word& word : words_) forward_[word.begin] = backward_[word.end] = 0;
    float *const forward = forward_.data(), *const backward = backward_.data();
    const auto step = [&](const LatticeNode& next, const LatticeNode& last) {
        __builtin_prefetch(&sums[next.id], 1);
        forward[next.end] = log.sum(forward[next.end], next.score + forward[next.begin]);
        backward[last.begin] = log.sum(backward[last.begin], last.score + backward[last.end]);
    };
    const std::size_t half = middle(), shared = std::min(half, count_ - half);
    const LatticeNode* const nodes = nodes_.data();
    for (std::size_t i = 0; i < shared; ++i) {
        step(nodes[i], nodes[half - 1 - i]);
        step(nodes[half + i], nodes[count_ - 1 - i]);
    }
    for (std::size_t i = shared; i < half; ++i) step(nodes[i], nodes[half - 1 - i]);
    for (std::size_t i = shared; i < count_ - half; ++i) step(nodes[half + i], nodes[count_ - 1 - i]);
}

void UnigramLattice::add_expected(const FloatLogs& log, std::vector<float>& sums) {
    sum_up(log, sums);
    auto node = nodes().begin();
    for (const Word& word : words_) {
        const float all = forward_[word.end];
        for (; node != nodes().end() && node->begin < word.end; ++node)
            log.add_exp(sums[node->id], word.weight, forward_[node->begin] + node->score + backward_[node->end] - all);
    }
}

void UnigramLattice::add_best(std::vector<float>& counts) {
    best_.assign(positions_, {kNone, kNone, 0});
    for (const Word& word : words_) best_[word.begin].score = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
        const LatticeNode& node = nodes_[i];
        const float score = best_[node.begin].score + node.score;
        Best& best = best_[node.end];
        if (score > best.score) best = {score, best.score, i};
    }
    for (const Word& word : words_) trace_best(word, counts);
}

void UnigramLattice::trace_best(const Word& word, std::vector<float>& counts) const {
    float next_score = 0;
    for (std::uint32_t position = word.end; position > word.begin;) {
        const LatticeNode& node = nodes_[last_before(word, position, next_score)];
        counts[node.id] += word.weight;
        position = node.begin;
        next_score = node.score;
    }
}

// Returns the last node of the best segmentation up to a position at which a node of `next_score` begins. The library
// compares sums that include that score. So a node that was found before the best one is taken if both sums round to
// the same number.
std::uint32_t UnigramLattice::last_before(const Word& word, std::uint32_t position, float next_score) const {
    const Best& best = best_[position];
    const float sum = best.score + next_score;
    if (best.before + next_score < sum) return best.node;
    for (std::uint32_t i = word.first;; ++i)
        if (nodes_[i].end == position && best_[nodes_[i].begin].score + nodes_[i].score + next_score == sum) return i;
}

float UnigramLattice::best_without_whole() {
    best_.assign(positions_, {kNone, kNone, 0});
    best_[0].score = 0;
    for (const LatticeNode& node : nodes())
        if (node.end - node.begin < size())
            best_[node.end].score = std::max(best_[node.end].score, best_[node.begin].score + node.score);
    return best_[size()].score;
}

}  // namespace nmt_prep::sentencepiece
