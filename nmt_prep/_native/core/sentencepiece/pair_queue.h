// Pairs that wait to be merged, the most frequent ones first.
//
// Frequent pairs are in a heap. Others are in a list per count, which becomes a heap when its turn comes; so a pair
// that has become rarer moves at almost no cost. A count that is added is never above the count of the pair that was
// taken last.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nmt_prep::sentencepiece {

struct Candidate {
    std::int64_t count;
    std::uint64_t rank;  // length and first characters of the piece: the lower one goes first
    std::uint32_t pair;
};

class PairQueue {
   public:
    void clear() {
        frequent_.clear();
        for (std::vector<Candidate>& list : rare_) list.clear();
        level_ = kLists - 1;
        level_is_heap_ = false;
    }

    // after(a, b): true if candidate `a` comes after `b`.
    template <class After>
    void push(const Candidate& candidate, const After& after) {
        std::vector<Candidate>& list = list_of(candidate.count);
        list.push_back(candidate);
        if (&list == &frequent_ || (level_is_heap_ && &list == &rare_[level_])) std::ranges::push_heap(list, after);
    }

    // Takes the first candidate; false if there is none.
    template <class After>
    bool pop(Candidate& candidate, const After& after) {
        std::vector<Candidate>* list = &frequent_;
        if (frequent_.empty()) {
            for (; rare_[level_].empty(); --level_, level_is_heap_ = false)
                if (level_ == 0) return false;
            list = &rare_[level_];
            if (!level_is_heap_) std::ranges::make_heap(*list, after);
            level_is_heap_ = true;
        }
        std::ranges::pop_heap(*list, after);
        candidate = list->back();
        list->pop_back();
        return true;
    }

   private:
    static constexpr std::int64_t kLists = 256;

    std::vector<Candidate>& list_of(std::int64_t count) {
        return count >= kLists ? frequent_ : rare_[static_cast<std::size_t>(count)];
    }

    std::vector<Candidate> frequent_;                    // a heap
    std::array<std::vector<Candidate>, kLists> rare_{};  // by count
    std::size_t level_ = kLists - 1;                     // lists above are empty
    bool level_is_heap_ = false;
};

}  // namespace nmt_prep::sentencepiece
