#include "sentencepiece/charsmap.h"

#include <algorithm>
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

bool is_utf8(std::string_view text) {
    return find_invalid_utf8(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) == text.size();
}

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

void CharsMap::for_each_rule(const std::function<void(std::string_view)>& visit) const {
    if (units_.empty()) return;
    struct Step {
        std::uint32_t node;
        std::size_t depth;  // number of bytes of the key before the one that leads here
        std::size_t rules;  // matching rules that are prefixes of the key
    };
    // Units by the place of their siblings: the children of a unit are next to each other.
    std::vector<std::uint32_t> ends(units_.size() + 1, 0), children;
    const auto for_each_child = [&](const auto& take) {
        for (std::uint32_t i = 0; i < units_.size(); ++i)
            if (const std::uint32_t byte = label(units_[i]); byte < 256) take(i ^ byte, i);
    };
    for_each_child([&](std::uint32_t siblings, std::uint32_t) { ++ends[siblings + 1]; });
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
    children.resize(ends.back());
    std::vector<std::uint32_t> next(ends.begin(), ends.end() - 1);
    for_each_child([&](std::uint32_t siblings, std::uint32_t unit) { children[next[siblings]++] = unit; });

    std::size_t steps = 0;
    std::string key;
    std::vector<Step> open;
    const auto open_children = [&](std::uint32_t siblings, std::size_t depth, std::size_t rules) {
        for (std::uint32_t i = ends[siblings]; i < ends[siblings + 1]; ++i) open.push_back({children[i], depth, rules});
    };
    open_children(offset(units_[0]), 0, 0);
    while (!open.empty()) {
        Step step = open.back();
        open.pop_back();
        // Equal suffixes share units; a table with a cycle would have infinite rules.
        if (++steps > kMaxSteps || step.depth > kMaxRuleBytes) throw NotCovered("its normalisation table is too large");
        key.resize(step.depth);
        key.push_back(static_cast<char>(label(units_[step.node])));
        const std::uint32_t siblings = step.node ^ offset(units_[step.node]);
        if (has_value(units_[step.node])) {
            if (++step.rules > kMaxRulesAtOnce || !is_utf8(key) || !is_utf8(replacement_at(value(units_[siblings]))))
                throw NotCovered("its normalisation table has rules that split characters");
            visit(key);
        }
        open_children(siblings, key.size(), step.rules);
    }
}

}  // namespace nmt_prep::sentencepiece
