#include "clean/copy.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clean/matching.h"
#include "text/casefold.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

// Iterates over the case-folded letters of a line.
class FoldedLetters {
   public:
    explicit FoldedLetters(const Line& line) : at_(line.begin), end_(line.end) {}

    // Returns the next letter, 0 at the end.
    char32_t next() {
        while (used_ == size_) {
            if (at_ == end_) return 0;
            const char32_t point = next_utf8(at_);
            const bool letter = point < 0x80 ? (point | 32U) - 'a' < 26U : Properties::of(point).letter();
            if (!letter) continue;
            used_ = size_ = 0;
            casefold(point, [this](char32_t folded) { folded_[size_++] = folded; });
        }
        return folded_[used_++];
    }

   private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
    char32_t folded_[3] = {};
    std::size_t used_ = 0;
    std::size_t size_ = 0;
};

bool letters_equal(const Line& source, const Line& target, std::size_t min_letters) {
    FoldedLetters a(source);
    FoldedLetters b(target);
    for (std::size_t count = 0;; ++count) {
        const char32_t letter = a.next();
        if (letter != b.next()) return false;
        if (letter == 0) return count > 0 && count >= min_letters;
    }
}

void read_characters(const Line& line, std::vector<std::uint32_t>& points) {
    points.clear();
    for (const std::uint8_t* at = line.begin; at < line.end && points.size() < kMostCompared;)
        points.push_back(next_utf8(at));
}

using TokenIds = std::unordered_map<std::string_view, std::uint32_t>;

void read_tokens(const Lines& lines, const Line& line, TokenIds& ids, std::vector<std::uint32_t>& tokens) {
    tokens.clear();
    lines.for_each_token(line, [&](const std::uint8_t* begin, const std::uint8_t* end) {
        if (tokens.size() == kMostCompared) return;
        const std::string_view token(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin));
        tokens.push_back(ids.try_emplace(token, static_cast<std::uint32_t>(ids.size())).first->second);
    });
}

// Levenshtein distances by the bit-parallel algorithm of Myers ("A fast bit-vector algorithm for approximate string
// matching based on dynamic programming", 1999), in blocks of 64 rows (Hyyrö, "A bit-vector algorithm for computing
// Levenshtein and Damerau edit distances", 2003).
class EditDistance {
   public:
    using Sequence = std::span<const std::uint32_t>;

    explicit EditDistance(const Poll& poll) : poll_(poll) {}

    std::size_t operator()(Sequence a, Sequence b) {
        while (!a.empty() && !b.empty() && a.front() == b.front()) a = a.subspan(1), b = b.subspan(1);
        while (!a.empty() && !b.empty() && a.back() == b.back()) a = a.first(a.size() - 1), b = b.first(b.size() - 1);
        if (a.empty() || b.empty()) return std::max(a.size(), b.size());
        index(a);
        const std::size_t blocks = (a.size() + 63) / 64;
        positive_.assign(blocks, ~std::uint64_t{0});
        negative_.assign(blocks, 0);
        const std::uint64_t last = std::uint64_t{1} << (a.size() - 1) % 64;
        std::size_t distance = a.size();
        for (const std::uint32_t element : b) {
            work_ += blocks;
            if (work_ > kPollEvery) poll_(), work_ = 0;
            const std::uint64_t* const matches = matches_of(element, blocks);
            std::uint64_t carry_positive = 1;
            std::uint64_t carry_negative = 0;
            for (std::size_t block = 0; block < blocks; ++block) {
                const std::uint64_t match = matches[block] | carry_negative;
                const std::uint64_t diagonal =
                    (((match & positive_[block]) + positive_[block]) ^ positive_[block]) | match | negative_[block];
                std::uint64_t up = negative_[block] | ~(diagonal | positive_[block]);
                std::uint64_t down = positive_[block] & diagonal;
                if (block + 1 == blocks) {
                    distance += (up & last) != 0 ? 1 : 0;
                    distance -= (down & last) != 0 ? 1 : 0;
                }
                const std::uint64_t next_positive = up >> 63;
                const std::uint64_t next_negative = down >> 63;
                up = up << 1 | carry_positive;
                down = down << 1 | carry_negative;
                positive_[block] = down | ~(diagonal | up);
                negative_[block] = up & diagonal;
                carry_positive = next_positive;
                carry_negative = next_negative;
            }
        }
        return distance;
    }

   private:
    void index(Sequence a) {
        const std::size_t blocks = (a.size() + 63) / 64;
        elements_.assign(a.begin(), a.end());
        std::ranges::sort(elements_);
        elements_.erase(std::ranges::unique(elements_).begin(), elements_.end());
        matches_.assign((elements_.size() + 1) * blocks, 0);  // the last row is for elements that are not in a
        for (std::size_t i = 0; i < a.size(); ++i) matches_[row(a[i]) * blocks + i / 64] |= std::uint64_t{1} << i % 64;
    }

    std::size_t row(std::uint32_t element) const {
        const auto found = std::ranges::lower_bound(elements_, element);
        const bool known = found != elements_.end() && *found == element;
        return known ? static_cast<std::size_t>(found - elements_.begin()) : elements_.size();
    }

    const std::uint64_t* matches_of(std::uint32_t element, std::size_t blocks) const {
        return matches_.data() + row(element) * blocks;
    }

    const Poll& poll_;
    std::size_t work_ = 0;                 // blocks since the last poll
    std::vector<std::uint32_t> elements_;  // distinct elements of a, ascending
    std::vector<std::uint64_t> matches_;   // by element: a bit for each of its positions in a
    std::vector<std::uint64_t> positive_;
    std::vector<std::uint64_t> negative_;
};

}  // namespace

void equal_letters(const Lines& source, const Lines& target, std::size_t min_letters, double* out) {
    for (std::size_t i = 0; i < source.size(); ++i)
        out[i] = letters_equal(source[i], target[i], min_letters) ? 1.0 : 0.0;
}

void edit_similarity(const Lines& source, const Lines& target, bool tokens, double* out, const Poll& poll) {
    std::vector<std::uint32_t> a;
    std::vector<std::uint32_t> b;
    EditDistance distance(poll);
    TokenIds ids;
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (tokens) {
            ids.clear();
            read_tokens(source, source[i], ids, a);
            read_tokens(target, target[i], ids, b);
        } else {
            read_characters(source[i], a);
            read_characters(target[i], b);
        }
        const std::size_t longest = std::max(a.size(), b.size());
        out[i] = longest == 0 ? 1.0 : 1.0 - static_cast<double>(distance(a, b)) / static_cast<double>(longest);
    }
}

void common_substring(const Lines& source, const Lines& target, double* out, const Poll& poll) {
    std::vector<std::uint32_t> a;
    std::vector<std::uint32_t> b;
    SequenceMatcher<std::uint32_t> matcher(poll);
    for (std::size_t i = 0; i < source.size(); ++i) {
        read_characters(source[i], a);
        read_characters(target[i], b);
        const std::size_t shorter = std::min(a.size(), b.size());
        if (shorter == 0) {
            out[i] = 0.0;
            continue;
        }
        matcher.set(a, b);
        out[i] = static_cast<double>(matcher.longest()) / static_cast<double>(shorter);
    }
}

}  // namespace nmt_prep::clean
