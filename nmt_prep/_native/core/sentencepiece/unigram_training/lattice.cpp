#include "sentencepiece/unigram_training/lattice.h"

#include <algorithm>
#include <limits>

namespace nmt_prep::sentencepiece {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

}  // namespace

void UnigramLattice::set(std::uint32_t at, std::uint32_t size) {
    const TrainingPiece* const pieces = pieces_.tree.pieces.data();
    const std::uint32_t* const longest = pieces_.tree.longest.data() + at;
    size_ = size;
    count_ = 0;
    for (std::uint32_t begin = 0; begin < size; ++begin) {
        const std::uint32_t left = size - begin;
        if (nodes_.size() < count_ + most_at_place_) nodes_.resize(2 * nodes_.size() + most_at_place_);
        LatticeNode* next = nodes_.data() + count_;
        if (!pieces_.tree.is_piece[pieces_.symbols[at + begin]])
            *next++ = {UnigramPieces::kUnknownId, begin, begin + 1, pieces_.unknown_score()};
        for (std::uint32_t id = longest[begin]; id != kNoPiece; id = pieces[id].parent)
            if (const std::uint32_t length = pieces[id].length; length <= left)
                *next++ = {id, begin, begin + length, pieces[id].score};
        count_ = static_cast<std::size_t>(next - nodes_.data());
    }
}

void UnigramLattice::add_expected(const FloatLogs& log, float weight, std::vector<float>& sums) {
    forward_.assign(size_ + 1, kNone);
    backward_.assign(size_ + 1, kNone);
    forward_[0] = backward_[size_] = 0;
    for (std::size_t i = 0, j = count_; j-- > 0; ++i) {  // the two sums do not wait for each other
        const LatticeNode &next = nodes_[i], &last = nodes_[j];
        __builtin_prefetch(&sums[next.id], 1);
        forward_[next.end] = log.sum(forward_[next.end], next.score + forward_[next.begin]);
        backward_[last.begin] = log.sum(backward_[last.begin], last.score + backward_[last.end]);
    }
    const float all = forward_[size_];
    for (const LatticeNode& node : nodes())
        log.add_exp(sums[node.id], weight, forward_[node.begin] + node.score + backward_[node.end] - all);
}

void UnigramLattice::add_best(float weight, std::vector<float>& counts) {
    best_.assign(size_ + 1, {kNone, kNone, 0});
    best_[0].score = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
        const LatticeNode& node = nodes_[i];
        const float score = best_[node.begin].score + node.score;
        Best& best = best_[node.end];
        if (score > best.score) best = {score, best.score, i};
    }
    float next_score = 0;
    for (std::uint32_t position = size_; position > 0;) {
        const LatticeNode& node = nodes_[last_before(position, next_score)];
        counts[node.id] += weight;
        position = node.begin;
        next_score = node.score;
    }
}

// Returns the last node of the best segmentation up to a position at which a node of `next_score` begins. The library
// compares sums that include that score. So a node that was found before the best one is taken if both sums round to
// the same number.
std::uint32_t UnigramLattice::last_before(std::uint32_t position, float next_score) const {
    const Best& best = best_[position];
    const float sum = best.score + next_score;
    if (best.before + next_score < sum) return best.node;
    for (std::uint32_t i = 0;; ++i)
        if (nodes_[i].end == position && best_[nodes_[i].begin].score + nodes_[i].score + next_score == sum) return i;
}

float UnigramLattice::best_without_whole() {
    best_.assign(size_ + 1, {kNone, kNone, 0});
    best_[0].score = 0;
    for (const LatticeNode& node : nodes())
        if (node.end - node.begin < size_)
            best_[node.end].score = std::max(best_[node.end].score, best_[node.begin].score + node.score);
    return best_[size_].score;
}

}  // namespace nmt_prep::sentencepiece
