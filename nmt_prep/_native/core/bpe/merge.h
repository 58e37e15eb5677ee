// The merge loop of every BPE dialect. It works on symbols (numbers) and a lookup function of the caller.
//
// As long as two neighbors can merge, the pair with the lowest priority value is merged, of equal values the leftmost.
// Short sequences are scanned; long ones use a heap, in O(n log n).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bpe/short_word.h"

namespace nmt_prep::bpe {

// Result of looking up two neighbors: the merge's priority (lower goes first) in the upper half, the resulting symbol
// in the lower. Equal priorities are allowed.
using Merge = std::uint64_t;
inline constexpr Merge kNoMerge = ~Merge{0};

constexpr Merge make_merge(std::uint32_t priority, std::int32_t symbol) {
    return Merge{priority} << 32 | static_cast<std::uint32_t>(symbol);
}
constexpr std::uint32_t merge_priority(Merge merge) { return static_cast<std::uint32_t>(merge >> 32); }
constexpr std::int32_t merge_symbol(Merge merge) { return static_cast<std::int32_t>(merge & 0xFFFFFFFFu); }

// Scratch space for merging, for one thread at a time. Lookup: Merge lookup(std::int32_t left, std::int32_t right), and
// perhaps lookup.prefetch(left, right).
class Merger {
   public:
    // Merges `symbols` in place and returns the number of remaining symbols. Requires size < 2^32, and priorities up to
    // ShortWord::kMaxPriority.
    template <class Lookup>
    std::size_t merge(std::int32_t* symbols, std::size_t size, const Lookup& lookup) {
        if (size < 2) return size;
        if (size <= kMaxScanned) return scan<Skips::kForGood>(symbols, size, lookup, never);
        return merge_in_heap<Skips::kForGood>(symbols, size, lookup, never);
    }

    // A possible merge: the number of merges before it, and three positions among the initial symbols: the beginning of
    // its left symbol, and beginning and end of its right symbol.
    struct Candidate {
        std::size_t step, begin, middle, end;
    };
    // The time for which a merge is skipped: until the next merge of any two symbols, as in the paper on BPE-dropout,
    // or as long as its symbols are neighbors, as in the SentencePiece library.
    enum class Skips : std::uint8_t { kForStep, kForGood };

    // Merges with BPE-dropout: skips the next merge if drop(candidate) is true, and ends when all possible merges are
    // skipped.
    template <Skips kSkips, class Lookup, class Drop>
    std::size_t merge_with_dropout(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop) {
        if (size < 2) return size;
        if (size <= kMaxScanned) return scan<kSkips>(symbols, size, lookup, drop);
        return merge_in_heap<kSkips>(symbols, size, lookup, drop);
    }

   private:
    static constexpr std::size_t kMaxScanned = ShortWord::kMaxSymbols;
    static constexpr std::uint32_t kEnd = UINT32_MAX;

    // A symbol and its neighbors, by position. `merge` is the merge with its right neighbor.
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
    // Priority, then position; an entry is out of date if the node's merge has another priority.
    std::vector<std::uint64_t> heap_;
    std::vector<std::uint64_t> dropped_;
};

template <Merger::Skips kSkips, class Lookup, class Drop>
std::size_t Merger::scan(std::int32_t* symbols, std::size_t size, const Lookup& lookup, const Drop& drop) {
    ShortWord word(size);
    std::array<std::int32_t, kMaxScanned> merged;
    const auto look_up = [&](std::size_t at, std::size_t next) {
        const Merge merge = lookup(symbols[at], symbols[next]);
        word.set(at, merge_priority(merge));
        merged[at] = merge_symbol(merge);
    };
    const auto prefetch = [&](std::size_t at, std::size_t next) {
        if constexpr (requires { lookup.prefetch(symbols[at], symbols[next]); })
            lookup.prefetch(symbols[at], symbols[next]);
    };
    for (std::size_t i = 1; i < size; ++i) prefetch(i - 1, i);
    for (std::size_t i = 1; i < size; ++i) look_up(i - 1, i);
    std::array<ShortWord::Key, kMaxScanned> skipped;  // skipped in this step
    std::size_t step = 0, skips = 0;
    for (ShortWord::Key key = word.lowest(); ShortWord::is_merge(key); key = word.lowest()) {
        const std::size_t begin = ShortWord::place_of(key), middle = word.after(begin), end = word.after(middle);
        word.remove(begin);
        if (drop(Candidate{step, begin, middle, end})) {
            if (kSkips == Skips::kForStep) skipped[skips++] = key;
            continue;
        }
        ++step;
        for (; skips > 0; --skips) word.restore(skipped[skips - 1]);
        word.join(middle);
        symbols[begin] = merged[begin];
        if (end < size) prefetch(begin, end);
        // From left to right, since an unused piece of SentencePiece is split as in its last lookup.
        if (begin > 0) look_up(word.before(begin), begin);
        if (end < size) look_up(begin, end);
    }
    return word.pack(symbols);
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
        // Lookups go from left to right as in `scan`, since an unused piece of SentencePiece is split as in its last
        // lookup.
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
