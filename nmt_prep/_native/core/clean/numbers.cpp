#include "clean/numbers.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr int kNoDigit = -1;

// Value of a decimal digit of any script. The ten digits of a script have consecutive code points, and several scripts
// may follow each other: the first digit is a digit whose predecessor is not one, or comes a multiple of ten after it.
int digit_value(char32_t point) {
    if (point < 0x80) return point >= '0' && point <= '9' ? static_cast<int>(point - '0') : kNoDigit;
    if (!Properties::of(point).decimal()) return kNoDigit;
    char32_t first = point;
    while (Properties::of(first - 1).decimal()) --first;
    return static_cast<int>((point - first) % 10);
}

// Value of a Han digit, kNoDigit if it is none.
int han_digit(char32_t point) {
    constexpr char32_t kDigits[] = {U'〇', U'一', U'二', U'三', U'四', U'五', U'六', U'七', U'八', U'九'};
    const auto* const found = std::ranges::find(kDigits, point);
    if (found != std::end(kDigits)) return static_cast<int>(found - std::begin(kDigits));
    return point == U'零' ? 0 : point == U'两' || point == U'兩' ? 2 : kNoDigit;
}

// Power of ten of a Han unit; 0 if it is none.
int han_unit(char32_t point) {
    switch (point) {
        case U'十': return 1;
        case U'百': return 2;
        case U'千': return 3;
        case U'万':
        case U'萬': return 4;
        case U'亿':
        case U'億': return 8;
        case U'兆': return 12;
        default: return 0;
    }
}

// Han numerals begin and continue with digits and units; 兆 (10^12) is a unit after digits only.
constexpr int kLargestUnit = 8;

bool is_han_numeral(char32_t point) {
    const int unit = han_unit(point);
    return han_digit(point) != kNoDigit || (unit != 0 && unit <= kLargestUnit);
}

enum class Separator : std::uint8_t { kNone, kPoint, kComma, kSpace, kApostrophe };

Separator separator_of(char32_t point) {
    switch (point) {
        case '.':
        case 0x066B:  // Arabic decimal separator
            return Separator::kPoint;
        case ',':
        case 0x066C:  // Arabic thousands separator
            return Separator::kComma;
        case ' ':
        case 0x00A0:
        case 0x2009:
        case 0x202F: return Separator::kSpace;
        case '\'':
        case 0x2019: return Separator::kApostrophe;
        default: return Separator::kNone;
    }
}

bool is_mark(Separator separator) { return separator == Separator::kPoint || separator == Separator::kComma; }

// A run of digits, and the separator between it and the next run.
struct Group {
    std::vector<std::uint8_t> digits;
    Separator after = Separator::kNone;
};

// Reads the numbers of one text.
class Reader {
   public:
    Reader(const std::uint8_t* begin, const std::uint8_t* end, std::vector<Number>& numbers)
        : at_(begin), end_(end), numbers_(numbers) {}

    void read() {
        while (at_ < end_) {
            const std::uint8_t* const begin = at_;
            const char32_t point = next_utf8(at_);
            if (digit_value(point) != kNoDigit) {
                at_ = begin;
                read_digits();
            } else if (point >= 0x3007 && is_han_numeral(point)) {
                at_ = begin;
                read_han();
            }
        }
    }

   private:
    // Returns the next code point without moving; 0 at the end.
    char32_t peek() const {
        const std::uint8_t* at = at_;
        return at < end_ ? next_utf8(at) : 0;
    }

    // Reads runs of digits that single separators join.
    void read_digits() {
        std::vector<Group> groups(1);
        while (at_ < end_) {
            const std::uint8_t* const begin = at_;
            const char32_t point = next_utf8(at_);
            if (const int digit = digit_value(point); digit != kNoDigit) {
                groups.back().digits.push_back(static_cast<std::uint8_t>(digit));
                continue;
            }
            const Separator separator = separator_of(point);
            if (separator != Separator::kNone && digit_value(peek()) != kNoDigit) {
                groups.back().after = separator;
                groups.emplace_back();
                continue;
            }
            at_ = begin;
            break;
        }
        const int power = read_units();
        for (std::size_t first = 0; first < groups.size();) first = add_number(groups, first, power);
    }

    // Reads units such as 万 after digits.
    int read_units() {
        int power = 0;
        while (const int unit = han_unit(peek())) {
            power += unit;
            next_utf8(at_);
        }
        return power;
    }

    // Adds the number that begins with a group and returns the group after it. `power`: units after the last group.
    std::size_t add_number(const std::vector<Group>& groups, std::size_t first, int power) {
        // Thousands: groups of three after one of up to three, all with one separator.
        const Separator mark = groups[first].after;
        std::size_t last = first;
        if (groups[first].digits.size() <= 3)
            while (last + 1 < groups.size() && groups[last].after == mark && groups[last + 1].digits.size() == 3)
                ++last;
        // One group of three after a point or comma may also be decimals; thousands are assumed.
        const Separator next = groups[last].after;
        // Decimals stand alone: 3.5, or 1,234.5, but not dates or versions such as 12.05.2010.
        const bool decimals = is_mark(next) && (last == first || next != mark) && !is_mark(groups[last + 1].after) &&
                              (first == 0 || !is_mark(groups[first - 1].after));
        std::vector<std::uint8_t> digits;
        for (std::size_t i = first; i <= last; ++i)
            digits.insert(digits.end(), groups[i].digits.begin(), groups[i].digits.end());
        int exponent = 0;
        if (decimals) {
            ++last;
            digits.insert(digits.end(), groups[last].digits.begin(), groups[last].digits.end());
            exponent = -static_cast<int>(groups[last].digits.size());
        }
        add(digits, exponent + (last + 1 == groups.size() ? power : 0), false);
        return last + 1;
    }

    void add(const std::vector<std::uint8_t>& digits, int exponent, bool spelled) {
        auto begin = digits.begin();
        auto end = digits.end();
        while (begin < end && *begin == 0) ++begin;
        if (begin == end) {
            numbers_.push_back({0, 0, spelled});
            return;
        }
        for (; *(end - 1) == 0; --end) ++exponent;
        constexpr std::uint64_t kHashed = std::uint64_t{1} << 63;
        std::uint64_t value = 0;
        if (end - begin <= 18) {
            for (; begin < end; ++begin) value = value * 10 + *begin;
        } else {
            for (; begin < end; ++begin) value = (value ^ *begin) * 0x100000001B3U;
            value |= kHashed;
        }
        numbers_.push_back({value, exponent, spelled});
    }

    // Reads a run of Han numerals: 二〇一〇 digit by digit, 三百五十 with units.
    void read_han() {
        std::uint64_t total = 0;    // value of units from 万 on
        std::uint64_t section = 0;  // value of smaller units after the last unit from 万 on
        std::uint64_t digits = 0;   // value of the digits since the last unit
        bool has_digits = false;
        bool has_units = false;
        for (int count = 0; count < 18; ++count) {
            const char32_t point = peek();
            if (const int digit = han_digit(point); digit != kNoDigit) {
                digits = digits * 10 + static_cast<std::uint64_t>(digit);
                has_digits = true;
            } else if (const int unit = han_unit(point); unit != 0 && unit <= kLargestUnit) {
                std::uint64_t factor = 1;
                for (int i = 0; i < unit; ++i) factor *= 10;
                if (unit < 4) {
                    section += (has_digits ? digits : 1) * factor;
                } else {
                    total = (total + section + digits + (has_digits || section != 0 ? 0 : 1)) * factor;
                    section = 0;
                }
                digits = 0;
                has_digits = false;
                has_units = true;
            } else {
                break;
            }
            next_utf8(at_);
        }
        const std::uint64_t value = has_units ? total + section + digits : digits;
        std::vector<std::uint8_t> reversed;
        for (std::uint64_t rest = value; rest != 0; rest /= 10)
            reversed.push_back(static_cast<std::uint8_t>(rest % 10));
        add({reversed.rbegin(), reversed.rend()}, 0, true);
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
    std::vector<Number>& numbers_;
};

bool may_be_spelled(const Number& number, std::uint64_t small) {
    if (number.spelled) return true;
    if (number.exponent < 0 || number.exponent > 2) return false;
    std::uint64_t value = number.digits;
    for (int i = 0; i < number.exponent; ++i) value *= 10;
    return value <= small;
}

std::size_t written_in_digits(const std::vector<Number>& numbers) {
    return static_cast<std::size_t>(
        std::count_if(numbers.begin(), numbers.end(), [](const Number& number) { return !number.spelled; }));
}

// Count of unmatched numbers that differ. Surplus numbers of one side count only if they are never spelled out.
std::size_t differing(const std::vector<Number>& a, const std::vector<Number>& b, std::uint64_t small) {
    const auto must = [small](const std::vector<Number>& numbers) {
        return static_cast<std::size_t>(std::count_if(
            numbers.begin(), numbers.end(), [small](const Number& number) { return !may_be_spelled(number, small); }));
    };
    // Each number of the side with fewer differing numbers is compared with one number of the other side.
    const std::size_t facing = std::min(written_in_digits(a), written_in_digits(b));
    return std::max(must(a), facing) + std::max(must(b), facing);
}

// Matches the numbers of two sides, in the order of the first side: each takes the first number of the second side that
// matches it. The numbers of the second side are grouped by value, so that no number is compared with all others.
class Matcher {
   public:
    // Leaves the numbers without a match in both lists.
    double similarity(std::vector<Number>& a, std::vector<Number>& b, std::uint64_t small) {
        const std::size_t matches = a.empty() || b.empty() ? 0 : match(a, b);
        const std::size_t differ = differing(a, b, small);
        if (matches + differ == 0) return 1.0;
        return 2.0 * static_cast<double>(matches) / static_cast<double>(2 * matches + differ);
    }

   private:
    // Equal numbers of the second side: a range of `order_`, from which matches take the first.
    struct Group {
        Number value;
        std::size_t next;
        std::size_t end;
    };

    std::size_t match(std::vector<Number>& a, std::vector<Number>& b) {
        group(b);
        std::size_t in_a = written_in_digits(a);
        std::size_t in_b = written_in_digits(b);
        const bool spelled = in_a < a.size() || in_b < b.size();
        std::size_t matches = take(a, [this](const Number& x) { return x.spelled ? nullptr : equal(x, false); });
        // If both sides have unmatched numbers in digits, these are compared with each other, not with spelled ones: 10
        // and 37 differ, even if 十 is beside 37.
        in_a -= matches;
        in_b -= matches;
        excess_of_a_ = in_a - std::min(in_a, in_b);
        excess_of_b_ = in_b - std::min(in_a, in_b);
        if (spelled)
            matches += take(a, [this](const Number& x) {
                return first(x, equal(x, x.spelled), excess(x) == 0 ? nullptr : equal(x, !x.spelled));
            });
        matches += take(a, [this](const Number& x) {
            return first(x, scaled(x, x.spelled), excess(x) == 0 ? nullptr : scaled(x, !x.spelled));
        });
        std::size_t kept = 0;
        for (std::size_t i = 0; i < b.size(); ++i)
            if (taken_[i] == 0) b[kept++] = b[i];
        b.resize(kept);
        return matches;
    }

    static auto key(const Number& number) { return std::tuple(number.digits, number.spelled, number.exponent); }

    void group(const std::vector<Number>& b) {
        taken_.assign(b.size(), 0);
        order_.resize(b.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::sort(order_, {}, [&b](std::size_t i) { return std::pair(key(b[i]), i); });
        groups_.clear();
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const Number& number = b[order_[i]];
            if (groups_.empty() || key(groups_.back().value) != key(number)) groups_.push_back({number, i, i});
            groups_.back().end = i + 1;
        }
    }

    // Removes the numbers of the first side that match from its list, and returns how many there were. `find` returns
    // the group that a number takes its match from, nullptr if there is none.
    template <class Find>
    std::size_t take(std::vector<Number>& a, Find&& find) {
        std::size_t kept = 0;
        for (const Number& number : a) {
            if (Group* const group = find(number))
                taken_[order_[group->next++]] = 1;
            else
                a[kept++] = number;
        }
        const std::size_t count = a.size() - kept;
        a.resize(kept);
        return count;
    }

    // Number of numbers in digits that may still match spelled ones, on the side with digits when `x` matches a number
    // of the other kind.
    std::size_t& excess(const Number& x) { return x.spelled ? excess_of_b_ : excess_of_a_; }

    // Returns the group with the earlier number. `same` is of the kind of `x`, `other` of the other kind.
    Group* first(const Number& x, Group* same, Group* other) {
        if (other == nullptr || (same != nullptr && order_[same->next] < order_[other->next])) return same;
        --excess(x);
        return other;
    }

    auto from(const Number& value) {
        return std::ranges::lower_bound(groups_, key(value), {}, [](const Group& group) { return key(group.value); });
    }

    // Returns the group with the value of a number, nullptr if all its numbers are taken.
    Group* equal(const Number& x, bool spelled) {
        const auto group = from({x.digits, x.exponent, spelled});
        const bool known = group != groups_.end() && group->value.digits == x.digits &&
                           group->value.exponent == x.exponent && group->value.spelled == spelled;
        return known && group->next < group->end ? &*group : nullptr;
    }

    // Returns the group with the earliest number that has the same digits, and differs by a power of ten from a
    // thousand on: 3.5 million and 3,500,000, or 1.234 and 1,234 if the mark has another meaning. nullptr if there is
    // none. A text has few of these exponents, about the square root of its size, because each needs its own number of
    // zeros.
    Group* scaled(const Number& x, bool spelled) {
        Group* earliest = nullptr;
        if (x.digits == 0) return earliest;
        for (auto group = from({x.digits, std::numeric_limits<int>::min(), spelled});
             group != groups_.end() && group->value.digits == x.digits && group->value.spelled == spelled; ++group)
            if (group->next < group->end && std::abs(x.exponent - group->value.exponent) >= 3 &&
                (earliest == nullptr || order_[group->next] < order_[earliest->next]))
                earliest = &*group;
        return earliest;
    }

    std::vector<Group> groups_;        // sorted by digits, kind and exponent
    std::vector<std::size_t> order_;   // positions of the second side, by group and then ascending
    std::vector<std::uint8_t> taken_;  // 1 for each number of the second side that has a match
    std::size_t excess_of_a_ = 0;
    std::size_t excess_of_b_ = 0;
};

bool may_hold_numbers(const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    const std::size_t digits = count_where(line.size(), [bytes](std::size_t i) {
        return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i] - '0') < 10);
    });
    // Outside ASCII, digits and Han numerals begin with a byte from D9 (Arabic) on.
    return digits != 0 || (!line.ascii && std::any_of(line.begin, line.end, [](std::uint8_t b) { return b >= 0xD9; }));
}

}  // namespace

void read_numbers(const std::uint8_t* begin, const std::uint8_t* end, std::vector<Number>& numbers) {
    Reader(begin, end, numbers).read();
}

void number_similarity(const Lines& source, const Lines& target, std::uint64_t small, double* out) {
    std::vector<Number> a;
    std::vector<Number> b;
    Matcher matcher;
    for (std::size_t i = 0; i < source.size(); ++i) {
        a.clear();
        b.clear();
        if (may_hold_numbers(source[i])) read_numbers(source[i].begin, source[i].end, a);
        if (may_hold_numbers(target[i])) read_numbers(target[i].begin, target[i].end, b);
        out[i] = a.empty() && b.empty() ? 1.0 : matcher.similarity(a, b, small);
    }
}

}  // namespace nmt_prep::clean
