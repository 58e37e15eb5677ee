// Text to train a SentencePiece model from, prepared as the sentencepiece library does: lines are normalized and
// divided into words, and each distinct word is kept once, with its count.
//
// Within the core the escaped space (U+2581) is the single byte 0x20, as in normalizer.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencepiece/normalizer.h"
#include "sentencepiece/trie.h"
#include "text/batch.h"
#include "text/byte_words.h"
#include "text/count_table.h"

namespace nmt_prep::sentencepiece {

struct TextRules {
    NormalizerSpec normalizer;
    bool whitespace_is_suffix = false;
    bool split_by_whitespace = true;      // else a line is one word
    bool whitespace_only_pieces = false;  // consecutive spaces stay together
    std::vector<std::string> separate;    // texts that become boundaries: special and user-defined pieces
    std::string delimiter;                // becomes a boundary as well; may be empty
    std::size_t longest_line = 4192;      // bytes; longer lines are skipped
    std::size_t most_lines = 0;           // lines after so many are ignored; 0 for no limit
    bool mark_finals = false;             // kFinalMark follows the last word of a line
};

// Marks words that end a line: a byte that UTF-8 does not have.
inline constexpr char kFinalMark = '\xFF';

// A character and how often it occurs.
using CharacterCount = std::pair<char32_t, std::int64_t>;

class TrainingText {
   public:
    // Throws NotCovered if the core cannot apply the rules.
    explicit TrainingText(const TextRules& rules);
    TrainingText(const TrainingText&) = delete;
    TrainingText& operator=(const TrainingText&) = delete;

    // Reads lines. Throws InvalidTextError if a line is not UTF-8; the text is then incomplete.
    void add(const TextView& text, std::size_t threads, const Poll& poll);

    // The number of lines that were read, without empty lines and lines that have kUncoveredPoint; and how many of them
    // were too long.
    std::size_t lines() const { return lines_; }
    std::size_t too_long() const { return too_long_; }

    // All distinct words with their counts, in unspecified order. Valid until the next `add` or `release`.
    const CountTable& words() { return join_tables(tables_); }

    bool has_marks() const { return rules_.mark_finals; }
    bool has_last_word() const { return !tail_.empty(); }

    // Returns the last word of the last line, without its mark. Requires words and marks.
    const std::string& last_word() const { return tail_.front().word; }

    // Estimates how many bytes of memory training takes: for a unigram model if the words have marks, else for a BPE
    // model.
    std::size_t training_memory() const;

    // Frees the words.
    void release();

    // Returns the characters of all words with their counts, in order of code points. Boundaries count as
    // kBoundaryPoint; NUL does not count.
    std::vector<CharacterCount> characters() const;

   private:
    struct Scratch {
        std::vector<std::uint8_t> buffer;
    };
    // The last word of a line; lines are numbered without those that are skipped.
    struct Tail {
        std::size_t line;
        std::string word;
    };
    std::size_t take(const TextView& text);
    bool is_kept(const std::uint8_t* line, std::size_t size) const;
    std::size_t prepared(const std::uint8_t* line, std::size_t size, Scratch& scratch) const;
    bool add_line(const std::uint8_t* line, std::size_t size, Scratch& scratch, CountTable& table) const;
    void keep_tail(const TextView& text, std::size_t kept_before);
    std::size_t separated(std::uint8_t* text, std::size_t size) const;
    std::size_t delimited(std::uint8_t* text, std::size_t size) const;

    TextRules rules_;
    Normalizer normalizer_;
    Trie separate_;
    std::array<bool, 256> begins_separate_{};
    std::vector<std::uint8_t> separate_starts_;  // the first bytes of `separate`
    std::string delimiter_;
    std::vector<CountTable> tables_;  // one per thread
    std::size_t lines_ = 0;
    std::size_t too_long_ = 0;
    std::size_t empty_ = 0;  // lines that were empty after they were normalized
    std::deque<Tail> tail_;
};

// Calls visit(string_view) for each word of a normalized text.
template <class Visit>
void for_each_word(std::string_view text, const TextRules& rules, const Visit& visit) {
    if (text.empty()) return;
    if (!rules.split_by_whitespace) {
        visit(text);
        return;
    }
    const bool grouped = rules.whitespace_only_pieces;
    std::size_t start = 0;
    if (!grouped && !rules.whitespace_is_suffix) {
        for_each_byte(text, ' ', [&](std::size_t at) {
            if (at == 0) return;
            visit(text.substr(start, at - start));
            start = at;
        });
        visit(text.substr(start));
        return;
    }
    for (std::size_t at = 1; at < text.size(); ++at) {
        const bool space = text[at] == ' ', after_space = text[at - 1] == ' ';
        const bool begins =
            rules.whitespace_is_suffix ? after_space && !(grouped && space) : space && !(grouped && after_space);
        if (!begins) continue;
        visit(text.substr(start, at - start));
        start = at;
    }
    visit(text.substr(start));
}

// Chooses the characters of a vocabulary: the required ones, then the most frequent ones until they cover the share
// `coverage` of all characters. They are returned by descending count, then by code point. Requires counts.
std::vector<CharacterCount> covered_characters(const std::vector<CharacterCount>& counts,
                                               const std::vector<char32_t>& required, float coverage);

}  // namespace nmt_prep::sentencepiece
