// Longest matching blocks of two sequences, with the results of Python's difflib.SequenceMatcher(None, a, b): in
// sequences of 200 or more elements, elements that are more frequent than 1 in 100 begin no match ("autojunk").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "text/batch.h"

namespace nmt_prep::clean {

// Elements of a line that are compared with another line: the time of comparisons grows with the product of two
// lengths.
inline constexpr std::size_t kMostCompared = std::size_t{1} << 14;

// Scratch space for comparing sequences of E, unsigned integers. Long comparisons call `poll` often.
template <class E>
class SequenceMatcher {
   public:
    explicit SequenceMatcher(const Poll& poll) : poll_(poll) {}

    struct Match {
        std::size_t a;
        std::size_t b;
        std::size_t size;
    };

    // The sequences must outlive the calls below.
    void set(std::span<const E> a, std::span<const E> b) {
        a_ = a;
        b_ = b;
        index();
    }

    // Size of the longest match, as find_longest_match(0, len(a), 0, len(b)).size.
    std::size_t longest() { return longest_match(0, a_.size(), 0, b_.size()).size; }

    // Total size of all matching blocks; ratio() is twice this divided by the size of both sequences.
    std::size_t matched() {
        std::size_t total = 0;
        todo_.assign(1, {0, a_.size(), 0, b_.size()});
        while (!todo_.empty()) {
            const Range range = todo_.back();
            todo_.pop_back();
            const Match match = longest_match(range.a_low, range.a_high, range.b_low, range.b_high);
            if (match.size == 0) continue;
            total += match.size;
            if (range.a_low < match.a && range.b_low < match.b)
                todo_.push_back({range.a_low, match.a, range.b_low, match.b});
            const std::size_t a_end = match.a + match.size;
            const std::size_t b_end = match.b + match.size;
            if (a_end < range.a_high && b_end < range.b_high)
                todo_.push_back({a_end, range.a_high, b_end, range.b_high});
        }
        return total;
    }

   private:
    struct Range {
        std::size_t a_low, a_high, b_low, b_high;
    };

    // For each element of a, finds its group: the positions in b that hold the same element, ascending.
    void index() {
        sorted_.clear();
        for (std::size_t j = 0; j < b_.size(); ++j) sorted_.emplace_back(b_[j], static_cast<std::uint32_t>(j));
        std::sort(sorted_.begin(), sorted_.end());
        const std::size_t popular = b_.size() >= 200 ? b_.size() / 100 + 1 : b_.size();
        groups_.resize(a_.size());
        for (std::size_t i = 0; i < a_.size(); ++i) {
            const auto [first, last] = std::equal_range(sorted_.begin(), sorted_.end(), std::pair(a_[i], 0U),
                                                        [](const auto& x, const auto& y) { return x.first < y.first; });
            const auto count = static_cast<std::size_t>(last - first);
            const auto begin = static_cast<std::uint32_t>(first - sorted_.begin());
            groups_[i] = count > popular ? std::pair(begin, begin)
                                         : std::pair(begin, static_cast<std::uint32_t>(last - sorted_.begin()));
        }
        lengths_.assign(b_.size() + 1, 0);
        next_lengths_.assign(b_.size() + 1, 0);
    }

    Match longest_match(std::size_t a_low, std::size_t a_high, std::size_t b_low, std::size_t b_high) {
        Match best{a_low, b_low, 0};
        written_.clear();
        for (std::size_t i = a_low; i < a_high; ++i) {
            work_ += 1 + groups_[i].second - groups_[i].first;
            if (work_ > kPollEvery) poll_(), work_ = 0;
            next_written_.clear();
            // lengths_[j + 1]: length of the match that ends with a[i - 1] and b[j].
            for (std::uint32_t at = groups_[i].first; at < groups_[i].second; ++at) {
                const std::size_t j = sorted_[at].second;
                if (j < b_low) continue;
                if (j >= b_high) break;
                const std::size_t size = lengths_[j] + 1;
                next_lengths_[j + 1] = static_cast<std::uint32_t>(size);
                next_written_.push_back(static_cast<std::uint32_t>(j + 1));
                if (size > best.size) best = {i + 1 - size, j + 1 - size, size};
            }
            for (const std::uint32_t j : written_) lengths_[j] = 0;
            std::swap(lengths_, next_lengths_);
            std::swap(written_, next_written_);
        }
        for (const std::uint32_t j : written_) lengths_[j] = 0;
        while (best.a > a_low && best.b > b_low && a_[best.a - 1] == b_[best.b - 1]) {
            --best.a;
            --best.b;
            ++best.size;
        }
        while (best.a + best.size < a_high && best.b + best.size < b_high &&
               a_[best.a + best.size] == b_[best.b + best.size])
            ++best.size;
        return best;
    }

    const Poll& poll_;
    std::size_t work_ = 0;  // comparisons since the last poll
    std::span<const E> a_;
    std::span<const E> b_;
    std::vector<std::pair<E, std::uint32_t>> sorted_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> groups_;
    std::vector<std::uint32_t> lengths_, next_lengths_, written_, next_written_;
    std::vector<Range> todo_;
};

}  // namespace nmt_prep::clean
