#include "t2t_trie.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kTailFrom = 16;
constexpr std::size_t kFilterBitsPerEdge = 16;

std::size_t common_prefix(const Symbols& a, const Symbols& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

// Adds pieces in ascending order: what a piece shares with the one before it is there already.
class Trie::Builder {
   public:
    Builder(Trie& trie, std::uint32_t symbols) : trie_(trie), nodes_(symbols) {
        trie_.single_.assign(symbols + 1, -1);
    }

    // `shared`: symbols in common with the piece before; `unique_from`: first symbol that neither neighbour shares.
    void add(const Symbols& piece, std::int32_t id, std::size_t shared, std::size_t unique_from) {
        if (piece.size() == 1) {
            trie_.single_[piece[0]] = id;
            path_.clear();
            return;
        }
        path_.resize(std::min(shared > 0 ? shared - 1 : 0, path_.size()));
        for (std::size_t depth = path_.size() + 1; depth < piece.size(); ++depth) {
            if (depth > unique_from && !path_.empty() && piece.size() - depth >= kTailFrom) {
                edges_[path_.back()].next = kTail | static_cast<std::uint32_t>(trie_.tails_.size());
                trie_.tails_.push_back({trie_.tail_symbols_.size(), piece.size() - depth, id});
                trie_.tail_symbols_.insert(trie_.tail_symbols_.end(), piece.begin() + static_cast<std::ptrdiff_t>(depth),
                                           piece.end());
                return;
            }
            std::uint32_t node = piece[0];
            if (!path_.empty()) {
                std::uint32_t& next = edges_[path_.back()].next;
                if (next == 0) next = ++nodes_;
                node = next;
            }
            path_.push_back(static_cast<std::uint32_t>(edges_.size()));
            edges_.push_back({node, piece[depth], 0, -1});
        }
        edges_[path_.back()].id = id;
    }

    void finish() {
        const auto bits = static_cast<std::size_t>(std::max(4, static_cast<int>(std::bit_width(edges_.size() + edges_.size() / 3))));
        const auto filter_bits =
            static_cast<std::size_t>(std::max(6, static_cast<int>(std::bit_width(kFilterBitsPerEdge * edges_.size()))));
        trie_.edge_shift_ = 64 - bits;
        trie_.filter_shift_ = 64 - filter_bits;
        trie_.edges_.resize(std::size_t{1} << bits);
        trie_.filter_.resize(std::size_t{1} << (filter_bits - 6));
        for (const Edge& each : edges_) {
            const std::uint64_t hashed = hash(each.node, each.symbol);
            const std::uint64_t bit = hashed >> trie_.filter_shift_;
            trie_.filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
            std::size_t at = hashed >> trie_.edge_shift_;
            while (trie_.edges_[at].node != kFree) at = (at + 1) & (trie_.edges_.size() - 1);
            trie_.edges_[at] = each;
        }
    }

   private:
    Trie& trie_;
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> path_;  // edges of the piece before, from its second symbol on
    std::uint32_t nodes_;              // last number given to a node
};

Trie::Trie(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids, std::uint32_t symbols) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return pieces[a] < pieces[b]; });

    Builder builder(*this, symbols);
    std::size_t shared = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Symbols& piece = pieces[order[i]];
        const std::size_t next_shared = i + 1 < order.size() ? common_prefix(piece, pieces[order[i + 1]]) : 0;
        const bool again = i + 1 < order.size() && next_shared == piece.size() &&
                           pieces[order[i + 1]].size() == piece.size();
        if (piece.empty() || again) continue;  // `shared` stays: the last of equals has the same neighbour before it
        builder.add(piece, ids[order[i]], shared, std::max(shared, next_shared));
        shared = next_shared;
    }
    builder.finish();
}

const Trie::Edge* Trie::find(std::uint32_t node, std::uint32_t symbol) const {
    const std::uint64_t hashed = hash(node, symbol);
    const std::uint64_t bit = hashed >> filter_shift_;
    if ((filter_[bit / 64] >> (bit % 64) & 1) == 0) return nullptr;
    for (std::size_t at = hashed >> edge_shift_;; at = (at + 1) & (edges_.size() - 1)) {
        const Edge& edge = edges_[at];
        if (edge.node == node && edge.symbol == symbol) return &edge;
        if (edge.node == kFree) return nullptr;
    }
}

std::int32_t* Trie::match(const std::uint32_t*& begin, const std::uint32_t* end, std::int32_t* ids) const {
    const std::uint32_t* at = begin;
    while (at != end) {
        std::int32_t id = single_[*at];
        std::uint32_t node = *at;
        const std::uint32_t* next = at + 1;
        for (const std::uint32_t* ahead = next; node != 0 && ahead != end;) {
            if (node & kTail) {
                const Tail& tail = tails_[node & ~kTail];
                if (static_cast<std::size_t>(end - ahead) >= tail.size &&
                    std::equal(ahead, ahead + tail.size, tail_symbols_.data() + tail.begin)) {
                    id = tail.id;
                    next = ahead + tail.size;
                }
                break;
            }
            const Edge* const edge = find(node, *ahead);
            if (edge == nullptr) break;
            ++ahead;
            if (edge->id >= 0) {
                id = edge->id;
                next = ahead;
            }
            node = edge->next;
        }
        if (id < 0) break;
        *ids++ = id;
        at = next;
    }
    begin = at;
    return ids;
}

}  // namespace nmt_prep::t2t
