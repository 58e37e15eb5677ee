#include "pattern/code_set.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "text/properties.h"

namespace nmt_prep::pattern {
namespace {

constexpr std::string_view kCategories[] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                            "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                            "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

using Named = std::map<std::string, std::vector<Range>, std::less<>>;

// Adds a code point to ranges; code points must ascend.
void extend(std::vector<Range>& ranges, char32_t point) {
    if (!ranges.empty() && ranges.back().last + 1 == point)
        ranges.back().last = point;
    else
        ranges.push_back({point, point});
}

// Returns the name of a script as regular expressions write it, from its name in upper case. Leaves out names of
// several words, whose spelling differs between libraries.
std::string script_name(std::string_view name) {
    std::string written(1, name[0]);
    for (const char letter : name.substr(1))
        written.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
    return written;
}

std::map<std::string, CodeSet, std::less<>> make_named_sets() {
    Named ranges;
    std::vector<std::vector<Range>*> scripts;
    scripts.reserve(kScripts);
    for (std::size_t script = 0; script < kScripts; ++script)
        scripts.push_back(&ranges[script_name(kScriptNames[script][0])]);
    std::vector<std::vector<Range>*> categories, groups;
    for (const std::string_view name : kCategories) {
        categories.push_back(&ranges[std::string(name)]);
        groups.push_back(&ranges[std::string(name.substr(0, 1))]);
    }
    for (char32_t point = 0; point <= CodeSet::kLast; ++point) {
        const Properties properties = Properties::of(point);
        const auto category = static_cast<std::size_t>(properties.category());
        extend(*categories[category], point);
        extend(*groups[category], point);
        if (properties.script() > kUnknownScript) extend(*scripts[properties.script()], point);
    }
    std::map<std::string, CodeSet, std::less<>> sets;
    for (auto& [name, found] : ranges)
        if (!found.empty()) sets.emplace(name, CodeSet(std::move(found)));
    return sets;
}

}  // namespace

CodeSet::CodeSet(std::vector<Range> ranges) {
    std::ranges::sort(ranges, {}, &Range::first);
    for (const Range& range : ranges) {
        if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
            ranges_.back().last = std::max(ranges_.back().last, range.last);
        else
            ranges_.push_back(range);
    }
}

CodeSet CodeSet::operator|(const CodeSet& other) const {
    std::vector<Range> both = ranges_;
    both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
    return CodeSet(std::move(both));
}

CodeSet CodeSet::operator~() const {
    CodeSet others;
    char32_t next = 0;
    for (const Range& range : ranges_) {
        if (range.first > next) others.ranges_.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= kLast) others.ranges_.push_back({next, kLast});
    return others;
}

const CodeSet& white_space() {
    static const CodeSet kWhiteSpace = CodeSet(std::vector<Range>{{'\t', '\r'}, {0x85, 0x85}}) | *named_set("Zs") |
                                       *named_set("Zl") | *named_set("Zp");
    return kWhiteSpace;
}

const CodeSet* named_set(std::string_view name) {
    static const auto kSets = make_named_sets();
    const auto found = kSets.find(name);
    return found == kSets.end() ? nullptr : &found->second;
}

}  // namespace nmt_prep::pattern
