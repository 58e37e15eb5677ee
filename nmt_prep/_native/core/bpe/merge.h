// The merge loop of every BPE dialect. It works on symbols (numbers) and a lookup function of the caller.
//
// As long as two neighbours can merge, the pair with the lowest priority value is merged, the leftmost of equals first.
// Short sequences are scanned; long ones use a heap, in O(n log n).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <type_traits>
#include <vector>

namespace nmt_prep::bpe {

// Result of a lookup of two neighbours: the merge's priority (lower goes first) in the upper half, the resulting symbol
// in the lower. Equal priorities are allowed.
using Merge = std::uint64_t;
inline constexpr Merge kNoMerge = ~Merge{0};

constexpr Merge make_merge(std::uint32_t priority, std::int32_t symbol) {
    return Merge{priority} << 32 | static_cast<std::uint32_t>(symbol);
}
constexpr std::uint32_t merge_priority(Merge merge) { return static_cast<std::uint32_t>(merge >> 32); }
constexpr std::int32_t merge_symbol(Merge merge) { return static_cast<std::int32_t>(merge & 0xFFFFFFFFu); }

// Scratch space for merging, for one thread at a time. Lookup: Merge lookup(std::int32_t left, std::int32_t right).
class Merger {
   public:
    // Merges `symbols` in place and returns how many are left. Requires size < 2^32 and priorities below 2^32 - 1.
    template <class Lookup>
    std::size_t merge(std::int32_t* symbols, std::size_t size, const Lookup& lookup) {
        if (size < 2) return size;
        if (size <= kMaxScanned) return scan<Skips::kForGood>(symbols, size, lookup, never);
        return merge_in_heap<Skips::kForGood>(symbols, size, lookup, never);
    }

    // A possible merge: the number of merges done before it, and where, among the initial symbols, its left symbol
    // begins, its right one begins, and this ends.
    struct Candidate {
        std::size_t step, begin, middle, end;
    };
    // How long a merge is skipped: until the next merge of any two symbols, as in BPE-dropout's paper, or as long as
    // the two are neighbours, as in the library of SentencePiece.
    enum class Skips : std::uint8_t { kForStep, kForGood };

    // The same with BPE-dropout: the next merge is skipped if drop(candidate) is true. Ends when nothing is left to
    // merge or everything was skipped.
    template <Skips kSkips, class Lookup, class Drop>
    std::size_t merge_with_dropout(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop) {
        if (size < 2) return size;
        if (size <= kMaxScanned) return scan<kSkips>(symbols, size, lookup, drop);
        return merge_in_heap<kSkips>(symbols, size, lookup, drop);
    }

   private:
    static constexpr std::size_t kMaxScanned = 32;
    static constexpr std::uint32_t kEnd = UINT32_MAX;

    // A symbol and its neighbours, by position. `merge` is the merge with its right neighbour.
    struct Node {
        std::uint32_t previous, next;
        Merge merge;
    };

    static bool never(const Candidate&) { return false; }
    template <Skips kSkips, class Lookup, class Drop>
    static std::size_t scan(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop);
    template <Skips kSkips, class Lookup, class Drop>
    std::size_t merge_in_heap(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop);
    template <class Lookup>
    void link(const std::int32_t* symbols, std::size_t size, const Lookup& lookup);
    template <class Lookup>
    void offer(std::uint32_t left, const std::int32_t* symbols, const Lookup& lookup);
    std::uint64_t pop() {
        std::ranges::pop_heap(heap_, std::greater<>());
        const std::uint64_t top = heap_.back();
        heap_.pop_back();
        return top;
    }
    void push(std::uint64_t entry) {
        heap_.push_back(entry);
        std::ranges::push_heap(heap_, std::greater<>());
    }

    std::vector<Node> nodes_;
    std::vector<std::uint64_t> heap_;  // priority, then position; out of date if the node's merge has another priority
    std::vector<std::uint64_t> dropped_;
};

template <Merger::Skips kSkips, class Lookup, class Drop>
std::size_t Merger::scan(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop) {
    constexpr bool kDrops = !std::is_same_v<Drop, bool(const Candidate&)>;
    Merge merges[kMaxScanned];            // merge of each symbol with its right neighbour
    std::size_t begins[kMaxScanned + 1];  // of each symbol, among the initial ones
    std::uint32_t skipped = 0;            // bits of the merges that are skipped for this step
    std::size_t pairs = size - 1;
    for (std::size_t i = 0; i < pairs; ++i) merges[i] = lookup(symbols[i], symbols[i + 1]);
    if constexpr (kDrops) std::iota(begins, begins + size + 1, std::size_t{0});
    while (pairs > 0) {
        std::size_t best = 0;
        const auto priority_at = [&](std::size_t i) {
            const std::uint32_t priority = merge_priority(merges[i]);
            return kSkips == Skips::kForStep && skipped >> i & 1 ? merge_priority(kNoMerge) : priority;
        };
        std::uint32_t lowest = priority_at(0);
        for (std::size_t i = 1; i < pairs; ++i) {
            const std::uint32_t priority = priority_at(i);
            best = priority < lowest ? i : best;
            lowest = priority < lowest ? priority : lowest;
        }
        if (lowest == merge_priority(kNoMerge)) break;
        if constexpr (kDrops) {
            if (drop(Candidate{size - 1 - pairs, begins[best], begins[best + 1], begins[best + 2]})) {
                if (kSkips == Skips::kForStep)
                    skipped |= std::uint32_t{1} << best;
                else
                    merges[best] = kNoMerge;
                continue;
            }
            skipped = 0;
            std::copy(begins + best + 2, begins + pairs + 2, begins + best + 1);
        }
        symbols[best] = merge_symbol(merges[best]);
        for (std::size_t i = best + 1; i < pairs; ++i) {
            symbols[i] = symbols[i + 1];
            merges[i - 1] = merges[i];
        }
        --pairs;
        if (best > 0) merges[best - 1] = lookup(symbols[best - 1], symbols[best]);
        if (best < pairs) merges[best] = lookup(symbols[best], symbols[best + 1]);
    }
    return pairs + 1;
}

template <class Lookup>
void Merger::link(const std::int32_t* symbols, std::size_t size, const Lookup& lookup) {
    nodes_.resize(size);
    heap_.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
        const bool last = i + 1 == size;
        nodes_[i] = {i - 1, last ? kEnd : i + 1, last ? kNoMerge : lookup(symbols[i], symbols[i + 1])};
        if (nodes_[i].merge != kNoMerge) heap_.push_back(std::uint64_t{merge_priority(nodes_[i].merge)} << 32 | i);
    }
    std::ranges::make_heap(heap_, std::greater<>());
}

template <class Lookup>
void Merger::offer(std::uint32_t left, const std::int32_t* symbols, const Lookup& lookup) {
    Node& node = nodes_[left];
    node.merge = node.next == kEnd ? kNoMerge : lookup(symbols[left], symbols[node.next]);
    if (node.merge != kNoMerge) push(std::uint64_t{merge_priority(node.merge)} << 32 | left);
}

template <Merger::Skips kSkips, class Lookup, class Drop>
std::size_t Merger::merge_in_heap(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop) {
    link(symbols, size, lookup);
    std::size_t step = 0;
    while (!heap_.empty()) {
        const std::uint64_t top = pop();
        const auto left = static_cast<std::uint32_t>(top);
        Node& node = nodes_[left];
        if (merge_priority(node.merge) != top >> 32) continue;
        const std::uint32_t right = node.next, behind = nodes_[right].next;
        if (drop(Candidate{step, left, right, behind == kEnd ? size : behind})) {
            if (kSkips == Skips::kForStep)
                dropped_.push_back(top);
            else
                node.merge = kNoMerge;
            continue;
        }
        ++step;
        symbols[left] = merge_symbol(node.merge);
        node.next = behind;
        nodes_[right].merge = kNoMerge;
        if (node.next != kEnd) nodes_[node.next].previous = left;
        // Lookups go from left to right as in `scan`, since SentencePiece's unused pieces split as last looked up.
        if (node.previous != kEnd) offer(node.previous, symbols, lookup);
        offer(left, symbols, lookup);
        for (const std::uint64_t entry : dropped_) push(entry);
        dropped_.clear();
    }
    dropped_.clear();
    std::size_t left = 0;
    for (std::uint32_t i = 0; i != kEnd; i = nodes_[i].next) symbols[left++] = symbols[i];
    return left;
}

}  // namespace nmt_prep::bpe
