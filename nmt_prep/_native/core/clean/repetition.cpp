#include "clean/repetition.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr unsigned kHeadBits = 11;

// White space as `\s` of the package regex, which unlike str.isspace does not include U+001C to U+001F.
bool is_space(char32_t point) {
    if (point < 0x80) return point == ' ' || (point >= 9 && point <= 13);
    return Properties::of(point).space();
}

// Finds repetitions in a sequence of characters. Positions with the same first characters are linked, so that only
// strings that begin alike are compared: a string cannot be repeated where its beginning is not.
class Finder {
   public:
    Finder(const Repetition& wanted, const Poll& poll)
        : wanted_(wanted),
          shortest_(wanted.min > SIZE_MAX / (wanted.times + 1) ? SIZE_MAX : wanted.min * (wanted.times + 1)),
          poll_(poll) {}

    std::size_t operator()(const Line& line) {
        if (line.size() < shortest_) return 0;
        if (line.ascii) return find(std::span(line.begin, line.size()));
        points_.clear();
        for (const std::uint8_t* at = line.begin; at < line.end;) points_.push_back(next_utf8(at));
        return find(std::span<const char32_t>(points_));
    }

   private:
    template <class C>
    std::size_t find(std::span<const C> text) {
        if (text.size() < shortest_) return 0;
        switch (std::min<std::size_t>(wanted_.min, 3)) {
            case 1: link<1>(text); break;
            case 2: link<2>(text); break;
            default: link<3>(text);
        }
        for (auto begin = candidates_.rbegin(); begin != candidates_.rend(); ++begin) {
            if (*begin + shortest_ > text.size() || is_space(text[*begin])) continue;
            if (++work_ % 1024 == 0) poll_();
            if (const std::size_t count = repeated_from(text, *begin)) return count;
        }
        return 0;
    }

    // Sets next_[i] to the next position with the same hash of its first kGram characters, kNone without one. The
    // candidates are the positions that have one, in descending order.
    template <std::size_t kGram, class C>
    void link(std::span<const C> text) {
        if (base_ > kNone / 2 || text.size() > kNone / 4) {
            heads_.fill(0);
            base_ = 1;
        }
        next_.resize(text.size());
        candidates_.resize(text.size());
        std::size_t count = 0;
        const C* const points = text.data();
        for (std::size_t i = 0; i + 1 < kGram; ++i) next_[text.size() - 1 - i] = kNone;
        for (std::size_t i = text.size() + 1 - kGram; i-- > 0;) {
            std::uint32_t hash = points[i];
            for (std::size_t k = 1; k < kGram; ++k) hash = hash * 0x01000193U + points[i + k];
            std::uint32_t& head = heads_[(hash * 0x9E3779B1U) >> (32 - kHeadBits)];
            const bool linked = head >= base_;  // else it belongs to an earlier line
            next_[i] = linked ? head - base_ : kNone;
            head = base_ + static_cast<std::uint32_t>(i);
            candidates_[count] = static_cast<std::uint32_t>(i);
            count += linked ? 1 : 0;
        }
        candidates_.resize(count);
        base_ += static_cast<std::uint32_t>(text.size());
    }

    // Returns the repetition count of the shortest string from `begin` with enough repetitions, 0 if there is
    // none.
    template <class C>
    std::size_t repeated_from(std::span<const C> text, std::size_t begin) const {
        // A string ends where its repetition begins, or at one of the spaces before it. Ascending repetitions, and
        // fewer and fewer spaces, give ascending lengths.
        for (std::size_t second = next_[begin]; second != kNone; second = next_[second]) {
            if (text[second] == text[begin])
                if (const std::size_t count = repeated_at(text, begin, second)) return count;
            if (second - begin > wanted_.max + 1 && text[second] != ' ') return 0;
        }
        return 0;
    }

    // Tries the strings whose first copy begins at `second`, with any number of spaces before the copy.
    template <class C>
    std::size_t repeated_at(std::span<const C> text, std::size_t begin, std::size_t second) const {
        std::size_t spaces = 0;
        while (second - spaces > begin + 1 && text[second - spaces - 1] == ' ') ++spaces;
        for (;; --spaces) {
            const std::size_t size = second - spaces - begin;
            if (size > wanted_.max + 1) return 0;
            if (size >= wanted_.min && starts_at(text, begin, size, second)) {
                const auto string = text.subspan(begin, size);
                const bool lines = std::find(string.begin(), string.end(), C{'\n'}) != string.end();
                const std::size_t count = lines ? 0 : count_from(text, begin, size);
                if (count >= wanted_.times) return count;
            }
            if (spaces == 0) return 0;
        }
    }

    template <class C>
    static bool starts_at(std::span<const C> text, std::size_t begin, std::size_t size, std::size_t at) {
        return text.size() - at >= size &&
               std::equal(text.data() + begin, text.data() + begin + size, text.data() + at);
    }

    template <class C>
    static std::size_t count_from(std::span<const C> text, std::size_t begin, std::size_t size) {
        std::size_t count = 0;
        for (std::size_t at = begin + size;; at += size, ++count) {
            while (at < text.size() && text[at] == ' ') ++at;
            if (!starts_at(text, begin, size, at)) return count;
        }
    }

    Repetition wanted_;
    std::size_t shortest_;
    const Poll& poll_;
    std::size_t work_ = 0;  // candidates so far
    std::vector<char32_t> points_;
    std::vector<std::uint32_t> next_;
    std::vector<std::uint32_t> candidates_;
    std::array<std::uint32_t, std::size_t{1} << kHeadBits> heads_{};  // positions from base_ on, by hash
    std::uint32_t base_ = 1;
};

}  // namespace

void repetitions(const Lines& lines, const Repetition& wanted, double* out, const Poll& poll) {
    Finder find(wanted, poll);
    for (std::size_t i = 0; i < lines.size(); ++i) out[i] = static_cast<double>(find(lines[i]));
}

}  // namespace nmt_prep::clean
