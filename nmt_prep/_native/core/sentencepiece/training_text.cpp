#include "sentencepiece/training_text.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

#include "sentencepiece/piece_rules.h"
#include "text/errors.h"
#include "text/parallel.h"
#include "text/point_table.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::size_t kRunBytes = std::size_t{1} << 18;
constexpr std::uint8_t kBoundary = 0x1F;

const char* chars(const std::uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }

// Returns the size of a line without line ends.
std::size_t stripped(const std::uint8_t* line, std::size_t size) {
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) --size;
    return size;
}

// True if the text contains the character that stands for uncovered ones.
bool has_uncovered(const std::uint8_t* text, std::size_t size) {
    const std::uint8_t* const end = text + size;
    for (const std::uint8_t* at = text; end - at >= 3; ++at) {
        at = static_cast<const std::uint8_t*>(std::memchr(at, 0xE2, static_cast<std::size_t>(end - at) - 2));
        if (at == nullptr) return false;
        if (at[1] == 0x96 && at[2] == 0x85) return true;
    }
    return false;
}

// Returns the place of a byte, or the size of the text.
std::size_t find_byte(const std::uint8_t* text, std::size_t size, std::uint8_t byte) {
    const void* const found = size == 0 ? nullptr : std::memchr(text, byte, size);
    return found == nullptr ? size : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - text);
}

Trie separate_trie(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    for (const std::string& text : texts)
        if (std::optional<std::string> key = spelled(text, true)) entries.emplace_back(*std::move(key), 0);
    std::ranges::sort(entries);
    const auto repeated = std::ranges::unique(entries);
    entries.erase(repeated.begin(), repeated.end());
    return byte_trie(entries);
}

// Returns the characters with counts above zero.
std::vector<CharacterCount> present(const PointTable<std::int64_t>& counts) {
    std::vector<CharacterCount> found;
    counts.for_each([&](char32_t point, std::int64_t count) {
        if (count > 0) found.emplace_back(point, count);
    });
    return found;
}

// Returns the characters of all words, as they are spelled in the table.
std::vector<CharacterCount> characters_of(const CountTable& words) {
    PointTable<std::int64_t> counts(0);
    for (const TokenCount& word : words.entries()) {
        const std::string_view token = word.token();
        const auto* at = reinterpret_cast<const std::uint8_t*>(token.data());
        const std::uint8_t* const end = at + token.size() - (token.back() == kFinalMark ? 1 : 0);
        while (at != end) counts.at(next_utf8(at)) += word.count;
    }
    return present(counts);
}

}  // namespace

TrainingText::TrainingText(const TextRules& rules)
    : rules_(rules),
      normalizer_(rules.normalizer, rules.whitespace_is_suffix, {}),
      separate_(separate_trie(rules.separate)),
      delimiter_(spelled(rules.delimiter, true).value_or("")) {
    for (const std::string& text : rules.separate) {
        const std::optional<std::string> key = spelled(text, true);
        if (!key) continue;
        bool& begins = begins_separate_[static_cast<std::uint8_t>(key->front())];
        if (!begins) separate_starts_.push_back(static_cast<std::uint8_t>(key->front()));
        begins = true;
    }
}

// Returns the number of lines, from the first, that are read.
std::size_t TrainingText::take(const TextView& text) {
    if (rules_.most_lines == 0) return text.lines;
    std::size_t kept = lines_ - too_long_;
    for (std::size_t i = 0; i < text.lines; ++i) {
        if (kept == rules_.most_lines) return i;
        const std::size_t size = stripped(text.line(i), text.size(i));
        kept += is_kept(text.line(i), size);
    }
    return text.lines;
}

void TrainingText::add(const TextView& text, std::size_t threads, const Poll& poll) {
    const TextView taken{text.data, text.offsets, take(text)};
    tables_.resize(std::max({tables_.size(), threads, std::size_t{1}}));
    std::vector<Scratch> scratch(tables_.size());
    std::atomic<std::size_t> lines = 0, too_long = 0, empty = 0;
    const std::vector<std::size_t> bounds = cut_lines(taken, kRunBytes);
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        check_lines(taken, bounds[run], bounds[run + 1]);
        std::size_t own_lines = 0, own_too_long = 0, own_empty = 0;
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) {
            const std::uint8_t* const line = taken.line(i);
            const std::size_t size = stripped(line, taken.size(i));
            if (size == 0) continue;
            const bool long_line = size > rules_.longest_line;
            own_too_long += long_line;
            if (!long_line && has_uncovered(line, size)) continue;
            ++own_lines;
            if (!long_line) own_empty += !add_line(line, size, scratch[thread], tables_[thread]);
        }
        lines += own_lines;
        too_long += own_too_long;
        empty += own_empty;
    });
    check_lines(text, taken.lines, text.lines);
    const std::size_t kept_before = lines_ - too_long_;
    lines_ += lines;
    too_long_ += too_long;
    empty_ += empty;
    if (rules_.mark_finals) keep_tail(taken, kept_before);
}

// True if a line is read; its size is without line ends.
bool TrainingText::is_kept(const std::uint8_t* line, std::size_t size) const {
    return size > 0 && size <= rules_.longest_line && !has_uncovered(line, size);
}

// Prepares a line at the beginning of the buffer, and returns its size.
std::size_t TrainingText::prepared(const std::uint8_t* line, std::size_t size, Scratch& scratch) const {
    std::size_t end = normalizer_.normalize(line, size, scratch.buffer, 0);
    std::uint8_t* const text = scratch.buffer.data();
    if (!separate_.empty()) end = separated(text, end);
    if (!delimiter_.empty()) end = delimited(text, end);
    return end;
}

// Counts the words of a line. Returns whether there are any.
bool TrainingText::add_line(const std::uint8_t* line, std::size_t size, Scratch& scratch, CountTable& table) const {
    const std::size_t end = prepared(line, size, scratch);
    if (end == 0) return false;
    if (rules_.mark_finals) scratch.buffer[end] = static_cast<std::uint8_t>(kFinalMark);
    const char* const text = chars(scratch.buffer.data());
    TokenGroup group(table, text + end + Normalizer::kPadding);
    for_each_word({text, end}, rules_, [&](std::string_view word) {
        const bool is_marked = rules_.mark_finals && word.data() + word.size() == text + end;
        group.add({word.data(), word.size() + (is_marked ? 1 : 0)});
    });
    group.flush();
    return true;
}

// Finds the line that is the library's last: the library fills the places of empty lines with the last lines. So if n
// lines are not empty, its last line is the first of these at place n - 1 or later. Lines before it are no longer
// needed.
void TrainingText::keep_tail(const TextView& text, std::size_t kept_before) {
    std::size_t line = lines_ - too_long_;
    const std::size_t needed_from = line - empty_ - (line > empty_ ? 1 : 0);
    while (!tail_.empty() && tail_.front().line < needed_from) tail_.pop_front();
    std::deque<Tail> found;
    Scratch scratch;
    for (std::size_t i = text.lines; i-- > 0 && line > std::max(needed_from, kept_before);) {
        const std::size_t size = stripped(text.line(i), text.size(i));
        if (!is_kept(text.line(i), size)) continue;
        --line;
        std::string last;
        const std::size_t end = prepared(text.line(i), size, scratch);
        for_each_word({chars(scratch.buffer.data()), end}, rules_, [&](std::string_view word) { last = word; });
        if (!last.empty()) found.push_front({line, std::move(last)});
    }
    for (Tail& each : found) tail_.push_back(std::move(each));
}

// Replaces separate texts by boundaries, at each place the longest, and returns the new size.
std::size_t TrainingText::separated(std::uint8_t* text, std::size_t size) const {
    std::size_t at = separate_starts_.size() == 1 ? find_byte(text, size, separate_starts_[0]) : 0;
    while (at < size && !begins_separate_[text[at]]) ++at;
    std::size_t out = at;
    while (at < size) {
        std::size_t longest = 0;
        if (begins_separate_[text[at]]) {
            Trie::Node node = separate_.root();
            for (std::size_t i = at; i < size && text[i] != 0; ++i) {
                node = separate_.step(node, text[i]);
                if (node == Trie::kNowhere) break;
                if (Trie::value(node) >= 0) longest = i + 1 - at;
            }
        }
        text[out++] = longest > 0 ? kBoundary : text[at];
        at += std::max<std::size_t>(longest, 1);
    }
    return out;
}

std::size_t TrainingText::delimited(std::uint8_t* text, std::size_t size) const {
    const std::string_view whole(chars(text), size);
    std::size_t out = 0;
    for (std::size_t at = 0; at < size;) {
        const std::size_t found = std::min(whole.find(delimiter_, at), size);
        std::memmove(text + out, text + at, found - at);
        out += found - at;
        at = found;
        if (found == size) break;
        text[out++] = kBoundary;
        at += delimiter_.size();
    }
    return out;
}

void TrainingText::release() { tables_.clear(); }

std::size_t TrainingText::training_memory() const {
    const std::size_t per_word = 48, per_character = rules_.mark_finals ? 20 : 16;
    std::size_t bytes = 0;
    for (const CountTable& table : tables_)
        bytes += static_cast<std::size_t>(table.bytes()) + per_word * table.entries().size() +
                 per_character * static_cast<std::size_t>(table.characters());
    return bytes;
}

std::vector<CharacterCount> TrainingText::characters() const {
    std::vector<std::vector<CharacterCount>> found(tables_.size());
    parallel_for(tables_.size(), tables_.size(),
                 [&](std::size_t table, std::size_t) { found[table] = characters_of(tables_[table]); });
    PointTable<std::int64_t> counts(0);
    for (const std::vector<CharacterCount>& each : found)
        for (const auto& [point, count] : each) counts.at(point) += count;
    counts.at(kSpacePoint) += std::exchange(counts.at(' '), 0);
    counts.at(0) = 0;
    return present(counts);
}

std::vector<CharacterCount> covered_characters(const std::vector<CharacterCount>& counts,
                                               const std::vector<char32_t>& required, float coverage) {
    struct Ranked {
        bool optional;
        std::int64_t count;
        char32_t point;

        bool operator<(const Ranked& other) const {
            if (optional != other.optional) return other.optional;
            return count != other.count ? count > other.count : point < other.point;
        }
    };
    std::int64_t all = 0;
    std::vector<Ranked> ranked;
    std::set<char32_t> absent(required.begin(), required.end());
    absent.erase(0);
    for (const auto& [point, count] : counts) {
        all += count;
        ranked.push_back({absent.erase(point) == 0, count, point});
    }
    for (const char32_t point : absent) ranked.push_back({false, 0, point});
    std::ranges::sort(ranked, std::less<>());
    std::vector<CharacterCount> covered;
    std::int64_t sum = 0;
    for (const Ranked& each : ranked) {
        if (static_cast<float>(1.0 * static_cast<double>(sum) / static_cast<double>(all)) >= coverage) break;
        sum += each.count;
        if (each.point != kBoundaryPoint) covered.emplace_back(each.point, each.count);
    }
    std::ranges::sort(covered, [](const CharacterCount& a, const CharacterCount& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return covered;
}

}  // namespace nmt_prep::sentencepiece
