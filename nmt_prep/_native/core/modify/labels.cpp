#include "modify/labels.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "text/errors.h"
#include "text/utf8.h"

namespace nmt_prep::modify {
namespace {

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

std::span<const LabelledWord> with_label(std::span<const LabelledWord> words, std::int32_t label) {
    const auto found = std::ranges::equal_range(words, label, {}, &LabelledWord::label);
    return {found.begin(), found.end()};
}

void check(const PartColumn& column, std::size_t lines) {
    const bool fits = column.lines.lines == lines && column.offsets.size() == lines + 1 &&
                      column.begins.size() == column.ends.size() && column.begins.size() == column.labels.size() &&
                      column.offsets.front() >= 0 && std::ranges::is_sorted(column.offsets) &&
                      std::cmp_less_equal(column.offsets.back(), column.begins.size());
    if (!fits) throw std::invalid_argument("parts and lines must be of the same pairs");
}

// Returns the parts of a line, which `parts` holds.
std::span<const Part> parts_of(const PartColumn& column, std::size_t i, std::vector<Part>& parts) {
    const std::string_view line(reinterpret_cast<const char*>(column.lines.line(i)), column.lines.size(i));
    parts.clear();
    for (auto at = static_cast<std::size_t>(column.offsets[i]); std::cmp_less(at, column.offsets[i + 1]); ++at) {
        const std::int32_t label = column.labels[at], begin = column.begins[at], end = column.ends[at];
        const std::string_view text = label == kOwnWords ? line : column.inserted;
        if (label < kOwnWords || begin < 0 || begin > end || std::cmp_greater(end, text.size()))
            throw std::invalid_argument("a part is outside of its text");
        parts.push_back({text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), label});
    }
    return parts;
}

}  // namespace

std::string_view Assembler::assemble(std::string_view line, std::span<const Part> parts) {
    text_.clear();
    runs_.clear();
    align::find_words(bytes_of(line), bytes_of(line) + line.size(), spaces_, places_);
    for (const Part& part : parts)
        if (part.label == kOwnWords)
            copy_own(line, part.text);
        else
            append(part.text, part.label);
    if (!is_utf8(text_)) throw InvalidTextError("parts of a line are not UTF-8 together");
    find_labels();
    return text_;
}

void Assembler::append(std::string_view text, std::int32_t label) {
    if (text.empty()) return;
    text_ += text;
    runs_.push_back({text_.size(), label});
}

void Assembler::copy_own(std::string_view line, std::string_view part) {
    const auto first = static_cast<std::size_t>(part.data() - line.data());
    const std::size_t last = first + part.size();
    std::size_t done = first;
    auto word = std::ranges::upper_bound(places_, first, {}, &align::Place::end);
    for (; word != places_.end() && word->begin < last; ++word) {
        const std::size_t begin = std::max<std::size_t>(word->begin, first);
        const std::size_t end = std::min<std::size_t>(word->end, last);
        append(line.substr(done, begin - done), kNoLabel);
        append(line.substr(begin, end - begin), static_cast<std::int32_t>(word - places_.begin()));
        done = end;
    }
    append(line.substr(done, last - done), kNoLabel);
}

void Assembler::find_labels() {
    words_.clear();
    align::find_words(bytes_of(text_), bytes_of(text_) + text_.size(), spaces_, places_);
    auto run = runs_.begin();
    for (std::size_t word = 0; word < places_.size(); ++word) {
        while (run->end <= places_[word].begin) ++run;
        for (auto each = run;; ++each) {
            words_.push_back({each->label, static_cast<std::int32_t>(word)});
            if (each->end >= places_[word].end) break;
        }
    }
    std::ranges::sort(words_);
    const auto repeated = std::ranges::unique(words_);
    words_.erase(repeated.begin(), repeated.end());
}

void follow_links(std::span<const std::int32_t> links, std::span<const LabelledWord> source,
                  std::span<const LabelledWord> target, std::vector<std::int32_t>& found) {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t link = 0; link + 1 < links.size(); link += 2) {
        const auto sources = with_label(source, links[link]);
        const auto targets = with_label(target, links[link + 1]);
        const bool equal = links[link] == links[link + 1] && links[link] >= kFirstNewWord;
        if (equal && sources.size() == targets.size()) {
            for (std::size_t i = 0; i < sources.size(); ++i) pairs.emplace_back(sources[i].word, targets[i].word);
            continue;
        }
        for (const LabelledWord& each : sources)
            for (const LabelledWord& other : targets) pairs.emplace_back(each.word, other.word);
    }
    std::ranges::sort(pairs);
    const auto repeated = std::ranges::unique(pairs);
    pairs.erase(repeated.begin(), repeated.end());
    for (const auto& [left, right] : pairs) found.insert(found.end(), {left, right});
}

RewrittenPairs rewrite_pairs(const PartColumn& source, const PartColumn& target, const align::LinkColumn& links,
                             bool spaces) {
    const std::size_t lines = source.lines.lines;
    check(source, lines);
    check(target, lines);
    if (links.offsets.size() != lines + 1 || links.offsets.front() < 0 || !std::ranges::is_sorted(links.offsets) ||
        std::cmp_less(links.links.size() / 2, links.offsets.back()))
        throw std::invalid_argument("links and lines must be of the same pairs");
    RewrittenPairs made;
    Assembler left(spaces), right(spaces);
    std::vector<Part> parts;
    for (std::size_t i = 0; i < lines; ++i) {
        made.source.append(left.assemble(checked_line(source.lines, i), parts_of(source, i, parts)));
        made.target.append(right.assemble(checked_line(target.lines, i), parts_of(target, i, parts)));
        const auto first = static_cast<std::size_t>(links.offsets[i]),
                   last = static_cast<std::size_t>(links.offsets[i + 1]);
        follow_links(links.links.subspan(2 * first, 2 * (last - first)), left.words(), right.words(), made.links.links);
        made.links.offsets.push_back(static_cast<std::int64_t>(made.links.links.size() / 2));
    }
    return made;
}

}  // namespace nmt_prep::modify
