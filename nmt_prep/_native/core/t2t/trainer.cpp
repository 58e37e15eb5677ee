#include "t2t/trainer.h"

#include <algorithm>

#include "t2t/escape.h"
#include "text/errors.h"
#include "text/utf8.h"

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kPollEvery = std::size_t{1} << 20;

template <class Visit>
void for_each_character(std::string_view text, Visit&& visit) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    const std::uint8_t* const end = at + text.size();
    while (at != end) visit(next_utf8(at));
}

// Calls put(symbol) for each symbol of an escaped token, including the final underscore.
template <class Put>
void for_each_symbol(std::string_view token, const std::vector<std::uint32_t>& symbols, Put&& put) {
    for_each_character(token, [&](char32_t point) {
        if (always_escaped(point))
            escape(point, [&](char32_t part) { put(symbols[part]); });
        else
            put(symbols[point]);
    });
    put(symbols[U'_']);
}

// to[i] = values[indices[i]]
void gather(const std::vector<std::uint32_t>& indices, const std::vector<std::uint32_t>& values,
            std::vector<std::uint32_t>& to, const Poll& poll) {
    to.resize(indices.size());
    for (std::size_t begin = 0; begin < indices.size(); begin += kPollEvery) {
        poll();
        const std::size_t end = std::min(indices.size(), begin + kPollEvery);
        for (std::size_t i = begin; i < end; ++i) to[i] = values[indices[i]];
    }
}

}  // namespace

Trainer::Trainer(const CountTable& counts, const std::vector<std::string>& reserved, std::uint32_t max_depth,
                 const Poll& poll)
    : max_depth_(max_depth) {
    if (counts.entries().empty())
        throw TrainingError(
            "there are no tokens to build a vocabulary from: every line is empty; "
            "give lines with text");
    read_alphabet(counts, reserved, poll);
    for (const std::string& token : reserved) {
        reserved_.emplace_back();
        for_each_symbol(token, symbols_, [&](std::uint32_t each) { reserved_.back().push_back(each); });
    }
    read_tokens(counts, poll);
    suffixes_ = sort_suffixes(tokens_, poll);
    count_leaves(poll);
    pin_reserved();
}

void Trainer::read_alphabet(const CountTable& counts, const std::vector<std::string>& reserved, const Poll& poll) {
    symbols_.assign(0x110000, 0);
    for (const char32_t point : kEscapeCharacters) symbols_[point] = 1;
    for (const std::string& token : reserved) for_each_character(token, [&](char32_t point) { symbols_[point] = 1; });
    std::size_t since_poll = 0;
    for (const TokenCount& entry : counts.entries()) {
        for_each_character(entry.token, [&](char32_t point) { symbols_[point] = 1; });
        since_poll += entry.token.size();
        if (since_poll >= kPollEvery) {
            poll();
            since_poll = 0;
        }
    }
    for (char32_t point = 0; point < symbols_.size(); ++point) {
        if (symbols_[point] == 0) continue;
        alphabet_.push_back(point);
        symbols_[point] = static_cast<std::uint32_t>(alphabet_.size());
    }
}

void Trainer::read_tokens(const CountTable& counts, const Poll& poll) {
    std::size_t size = 0, since_poll = 0;
    for (const TokenCount& entry : counts.entries())
        for_each_symbol(entry.token, symbols_, [&](std::uint32_t) { ++size; });
    if (size > kMaxSymbols)
        throw TrainingError("the distinct tokens have " + std::to_string(size) + " characters, more than the " +
                            std::to_string(kMaxSymbols) + " that training supports; sample less text");
    tokens_.symbols = static_cast<std::uint32_t>(alphabet_.size());
    tokens_.last = symbols_[U'_'];
    tokens_.text.reserve(size);
    for (const TokenCount& entry : counts.entries()) {
        for_each_symbol(entry.token, symbols_, [&](std::uint32_t each) { tokens_.text.push_back(each); });
        tokens_.ends.push_back(tokens_.text.size());
        counts_.push_back(entry.count);
        since_poll += entry.token.size();
        if (since_poll >= kPollEvery) {
            poll();
            since_poll = 0;
        }
    }
}

void Trainer::count_leaves(const Poll& poll) {
    leaf_counts_.assign(suffixes_.position.size(), 0);
    std::size_t at = 0;
    for (std::size_t token = 0; token < counts_.size(); ++token) {
        if (token % kPollEvery == 0) poll();
        for (; at < tokens_.ends[token]; ++at) leaf_counts_[suffixes_.leaf_of[at]] += counts_[token];
    }
}

void Trainer::pin_reserved() {
    const auto suffix = [&](std::uint32_t leaf) {
        const auto begin = tokens_.text.begin() + suffixes_.position[leaf];
        return std::pair(begin, begin + suffixes_.length[leaf]);
    };
    for (const auto& piece : reserved_) {
        std::uint32_t low = 0;
        auto high = static_cast<std::uint32_t>(suffixes_.position.size());
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            const auto [begin, end] = suffix(middle);
            if (std::lexicographical_compare(begin, end, piece.begin(), piece.end()))
                low = middle + 1;
            else
                high = middle;
        }
        if (low == suffixes_.position.size()) continue;
        const auto [begin, end] = suffix(low);
        if (std::equal(begin, end, piece.begin(), piece.end())) pinned_.push_back(low);
    }
    std::ranges::sort(pinned_);
    pinned_.erase(std::ranges::unique(pinned_).begin(), pinned_.end());
}

void Trainer::plant(std::int64_t min_total, const Poll& poll) {
    tree_ = Tree();
    tree_ = build_tree(suffixes_, leaf_counts_, pinned_, min_total, max_depth_, poll);
    planted_ = min_total;
    gather(suffixes_.leaf_of, tree_.node_of, node_at_, poll);
    std::vector<std::uint32_t>().swap(tree_.node_of);
}

// The passes with one minimum count, over the remaining nodes of the tree. Each pass adds the counts of piece starts to
// their nodes, and a sweep selects the pieces.
class Trainer::Passes {
   public:
    Passes(const Trainer& trainer, std::int64_t min_count, const Poll& poll)
        : trainer_(trainer), min_count_(min_count), poll_(poll) {
        prune();
    }

    // Every position is a start, since every character is a piece.
    void first() {
        const Tree& tree = trainer_.tree_;
        left_.assign(origin_.size(), 0);
        for (std::size_t node = 0; node < origin_.size(); ++node) {
            const std::int64_t total = tree.total[origin_[node]];
            left_[node] += total;
            if (parent_[node] != kNone) left_[parent_[node]] -= total;
        }
        sweep();
    }

    // Starts are the beginnings of the previous pass's pieces in the segmented tokens.
    void next() {
        for (std::size_t node = origin_.size(); node-- > 0;)
            match_[node] = is_piece(node) || is_pinned(node) ? trainer_.tree_.depth[origin_[node]]
                           : parent_[node] == kNone          ? 1
                                                             : match_[parent_[node]];
        std::ranges::fill(left_, 0);
        const TokenText& tokens = trainer_.tokens_;
        std::size_t at = 0, polled = 0;
        for (std::size_t token = 0; token < tokens.ends.size(); ++token) {
            const std::size_t end = tokens.ends[token];
            const std::int64_t count = trainer_.counts_[token];
            while (at < end) {
                const std::uint32_t node = node_at_[at];
                left_[node] += count;
                at += match_[node];
            }
            if (at - polled >= kPollEvery) {
                poll_();
                polled = at;
            }
        }
        sweep();
    }

    Candidate pieces() const {
        Candidate candidate;
        std::vector<bool> seen(trainer_.alphabet_.size() + 1, false);
        for (std::size_t node = 0; node < origin_.size(); ++node) {
            const bool character = parent_[node] == kNone;
            if (!character && !is_piece(node)) continue;
            const std::uint32_t origin = origin_[node];
            candidate.pieces.push_back({left_[node], trainer_.tree_.leaf[origin], trainer_.tree_.depth[origin]});
            if (character) seen[trainer_.symbol(candidate.pieces.back())] = true;
        }
        for (std::uint32_t each = 1; each < seen.size(); ++each)
            if (!seen[each]) candidate.pieces.push_back({0, kNone, each});
        std::ranges::sort(candidate.pieces, [&](const auto& a, const auto& b) {
            if (a.count != b.count) return a.count > b.count;
            if (a.count == 0) return trainer_.symbol(a) > trainer_.symbol(b);  // characters all
            return std::pair(a.leaf, a.depth) > std::pair(b.leaf, b.depth);
        });
        return candidate;
    }

   private:
    // Nodes that can never reach the minimum are removed; references to them change to the nearest remaining ancestor.
    void prune() {
        const Tree& tree = trainer_.tree_;
        const auto stays = [&](std::size_t node) {
            return tree.total[node] >= min_count_ || tree.parent[node] == kNone || is_pinned_origin(node);
        };
        std::size_t kept = 0;
        for (std::size_t node = 0; node < tree.size(); ++node) kept += stays(node);
        parent_.resize(kept);
        origin_.resize(kept);
        match_.resize(tree.size());  // temporarily, the new index of each node
        for (std::size_t node = tree.size(); node-- > 0;) {
            const std::uint32_t above = tree.parent[node] == kNone ? kNone : match_[tree.parent[node]];
            if (stays(node)) {
                --kept;
                parent_[kept] = above;
                origin_[kept] = static_cast<std::uint32_t>(node);
                match_[node] = static_cast<std::uint32_t>(kept);
            } else {
                match_[node] = above;
            }
        }
        gather(trainer_.node_at_, match_, node_at_, poll_);
        match_.resize(origin_.size());
    }

    bool is_pinned_origin(std::size_t node) const {
        if (trainer_.pinned_.empty()) return false;
        const std::uint32_t leaf = trainer_.tree_.leaf[node];
        return trainer_.tree_.depth[node] == trainer_.suffixes_.length[leaf] &&
               std::ranges::binary_search(trainer_.pinned_, leaf);
    }

    bool is_pinned(std::size_t node) const { return is_pinned_origin(origin_[node]); }

    bool is_piece(std::size_t node) const {
        return left_[node] >= min_count_ && parent_[node] != kNone &&
               trainer_.tree_.depth[origin_[node]] <= trainer_.max_depth_;
    }

    void sweep() {
        for (std::size_t node = 0; node < origin_.size(); ++node)
            if (parent_[node] != kNone && !is_piece(node)) left_[parent_[node]] += left_[node];
    }

    const Trainer& trainer_;
    const std::int64_t min_count_;
    const Poll& poll_;
    std::vector<std::uint32_t> parent_;   // kNone at depth 1
    std::vector<std::uint32_t> origin_;   // node of the tree
    std::vector<std::int64_t> left_;      // count that accepted pieces below have not subtracted
    std::vector<std::uint32_t> match_;    // length of the longest piece at a start of this node
    std::vector<std::uint32_t> node_at_;  // position in the text -> node of its suffix
};

Candidate Trainer::build(std::int64_t min_count, int passes, const Poll& poll) {
    if (max_depth_ == 0) {
        Candidate candidate;
        for (auto each = static_cast<std::uint32_t>(alphabet_.size()); each > 0; --each)
            candidate.pieces.push_back({0, kNone, each});
        return candidate;
    }
    // Most suffixes occur once, so a tree without them is used for all minimum counts except 1.
    if (min_count < planted_) plant(std::min<std::int64_t>(min_count, 2), poll);
    Passes state(*this, min_count, poll);
    state.first();
    for (int pass = 1; pass < passes; ++pass) state.next();
    return state.pieces();
}

std::uint32_t Trainer::symbol(const Candidate::Piece& piece) const {
    return piece.leaf == kNone ? piece.depth : tokens_.text[suffixes_.position[piece.leaf]];
}

std::vector<std::string> Trainer::pieces(const Candidate& candidate) const {
    std::vector<std::string> pieces(reserved_.size() + candidate.pieces.size());
    auto piece = pieces.begin();
    for (const auto& symbols : reserved_) {
        for (const std::uint32_t each : symbols) append_utf8(*piece, alphabet_[each - 1]);
        ++piece;
    }
    for (const Candidate::Piece& found : candidate.pieces) {
        if (found.leaf == kNone) {
            append_utf8(*piece, alphabet_[found.depth - 1]);
        } else {
            const std::size_t begin = suffixes_.position[found.leaf];
            for (std::size_t i = 0; i < found.depth; ++i) append_utf8(*piece, alphabet_[tokens_.text[begin + i] - 1]);
        }
        ++piece;
    }
    return pieces;
}

}  // namespace nmt_prep::t2t
