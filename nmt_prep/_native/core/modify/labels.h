// Text with labelled words: lines made from parts of other lines, and links that follow their words.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "align/piece_links.h"
#include "align/text.h"
#include "align/words.h"
#include "text/batch.h"

namespace nmt_prep::modify {

// Returns a line. Throws InvalidTextError unless it is UTF-8.
inline std::string_view checked_line(const TextView& lines, std::size_t i) {
    check_utf8(lines, i);
    return {reinterpret_cast<const char*>(lines.line(i)), lines.size(i)};
}

// A word of a new line, and the label of some characters.
struct LabelledWord {
    std::int32_t label;
    std::int32_t word;

    auto operator<=>(const LabelledWord&) const = default;
};

inline constexpr std::int32_t kOwnWords = -2;  // labels of the line's words: their numbers
inline constexpr std::int32_t kNoLabel = -1;
inline constexpr std::int32_t kFirstNewWord = 1 << 30;  // from here on, words with one label on both sides are equal

// Bytes to copy, with their label: bytes of the line for kOwnWords, else of the inserted text.
struct Part {
    std::string_view text;
    std::int32_t label;
};

// Makes lines; reuses its memory from line to line.
class Assembler {
   public:
    // `spaces`: as for align::find_words.
    explicit Assembler(bool spaces) : spaces_(spaces) {}

    // Returns the line made from parts, valid until the next call, and finds its labelled words. Parts
    // with kOwnWords are within `line`. Throws InvalidTextError if the parts are not UTF-8 together.
    std::string_view assemble(std::string_view line, std::span<const Part> parts);

    // Distinct labelled words of the new line, ordered by label, then word.
    const std::vector<LabelledWord>& words() const { return words_; }

   private:
    struct Run {
        std::size_t end;  // byte of the new line
        std::int32_t label;
    };

    void copy_own(std::string_view line, std::string_view part);
    void append(std::string_view text, std::int32_t label);
    void find_labels();

    bool spaces_;
    std::string text_;
    std::vector<Run> runs_;
    std::vector<align::Place> places_;
    std::vector<LabelledWord> words_;
};

// Lines, and the parts that new lines are made of: line i has the parts [offsets[i], offsets[i + 1]), each of bytes
// [begin, end) of the line with kOwnWords, else of the inserted text.
struct PartColumn {
    TextView lines;
    std::span<const std::int32_t> begins, ends, labels;
    std::span<const std::int64_t> offsets;
    std::string_view inserted;
};

struct RewrittenPairs {
    align::OwnedText source, target;
    align::OwnedLinks links;
};

// Makes new lines for both sides of pairs, and their word links from label links. Throws
// std::invalid_argument if a part is outside of its text, or the arguments have different numbers of lines.
RewrittenPairs rewrite_pairs(const PartColumn& source, const PartColumn& target, const align::LinkColumn& links,
                             bool spaces);

// Appends the word links that follow from label links, two numbers each: distinct, ordered by source, then target.
void follow_links(std::span<const std::int32_t> links, std::span<const LabelledWord> source,
                  std::span<const LabelledWord> target, std::vector<std::int32_t>& found);

}  // namespace nmt_prep::modify
