#include "t2t_trainer.h"

#include <algorithm>

#include "t2t_escape.h"
#include "text_errors.h"
#include "utf8.h"

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kPollEvery = std::size_t{1} << 20;

template <class Visit>
void for_each_character(std::string_view text, Visit&& visit) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    const std::uint8_t* const end = at + text.size();
    while (at != end) visit(next_utf8(at));
}

// Calls put(symbol) for each symbol of an escaped token, the final underscore included.
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

}  // namespace

Trainer::Trainer(const CountTable& counts, const std::vector<std::string>& reserved, std::uint32_t max_depth,
                 const Poll& poll)
    : max_depth_(max_depth) {
    if (counts.entries().empty())
        throw TrainingError("there are no tokens to build a vocabulary from: every line is empty; "
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
        if ((since_poll += entry.token.size()) >= kPollEvery) {
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
        throw TrainingError("the distinct tokens have " + std::to_string(size) + " characters, and at most " +
                            std::to_string(kMaxSymbols) + " fit one build; sample less text");
    tokens_.symbols = static_cast<std::uint32_t>(alphabet_.size());
    tokens_.last = symbols_[U'_'];
    tokens_.text.reserve(size);
    for (const TokenCount& entry : counts.entries()) {
        for_each_symbol(entry.token, symbols_, [&](std::uint32_t each) { tokens_.text.push_back(each); });
        tokens_.ends.push_back(tokens_.text.size());
        counts_.push_back(entry.count);
        if ((since_poll += entry.token.size()) >= kPollEvery) {
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
    std::sort(pinned_.begin(), pinned_.end());
    pinned_.erase(std::unique(pinned_.begin(), pinned_.end()), pinned_.end());
}

// The passes with one minimum count. Each pass weighs nodes by the starts at them, and a sweep decides.
class Trainer::Passes {
   public:
    Passes(const Trainer& trainer, std::int64_t min_count, const Poll& poll)
        : trainer_(trainer),
          min_count_(min_count),
          poll_(poll),
          tree_(build_tree(trainer.suffixes_, trainer.leaf_counts_, trainer.pinned_, min_count, trainer.max_depth_,
                           poll)),
          counts_(tree_.size()),
          taken_(tree_.size()),
          match_(tree_.size()),
          node_at_(trainer.tokens_.text.size()) {
        const std::vector<std::uint32_t>& leaf_of = trainer.suffixes_.leaf_of;
        for (std::size_t begin = 0; begin < node_at_.size(); begin += kPollEvery) {
            poll();
            const std::size_t end = std::min(node_at_.size(), begin + kPollEvery);
            for (std::size_t at = begin; at < end; ++at) node_at_[at] = tree_.node_of[leaf_of[at]];
        }
    }

    // Every position is a start, as every character is a piece of its own.
    void first() {
        for (std::size_t leaf = 0; leaf < tree_.node_of.size(); ++leaf)
            counts_[tree_.node_of[leaf]] += trainer_.leaf_counts_[leaf];
        sweep();
    }

    // Starts are where the pieces of the pass before begin when they cut the tokens.
    void next() {
        for (std::size_t node = tree_.size(); node-- > 0;)
            match_[node] = is_piece(node) || is_pinned(node) ? tree_.depth[node]
                           : tree_.parent[node] == kNone     ? 1
                                                             : match_[tree_.parent[node]];
        std::fill(counts_.begin(), counts_.end(), 0);
        std::fill(taken_.begin(), taken_.end(), 0);
        const TokenText& tokens = trainer_.tokens_;
        std::size_t at = 0, polled = 0;
        for (std::size_t token = 0; token < tokens.ends.size(); ++token) {
            const std::size_t end = tokens.ends[token];
            const std::int64_t count = trainer_.counts_[token];
            while (at < end) {
                const std::uint32_t node = node_at_[at];
                counts_[node] += count;
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
        for (std::uint32_t node = 0; node < tree_.size(); ++node) {
            const bool character = tree_.depth[node] == 1;
            if (!character && !is_piece(node)) continue;
            candidate.pieces.push_back({counts_[node] - taken_[node], tree_.leaf[node], tree_.depth[node]});
            if (character) seen[trainer_.symbol(candidate.pieces.back())] = true;
        }
        for (std::uint32_t each = 1; each < seen.size(); ++each)
            if (!seen[each]) candidate.pieces.push_back({0, kNone, each});
        std::sort(candidate.pieces.begin(), candidate.pieces.end(), [&](const auto& a, const auto& b) {
            if (a.count != b.count) return a.count > b.count;
            if (a.count == 0) return trainer_.symbol(a) > trainer_.symbol(b);  // characters all
            return std::pair(a.leaf, a.depth) > std::pair(b.leaf, b.depth);
        });
        return candidate;
    }

   private:
    bool is_pinned(std::size_t node) const {
        if (trainer_.pinned_.empty() || tree_.depth[node] != trainer_.suffixes_.length[tree_.leaf[node]]) return false;
        return std::binary_search(trainer_.pinned_.begin(), trainer_.pinned_.end(), tree_.leaf[node]);
    }

    bool is_piece(std::size_t node) const {
        const std::uint32_t depth = tree_.depth[node];
        return counts_[node] - taken_[node] >= min_count_ && depth > 1 && depth <= trainer_.max_depth_;
    }

    // Sums counts upwards, and what accepted pieces take off the counts of their prefixes.
    void sweep() {
        for (std::size_t node = 0; node < tree_.size(); ++node) {
            const std::uint32_t parent = tree_.parent[node];
            if (parent == kNone) continue;
            counts_[parent] += counts_[node];
            taken_[parent] += is_piece(node) ? counts_[node] : taken_[node];
        }
    }

    const Trainer& trainer_;
    const std::int64_t min_count_;
    const Poll& poll_;
    const Tree tree_;
    std::vector<std::int64_t> counts_;
    std::vector<std::int64_t> taken_;
    std::vector<std::uint32_t> match_;    // length of the longest piece at a start of this node
    std::vector<std::uint32_t> node_at_;  // position in the text -> node of its suffix
};

Candidate Trainer::build(std::int64_t min_count, int passes, const Poll& poll) const {
    if (max_depth_ == 0) {
        Candidate candidate;
        for (auto each = static_cast<std::uint32_t>(alphabet_.size()); each > 0; --each)
            candidate.pieces.push_back({0, kNone, each});
        return candidate;
    }
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
            for (std::size_t i = 0; i < found.depth; ++i)
                append_utf8(*piece, alphabet_[tokens_.text[begin + i] - 1]);
        }
        ++piece;
    }
    return pieces;
}

}  // namespace nmt_prep::t2t
