#include "bpe/known_pairs.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace nmt_prep::bpe {

void KnownPairs::clear(std::size_t expected) {
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * expected, 1024));
    pairs_.clear();
    slots_.assign(size, {});
    shift_ = 64 - static_cast<unsigned>(std::bit_width(size) - 1);
    active_.clear();
    for (auto& candidates : waiting_) candidates.clear();
    lowest_active_ = kSmall;
}

void KnownPairs::insert(std::uint64_t key, std::uint32_t number) {
    const std::uint64_t hash = hash_of(key);
    std::size_t at = hash >> shift_;
    while (slots_[at].number != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {static_cast<std::uint32_t>(hash), number + 1};
}

void KnownPairs::add(const PairList& pair) {
    const auto number = static_cast<std::uint32_t>(pairs_.size());
    pairs_.push_back(pair);
    insert(pair.key, number);
    if (2 * pairs_.size() > slots_.size()) {
        slots_.assign(2 * slots_.size(), {});
        --shift_;
        for (std::uint32_t each = 0; each < pairs_.size(); ++each) insert(pairs_[each].key, each);
    }
    queue({pair.count, pair.key, number});
}

void KnownPairs::queue(const Candidate& candidate) {
    if (std::cmp_less(candidate.count, lowest_active_)) {
        waiting_[static_cast<std::size_t>(candidate.count)].push_back(candidate);
        return;
    }
    active_.push_back(candidate);
    std::ranges::push_heap(active_, later_);
}

// Makes a heap of the candidates with the largest small count; returns false if this count is below `floor`.
bool KnownPairs::activate_next(std::int64_t floor) {
    while (std::cmp_greater(lowest_active_, floor)) {
        --lowest_active_;
        for (const Candidate& candidate : waiting_[lowest_active_]) {
            const std::int64_t count = pairs_[candidate.number].count;
            if (count == candidate.count)
                active_.push_back(candidate);
            else if (count >= floor)
                queue({count, candidate.key, candidate.number});
        }
        std::vector<Candidate>().swap(waiting_[lowest_active_]);
        std::ranges::make_heap(active_, later_);
        if (!active_.empty()) return true;
    }
    return false;
}

PairList* KnownPairs::take(std::int64_t floor) {
    for (;;) {
        if (active_.empty() && !activate_next(floor)) return nullptr;
        std::ranges::pop_heap(active_, later_);
        const Candidate top = active_.back();
        active_.pop_back();
        PairList& pair = pairs_[top.number];
        if (pair.count == top.count) return &pair;
        if (pair.count >= floor) queue({pair.count, top.key, top.number});
    }
}

}  // namespace nmt_prep::bpe
