#include "t2t/trie.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace nmt_prep::t2t {
namespace {

constexpr std::size_t kTailFrom = 16;
// Number of groups of 64 slots that are tried. More groups would make the table denser, but slower to build.
constexpr std::size_t kGroupsTried = 16;

std::size_t common_prefix(const Symbols& a, const Symbols& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Returns the bits of a word in another order: bit i of the result is bit i ^ `mask`.
std::uint64_t exclusive_or_places(std::uint64_t word, std::uint32_t mask) {
    constexpr std::uint64_t kLower[] = {0x5555555555555555u, 0x3333333333333333u, 0x0F0F0F0F0F0F0F0Fu,
                                        0x00FF00FF00FF00FFu, 0x0000FFFF0000FFFFu, 0x00000000FFFFFFFFu};
    for (std::uint32_t bit = 0; bit < 6; ++bit) {
        const std::uint64_t exchanged = (word >> (1u << bit) & kLower[bit]) | (word & kLower[bit]) << (1u << bit);
        // Without a branch, which would often be mispredicted, because masks are nearly random.
        word ^= (word ^ exchanged) & (0 - std::uint64_t{mask >> bit & 1});
    }
    return word;
}

// Returns the numbers of the pieces in ascending order of the pieces; equal pieces are in the order of their numbers.
std::vector<std::size_t> ascending(const std::vector<Symbols>& pieces, std::uint32_t symbols) {
    struct Keyed {
        std::uint64_t key;  // the first symbols; few pieces have the same
        std::size_t number;
    };
    const auto bits = static_cast<std::size_t>(std::bit_width(symbols));
    std::vector<Keyed> items;
    items.reserve(pieces.size());
    for (const Symbols& piece : pieces) {
        std::uint64_t key = 0;
        const std::size_t packed = 64 / bits;
        for (std::size_t i = 0; i < packed; ++i) key = key << bits | (i < piece.size() ? piece[i] : 0);
        items.push_back({key, items.size()});
    }
    std::ranges::sort(items, [&](const Keyed& a, const Keyed& b) {
        if (a.key != b.key) return a.key < b.key;
        const Symbols &first = pieces[a.number], &second = pieces[b.number];
        return first != second ? first < second : a.number < b.number;
    });
    std::vector<std::size_t> numbers;
    numbers.reserve(items.size());
    for (const Keyed& item : items) numbers.push_back(item.number);
    return numbers;
}

}  // namespace

// Adds pieces in ascending order, so that the common prefix with the previous piece exists already.
class Trie::Builder {
   public:
    Builder(Trie& trie, std::uint32_t symbols)
        : trie_(trie), nodes_(symbols), block_(std::max<std::size_t>(std::bit_ceil(symbols + 1), 64)) {
        trie_.first_.resize(symbols + 1);
    }

    // `shared`: length of the common prefix with the previous piece; `unique_from`: first symbol after the common
    // prefixes with both neighbors.
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
        std::vector<Siblings> nodes = group_edges();
        std::ranges::sort(nodes, [](const Siblings& a, const Siblings& b) {
            const std::size_t edges_a = a.end - a.begin, edges_b = b.end - b.begin;
            return edges_a != edges_b ? edges_a > edges_b : a.begin < b.begin;
        });
        add_block();
        std::vector<std::uint32_t> bases(nodes_ + 1, 0);
        for (const Siblings& each : nodes) {
            const std::uint32_t base = place(each);
            bases[edges_[each.begin].node] = base;
            unused_[base / 64] &= ~(std::uint64_t{1} << base % 64);
            for (std::size_t i = each.begin; i < each.end; ++i) {
                const std::uint32_t slot = base ^ edges_[i].symbol;
                trie_.owner_[slot] = base;
                free_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
            }
        }
        for (std::size_t symbol = 0; symbol < trie_.first_.size(); ++symbol) trie_.first_[symbol].base = bases[symbol];
        trie_.reached_.resize(trie_.owner_.size());
        for (const Edge& edge : edges_)
            trie_.reached_[bases[edge.node] ^ edge.symbol] = {edge.id,
                                                              edge.next & kTail ? edge.next : bases[edge.next]};
    }

   private:
    struct Edge {
        std::uint32_t node;  // node that the edge leaves
        std::uint32_t symbol;
        std::uint32_t next;  // node that the edge reaches, 0 if that node has no edges
        std::int32_t id;
    };

    struct Siblings {
        std::size_t begin, end;  // in edges_
    };

    // Sorts the edges by the nodes that they leave, and the edges of a node by their symbols.
    std::vector<Siblings> group_edges() {
        std::vector<std::size_t> ends(nodes_ + 1, 0);
        for (const Edge& edge : edges_) ++ends[edge.node];
        std::vector<Siblings> nodes;
        std::size_t size = 0;
        for (std::size_t& end : ends) {
            const std::size_t begin = size;
            size += std::exchange(end, begin);
            if (size > begin) nodes.push_back({begin, size});
        }
        std::vector<Edge> grouped(edges_.size());
        for (const Edge& edge : edges_) grouped[ends[edge.node]++] = edge;
        edges_ = std::move(grouped);
        return nodes;
    }

    // Numbers below a power of two stay below it under exclusive or with symbols, so a new block has room for any node.
    void add_block() {
        trie_.owner_.resize(trie_.owner_.size() + block_, kFree);
        free_.resize(trie_.owner_.size() / 64, ~std::uint64_t{0});
        unused_.resize(free_.size(), ~std::uint64_t{0});
        unused_[0] &= ~std::uint64_t{1};
    }

    // Returns a base for which all edges of a node fall into free slots: the lowest base that a limited search finds.
    std::uint32_t place(const Siblings& node) {
        if (node.end - node.begin != placed_) from_ = 0;
        placed_ = node.end - node.begin;
        while (from_ < free_.size() && free_[from_] == 0) ++from_;
        std::uint32_t base = search(node, from_);
        if (base == 0) base = search(node, (trie_.owner_.size() - block_) / 64);
        if (base == 0) {
            add_block();
            base = search(node, (trie_.owner_.size() - block_) / 64);
        }
        from_ = (base ^ edges_[node.begin].symbol) / 64;
        return base;
    }

    // Tries 64 bases at a time: the bases that put the first edge into one word of free_.
    std::uint32_t search(const Siblings& node, std::size_t from) const {
        const std::size_t end = std::min(from + kGroupsTried, free_.size());
        for (std::size_t word = from; word < end; ++word) {
            const std::size_t group = word ^ edges_[node.begin].symbol / 64;
            std::uint64_t fitting = unused_[group];
            for (std::size_t i = node.begin; i < node.end && fitting != 0; ++i) {
                const std::uint32_t symbol = edges_[i].symbol;
                fitting &= exclusive_or_places(free_[group ^ symbol / 64], symbol % 64);
            }
            if (fitting != 0)
                return static_cast<std::uint32_t>(64 * group) + static_cast<std::uint32_t>(std::countr_zero(fitting));
        }
        return 0;
    }

    Trie& trie_;
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> path_;  // edges of the previous piece, from its second symbol on
    std::uint32_t nodes_;              // number of the last node; a first node's number is its symbol
    std::size_t block_;
    // One bit per number: slots that are free, and bases that no node has.
    std::vector<std::uint64_t> free_, unused_;
    std::size_t placed_ = 0;  // edges of the last node that was placed
    std::size_t from_ = 0;    // where its first edge is in free_; nodes with the same number of edges rarely fit before
};

Trie::Trie(const std::vector<Symbols>& pieces, const std::vector<std::int32_t>& ids, std::uint32_t symbols) {
    const std::vector<std::size_t> order = ascending(pieces, symbols);
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
