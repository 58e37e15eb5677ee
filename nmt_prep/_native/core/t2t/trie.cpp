#include "t2t/trie.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kTailFrom = 16;
// More attempts would make the table denser but slow to build.
constexpr std::size_t kPlacesTried = 256;

std::size_t common_prefix(const Symbols& a, const Symbols& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

// Adds pieces in ascending order, so that the common prefix with the previous piece exists already.
class Trie::Builder {
   public:
    Builder(Trie& trie, std::uint32_t symbols) : trie_(trie), nodes_(symbols), block_(std::bit_ceil(symbols + 1)) {
        trie_.first_.resize(symbols + 1);
    }

    // `shared`: length of the common prefix with the previous piece; `unique_from`: first symbol after the common
    // prefixes with both neighbours.
    void add(const Symbols& piece, std::int32_t id, std::size_t shared, std::size_t unique_from) {
        if (piece.size() == 1) {
            trie_.first_[piece[0]].id = id;
            path_.clear();
            return;
        }
        path_.resize(std::min(shared > 0 ? shared - 1 : 0, path_.size()));
        for (std::size_t depth = path_.size() + 1; depth < piece.size(); ++depth) {
            if (depth > unique_from && !path_.empty() && piece.size() - depth >= kTailFrom) {
                edges_[path_.back()].next = kTail | static_cast<std::uint32_t>(trie_.tails_.size());
                trie_.tails_.push_back({trie_.tail_symbols_.size(), piece.size() - depth, id});
                const auto tail = piece.begin() + static_cast<std::ptrdiff_t>(depth);
                trie_.tail_symbols_.insert(trie_.tail_symbols_.end(), tail, piece.end());
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

    // Nodes with many edges are placed first, while most slots are free.
    void finish() {
        std::ranges::stable_sort(edges_, [](const Edge& a, const Edge& b) { return a.node < b.node; });
        std::vector<Siblings> nodes;
        for (std::size_t begin = 0, end; begin < edges_.size(); begin = end) {
            for (end = begin; end < edges_.size() && edges_[end].node == edges_[begin].node;) ++end;
            nodes.push_back({begin, end});
        }
        std::ranges::stable_sort(
            nodes, [](const Siblings& a, const Siblings& b) { return a.end - a.begin > b.end - b.begin; });
        add_block();
        std::vector<std::uint32_t> bases(nodes_ + 1, 0);
        for (const Siblings& each : nodes) {
            const std::uint32_t base = place(each);
            bases[edges_[each.begin].node] = base;
            is_base_[base] = true;
            for (std::size_t i = each.begin; i < each.end; ++i) trie_.owner_[base ^ edges_[i].symbol] = base;
        }
        for (std::size_t symbol = 0; symbol < trie_.first_.size(); ++symbol) trie_.first_[symbol].base = bases[symbol];
        trie_.reached_.resize(trie_.owner_.size());
        for (const Edge& edge : edges_)
            trie_.reached_[bases[edge.node] ^ edge.symbol] = {edge.id,
                                                              edge.next & kTail ? edge.next : bases[edge.next]};
    }

   private:
    struct Edge {
        std::uint32_t node;  // it leaves
        std::uint32_t symbol;
        std::uint32_t next;  // node it reaches, 0 if that has no edges
        std::int32_t id;
    };

    struct Siblings {
        std::size_t begin, end;  // in edges_
    };

    // Numbers below a power of two stay below it under exclusive or with symbols, so a new block has room for any node.
    void add_block() {
        trie_.owner_.resize(trie_.owner_.size() + block_, kFree);
        is_base_.resize(trie_.owner_.size(), false);
    }

    // Returns a base for which all edges of a node fall into free slots: the lowest found by a limited search.
    std::uint32_t place(const Siblings& node) {
        while (lowest_ < trie_.owner_.size() && trie_.owner_[lowest_] != kFree) ++lowest_;
        for (std::size_t from : {lowest_, trie_.owner_.size() - block_})
            if (const std::uint32_t base = search(node, from)) return base;
        add_block();
        return search(node, trie_.owner_.size() - block_);
    }

    std::uint32_t search(const Siblings& node, std::size_t from) const {
        const std::size_t end = std::min(from + kPlacesTried, trie_.owner_.size());
        for (std::size_t at = from; at < end; ++at) {
            const auto base = static_cast<std::uint32_t>(at) ^ edges_[node.begin].symbol;
            if (base != 0 && !is_base_[base] && fits(node, base)) return base;
        }
        return 0;
    }

    bool fits(const Siblings& node, std::uint32_t base) const {
        return std::all_of(edges_.begin() + static_cast<std::ptrdiff_t>(node.begin),
                           edges_.begin() + static_cast<std::ptrdiff_t>(node.end),
                           [&](const Edge& edge) { return trie_.owner_[base ^ edge.symbol] == kFree; });
    }

    Trie& trie_;
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> path_;  // edges of the previous piece, from its second symbol on
    std::uint32_t nodes_;              // last number given to a node; that of a first node is its symbol
    std::size_t block_;
    std::vector<bool> is_base_;
    std::size_t lowest_ = 0;  // no slot before it is free
};

Trie::Trie(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids, std::uint32_t symbols) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return pieces[a] < pieces[b]; });

    Builder builder(*this, symbols);
    std::size_t shared = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Symbols& piece = pieces[order[i]];
        const std::size_t next_shared = i + 1 < order.size() ? common_prefix(piece, pieces[order[i + 1]]) : 0;
        const bool again =
            i + 1 < order.size() && next_shared == piece.size() && pieces[order[i + 1]].size() == piece.size();
        if (piece.empty() || again) continue;  // adds only the last of equal pieces; `shared` remains valid
        builder.add(piece, ids[order[i]], shared, std::max(shared, next_shared));
        shared = next_shared;
    }
    builder.finish();
}

std::int32_t* Trie::match(const std::uint32_t*& begin, const std::uint32_t* stop, const std::uint32_t* end,
                          std::int32_t* ids, std::size_t& patience) const {
    const std::uint32_t* at = begin;
    while (at < stop && patience != 0) {
        Node node = first_[*at];
        std::int32_t id = node.id;
        const std::uint32_t* next = at + 1;
        const std::uint32_t* ahead = next;
        while (ahead != end) {
            if (node.base & kTail) {
                const Tail& tail = tails_[node.base & ~kTail];
                if (std::cmp_less(end - ahead, tail.size)) break;
                const bool same = std::equal(ahead, ahead + tail.size, tail_symbols_.data() + tail.begin);
                ahead += tail.size;
                id = same ? tail.id : id;
                next = same ? ahead : next;
                break;
            }
            const std::uint32_t place = node.base ^ *ahead;
            if (owner_[place] != node.base) break;
            node = reached_[place];
            ++ahead;
            id = node.id >= 0 ? node.id : id;
            next = node.id >= 0 ? ahead : next;
        }
        if (id < 0) break;
        patience -= std::min(patience, static_cast<std::size_t>(ahead - next));
        *ids++ = id;
        at = next;
    }
    begin = at;
    return ids;
}

}  // namespace nmt_prep::t2t
