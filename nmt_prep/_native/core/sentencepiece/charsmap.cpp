#include "sentencepiece/charsmap.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kBlockBytes = 1024;
constexpr std::size_t kMaxSteps = std::size_t{1} << 23;
constexpr std::size_t kMaxRuleBytes = 1024;
constexpr std::size_t kMaxRulesAtOnce = 32;  // the library considers at most this many matching rules at one position

// A unit of Darts-clone: label in the low byte, a flag for a value below, an offset to the children; or a value, if the
// highest bit is set.
bool is_value(std::uint32_t unit) { return unit >> 31; }
std::uint32_t label(std::uint32_t unit) { return unit & (1u << 31 | 0xFFu); }
bool has_value(std::uint32_t unit) { return unit >> 8 & 1; }
std::uint32_t value(std::uint32_t unit) { return unit & ~(1u << 31); }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }

}  // namespace

CharsMap::CharsMap(std::string_view table) {
    if (table.empty()) return;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(table.data());
    const std::size_t header = sizeof(std::uint32_t);
    std::size_t size = 0;
    for (std::size_t i = 0; i < header && i < table.size(); ++i) size |= std::size_t{bytes[i]} << (8 * i);
    if (table.size() <= header || size >= table.size() - header || size < kBlockBytes || size % kBlockBytes != 0 ||
        table.back() != '\0')
        throw std::invalid_argument("has a damaged normalisation table");
    units_.resize(size / header);
    for (std::size_t i = 0; i < size; ++i) units_[i / header] |= std::uint32_t{bytes[header + i]} << (8 * (i % header));
    replacements_ = table.substr(header + size);
    replaces_by_utf8_ = is_utf8(replacements_);
    check_units();
}

// The library's own test: no unit, even an unreachable one, may point outside the table.
void CharsMap::check_units() const {
    bool damaged = is_value(units_[0]) || has_value(units_[0]) || label(units_[0]) != 0;
    for (std::size_t i = 0; i < units_.size() && !damaged; ++i) {
        const std::uint32_t unit = units_[i];
        if (is_value(unit)) {
            damaged = value(unit) >= replacements_.size();
        } else {
            const std::size_t children = i ^ offset(unit);
            damaged = children >= units_.size() || (has_value(unit) && !is_value(units_[children]));
        }
    }
    if (damaged) throw std::invalid_argument("has a damaged normalisation table");
}

std::string_view CharsMap::replacement_at(std::uint32_t value) const {
    return replacements_.data() + value;  // the whole table ends in NUL
}

// True if the replacement is UTF-8.
bool CharsMap::is_utf8_at(std::uint32_t value) const {
    if (replaces_by_utf8_) return (static_cast<std::uint8_t>(replacements_[value]) & 0xC0) != 0x80;
    return is_utf8(replacement_at(value));
}

// Visits the rules that the text begins with, shortest first, until the function returns false: visit(size,
// replacement).
template <class Visit>
void CharsMap::for_each_match(const std::uint8_t* text, std::size_t size, const Visit& visit) const {
    if (units_.empty()) return;
    std::uint32_t node = offset(units_[0]);
    for (std::size_t i = 0; i < size; ++i) {
        node ^= text[i];
        if (label(units_[node]) != text[i]) break;
        const bool ends = has_value(units_[node]);
        node ^= offset(units_[node]);
        if (ends && !visit(i + 1, replacement_at(value(units_[node])))) break;
    }
}

std::size_t CharsMap::match(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const {
    std::size_t longest = 0;
    for_each_match(text, size, [&](std::size_t used, std::string_view found) {
        longest = used;
        replacement = found;
        return true;
    });
    return longest;
}

bool CharsMap::match_shortest(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const {
    bool any = false;
    for_each_match(text, size, [&](std::size_t, std::string_view found) {
        any = true;
        replacement = found;
        return false;
    });
    return any;
}

// Walks through the characters of all rules. Equal rule ends share units, so each unit is followed once.
class CharsMap::RuleWalk {
   public:
    explicit RuleWalk(const CharsMap& map)
        : map_(map), ends_(map.units_.size() + 2, 0), below_(map.units_.size(), {kUnknown, 0}) {
        const auto for_each_child = [&](const auto& take) {
            for (std::uint32_t i = 0; i < map_.units_.size(); ++i)
                if (const std::uint32_t byte = label(map_.units_[i]); byte < 256) take(i ^ byte, i);
        };
        for_each_child([&](std::uint32_t siblings, std::uint32_t) { ++ends_[siblings + 2]; });
        for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
        children_.resize(ends_.back());
        // This leaves the end of each unit's children in the entry after its own.
        for_each_child([&](std::uint32_t siblings, std::uint32_t unit) { children_[ends_[siblings + 1]++] = unit; });
    }

    Beginnings beginnings() {
        Beginnings found;
        std::vector<std::uint32_t> after_first;
        check(extent(0, 0));
        for_each_character(0, [&](char32_t point, std::uint32_t unit) {
            found.first.push_back({point, has_value(map_.units_[unit]), below_[unit].bytes > 0});
            after_first.push_back(unit);
        });
        std::ranges::sort(after_first);
        const auto repeated = std::ranges::unique(after_first);
        after_first.erase(repeated.begin(), repeated.end());
        for (const std::uint32_t unit : after_first)
            for_each_character(unit, [&](char32_t point, std::uint32_t) { found.second.push_back(point); });
        return found;
    }

   private:
    // The most that can follow a unit: bytes of a rule, and rules on one path, including the rule that ends at the
    // unit.
    struct Extent {
        std::uint16_t bytes;
        std::uint16_t rules;
    };
    static constexpr std::uint16_t kUnknown = UINT16_MAX, kOpen = UINT16_MAX - 1;

    static void check(const Extent& extent) {
        if (extent.bytes > kMaxRuleBytes) throw NotCovered("its normalisation table is too large");
        if (extent.rules > kMaxRulesAtOnce) refuse();
    }
    [[noreturn]] static void refuse() { throw NotCovered("its normalisation table has rules that split characters"); }

    // Calls visit(code point, unit) for each character that leads on from a unit.
    template <class Visit>
    void for_each_character(std::uint32_t unit, const Visit& visit) {
        std::array<std::uint8_t, 4> bytes{};
        follow_bytes(unit, bytes, 0, visit);
    }

    template <class Visit>
    void follow_bytes(std::uint32_t unit, std::array<std::uint8_t, 4>& bytes, std::size_t size, const Visit& visit) {
        const std::uint32_t siblings = unit ^ offset(map_.units_[unit]);
        for (std::uint32_t i = ends_[siblings]; i < ends_[siblings + 1]; ++i) {
            if (++steps_ > kMaxSteps) throw NotCovered("its normalisation table is too large");
            const std::uint32_t child = children_[i];
            bytes[size] = static_cast<std::uint8_t>(label(map_.units_[child]));
            const std::size_t needed = character_size(bytes[0]);
            if (size + 1 < needed) {
                if (has_value(map_.units_[child])) refuse();
                follow_bytes(child, bytes, size + 1, visit);
                continue;
            }
            if (find_invalid_utf8(bytes.data(), needed) != needed) refuse();
            const std::uint8_t* at = bytes.data();
            visit(next_utf8(at), child);
        }
    }

    Extent extent(std::uint32_t unit, std::size_t depth) {
        if (below_[unit].bytes < kOpen) return below_[unit];
        // A table with a cycle would have infinite rules.
        if (below_[unit].bytes == kOpen || depth > kMaxRuleBytes) check({kOpen, 0});
        below_[unit].bytes = kOpen;
        Extent most{0, 0};
        for_each_character(unit, [&](char32_t point, std::uint32_t child) {
            const std::uint16_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
            const Extent below = extent(child, depth + size);  // checked, so the sum stays small
            most.bytes = std::max(most.bytes, static_cast<std::uint16_t>(below.bytes + size));
            most.rules = std::max(most.rules, below.rules);
        });
        if (has_value(map_.units_[unit])) {
            const std::uint32_t leaf = unit ^ offset(map_.units_[unit]);
            if (!map_.is_utf8_at(value(map_.units_[leaf]))) refuse();
            ++most.rules;
        }
        check(most);
        return below_[unit] = most;
    }

    const CharsMap& map_;
    std::vector<std::uint32_t> ends_, children_;  // of units with the same parent, by the place where these begin
    std::vector<Extent> below_;
    std::size_t steps_ = 0;
};

CharsMap::Beginnings CharsMap::beginnings() const {
    return units_.empty() ? Beginnings() : RuleWalk(*this).beginnings();
}

}  // namespace nmt_prep::sentencepiece
