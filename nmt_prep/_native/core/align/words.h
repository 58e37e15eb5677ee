// Words of a line, for alignment: their places, and hashes of the folded word and of its stem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nmt_prep::align {

// How lines are divided into words and words are cut to stems.
struct WordRule {
    bool spaces;    // words are what white space in ASCII separates
    unsigned stem;  // characters of a stem, of which a Hangul syllable is two; 0 to keep words whole
};

// A word: its bytes [begin, end) within the line, and hashes of the folded word and of its stem.
struct Word {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint64_t whole;
    std::uint64_t stem;
};

// Splits lines; reuses its memory from line to line.
class WordSplitter {
   public:
    explicit WordSplitter(WordRule rule) : rule_(rule) {}

    // Returns the words of a line of well-formed UTF-8 of less than 4 GiB, valid until the next call.
    const std::vector<Word>& split(const std::uint8_t* begin, const std::uint8_t* end);

   private:
    void split_at_spaces(const std::uint8_t* begin, const std::uint8_t* end);
    void split_by_characters(const std::uint8_t* begin, const std::uint8_t* end);
    void add(const std::uint8_t* line, const std::uint8_t* begin, const std::uint8_t* end);

    WordRule rule_;
    std::vector<Word> words_;
    std::string folded_;
};

}  // namespace nmt_prep::align
