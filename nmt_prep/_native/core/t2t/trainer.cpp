#include "t2t/trainer.h"

#include <algorithm>

#include "t2t/character_set.h"
#include "t2t/escape.h"
#include "text/errors.h"
#include "text/parallel.h"
#include "text/utf8.h"

namespace nmt_prep::t2t {
namespace {

// A tree for several minimum counts has at most one node for every kLeavesPerNode leaves, or kSmallTree nodes.
constexpr std::size_t kLeavesPerNode = 4;
constexpr std::size_t kSmallTree = std::size_t{1} << 16;

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
    CharacterSet characters;
    for (const char32_t point : kEscapeCharacters) characters.add(point);
    for (const std::string& token : reserved) characters.add_text(token);
    std::size_t since_poll = 0;
    for (const TokenCount& entry : counts.entries()) {
        characters.add_text(entry.token());
        since_poll += entry.token().size();
        if (since_poll >= kPollEvery) {
            poll();
            since_poll = 0;
        }
    }
    alphabet_ = characters.ascending();
    symbols_.assign(alphabet_.back() + 1, 0);
    for (std::uint32_t i = 0; i < alphabet_.size(); ++i) symbols_[alphabet_[i]] = i + 1;
}

void Trainer::read_tokens(const CountTable& counts, const Poll& poll) {
    std::size_t size = 0, since_poll = 0;
    for (const TokenCount& entry : counts.entries())
        for_each_symbol(entry.token(), symbols_, [&](std::uint32_t) { ++size; });
    if (size > kMaxSymbols)
        throw TrainingError("the distinct tokens have " + std::to_string(size) + " characters, more than the " +
                            std::to_string(kMaxSymbols) + " that training supports; sample less text");
    tokens_.symbols = static_cast<std::uint32_t>(alphabet_.size());
    tokens_.last = symbols_[U'_'];
    tokens_.text.reserve(size);
    for (const TokenCount& entry : counts.entries()) {
        for_each_symbol(entry.token(), symbols_, [&](std::uint32_t each) { tokens_.text.push_back(each); });
        tokens_.ends.push_back(tokens_.text.size());
        counts_.push_back(entry.count);
        since_poll += entry.token().size();
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
    if (min_total >= planted_) return;
    // Building a tree takes longer than passes over it, so one tree serves smaller counts as well.
    if (planted_ != INT64_MAX)
        min_total = std::min(min_total, tree_.least_total(std::max(kSmallTree, leaf_counts_.size() / kLeavesPerNode)));
    planted_ = INT64_MAX;  // until the tree is built: an interrupt leaves none
    tree_ = Tree();
    tree_ = build_tree(suffixes_, leaf_counts_, pinned_, min_total, max_depth_, poll);
    planted_ = min_total;
}

// Finds the node of each position, unless the tree is the same as before.
void Trainer::find_nodes(const Poll& poll) {
    if (tree_.node_of.empty()) return;
    gather(suffixes_.leaf_of, tree_.node_of, node_at_, poll);
    std::vector<std::uint32_t>().swap(tree_.node_of);
}

// The passes with one minimum count. Each pass adds the counts of piece starts to their nodes, and a sweep selects the
// pieces. The tree may have nodes whose totals are too small; they are never selected.
class Trainer::Passes {
   public:
    Passes(const Trainer& trainer, std::int64_t min_count, std::size_t threads, const Poll& poll)
        : trainer_(trainer), tree_(trainer.tree_), min_count_(min_count), threads_(threads), poll_(poll) {
        const TokenText& tokens = trainer.tokens_;
        const std::size_t parts = tokens.text.size() < kParallelFrom
                                      ? 1
                                      : std::min(threads, std::max(kParts, tokens.text.size() / tree_.size()));
        for (std::size_t part = 1; part <= parts; ++part)
            part_ends_.push_back(static_cast<std::size_t>(
                std::ranges::lower_bound(tokens.ends, tokens.text.size() * part / parts) - tokens.ends.begin()));
        part_ends_.back() = tokens.ends.size();
        left_.resize(parts);
    }

    // Every position is a start, since every character is a piece.
    void first() {
        std::vector<std::int64_t>& left = left_.front();
        left.assign(tree_.size(), 0);
        for (std::size_t node = 0; node < tree_.size(); ++node) {
            left[node] += tree_.total[node];
            if (tree_.parent[node] != kNone) left[tree_.parent[node]] -= tree_.total[node];
        }
        sweep();
    }

    // Starts are the beginnings of the previous pass's pieces in the segmented tokens.
    void next() {
        match_.resize(tree_.size());
        for (std::size_t node = tree_.size(); node-- > 0;)
            match_[node] = is_piece(node) || is_pinned(node) ? tree_.depth[node]
                           : tree_.parent[node] == kNone     ? 1
                                                             : match_[tree_.parent[node]];
        parallel_for(left_.size(), threads_,
                     [this](std::size_t part, std::size_t thread) { count_starts(part, thread == 0); });
        std::vector<std::int64_t>& left = left_.front();
        for (std::size_t part = 1; part < left_.size(); ++part)
            for (std::size_t node = 0; node < left.size(); ++node) left[node] += left_[part][node];
        sweep();
    }

    Candidate pieces() const {
        Candidate candidate;
        std::vector<bool> seen(trainer_.alphabet_.size() + 1, false);
        for (std::size_t node = 0; node < tree_.size(); ++node) {
            const bool character = tree_.parent[node] == kNone;
            if (!character && !is_piece(node)) continue;
            candidate.pieces.push_back({left_.front()[node], tree_.leaf[node], tree_.depth[node]});
            if (character) seen[trainer_.symbol(candidate.pieces.back())] = true;
        }
        for (std::uint32_t each = 1; each < seen.size(); ++each)
            if (!seen[each]) candidate.pieces.push_back({0, kNone, each});
        return candidate;
    }

   private:
    static constexpr std::size_t kParallelFrom = std::size_t{1} << 17;  // positions; fewer are not worth a thread
    static constexpr std::size_t kParts =
        2;  // parts of the text; more for a small tree, since each part needs counts of its nodes

    bool is_pinned(std::size_t node) const {
        if (trainer_.pinned_.empty()) return false;
        const std::uint32_t leaf = tree_.leaf[node];
        return tree_.depth[node] == trainer_.suffixes_.length[leaf] &&
               std::ranges::binary_search(trainer_.pinned_, leaf);
    }

    bool is_piece(std::size_t node) const {
        return left_.front()[node] >= min_count_ && tree_.parent[node] != kNone &&
               tree_.depth[node] <= trainer_.max_depth_;
    }

    void count_starts(std::size_t part, bool may_poll) {
        const TokenText& tokens = trainer_.tokens_;
        std::vector<std::int64_t>& left = left_[part];
        left.assign(tree_.size(), 0);
        const std::size_t first = part == 0 ? 0 : part_ends_[part - 1];
        std::size_t at = first == 0 ? 0 : tokens.ends[first - 1], polled = at;
        for (std::size_t token = first; token < part_ends_[part]; ++token) {
            const std::size_t end = tokens.ends[token];
            const std::int64_t count = trainer_.counts_[token];
            while (at < end) {
                const std::uint32_t node = trainer_.node_at_[at];
                left[node] += count;
                at += match_[node];
            }
            if (may_poll && at - polled >= kPollEvery) {
                poll_();
                polled = at;
            }
        }
    }

    void sweep() {
        std::vector<std::int64_t>& left = left_.front();
        for (std::size_t node = 0; node < tree_.size(); ++node)
            if (tree_.parent[node] != kNone && !is_piece(node)) left[tree_.parent[node]] += left[node];
    }

    const Trainer& trainer_;
    const Tree& tree_;
    const std::int64_t min_count_;
    const std::size_t threads_;
    const Poll& poll_;
    std::vector<std::size_t> part_ends_;  // ends of the text's parts that tasks count
    // By part of the text and node: the count minus the counts of accepted pieces below the node. After a pass, the
    // first part has the sums of all parts.
    std::vector<std::vector<std::int64_t>> left_;
    std::vector<std::uint32_t> match_;  // length of the longest piece at a start of this node
};

std::size_t Trainer::most_pieces(std::int64_t min_count, const Poll& poll) {
    if (max_depth_ == 0) return alphabet_.size();
    plant(min_count, poll);
    // The pieces at and below a node begin at different positions, at least min_count each.
    std::vector<std::uint32_t> most(tree_.size(), 0);
    std::size_t pieces = alphabet_.size();
    for (std::size_t node = 0; node < tree_.size(); ++node) {
        if (tree_.total[node] < min_count) continue;
        const std::uint32_t parent = tree_.parent[node];
        if (parent != kNone) ++most[node];
        if (most[node] * min_count > tree_.total[node])
            most[node] = static_cast<std::uint32_t>(tree_.total[node] / min_count);
        if (parent != kNone)
            most[parent] += most[node];
        else
            pieces += most[node];
    }
    return pieces;
}

Candidate Trainer::build(std::int64_t min_count, int passes, std::size_t threads, const Poll& poll) {
    if (max_depth_ == 0) {
        Candidate candidate;
        for (auto each = static_cast<std::uint32_t>(alphabet_.size()); each > 0; --each)
            candidate.pieces.push_back({0, kNone, each});
        return candidate;
    }
    plant(min_count, poll);
    find_nodes(poll);
    Passes state(*this, min_count, threads, poll);
    state.first();
    for (int pass = 1; pass < passes; ++pass) state.next();
    return state.pieces();
}

std::uint32_t Trainer::symbol(const Candidate::Piece& piece) const {
    return piece.leaf == kNone ? piece.depth : tokens_.text[suffixes_.position[piece.leaf]];
}

std::vector<std::string> Trainer::pieces(Candidate candidate) const {
    for (const Candidate::Piece& piece : candidate.pieces) {
        const bool is_symbol = piece.leaf == kNone;
        const bool known = is_symbol ? piece.depth >= 1 && piece.depth <= alphabet_.size()
                                     : piece.leaf < suffixes_.position.size() && piece.depth >= 1 &&
                                           piece.depth <= tokens_.text.size() - suffixes_.position[piece.leaf];
        if (!known) throw std::invalid_argument("the candidate is that of another trainer");
    }
    std::ranges::sort(candidate.pieces, [&](const auto& a, const auto& b) {
        if (a.count != b.count) return a.count > b.count;
        if (a.count == 0) return symbol(a) > symbol(b);  // characters all
        return std::pair(a.leaf, a.depth) > std::pair(b.leaf, b.depth);
    });
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
