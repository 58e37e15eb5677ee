// Words of a line, for alignment: byte ranges, and hashes of the folded word and its stem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/id_cache.h"

namespace nmt_prep::align {

// How lines are divided into words, and words into stems.
struct WordRule {
    bool spaces;    // True for words separated by ASCII white space
    unsigned stem;  // characters of a stem, where a Hangul syllable counts as two; 0 to keep words whole
};

// A word: its bytes [begin, end) within the line, and hashes of the folded word and its stem.
struct Word {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint64_t whole;
    std::uint64_t stem;
};

// The bytes [begin, end) of a word within its line.
struct Place {
    std::uint32_t begin;
    std::uint32_t end;
};

// Replaces `places` by the byte ranges of a line's words: well-formed UTF-8 below 4 GiB. With `spaces`,
// words are separated by ASCII white space.
void find_words(const std::uint8_t* begin, const std::uint8_t* end, bool spaces, std::vector<Place>& places);

// Splits lines; reuses its memory from line to line, and caches the hashes of recent words.
class WordSplitter {
   public:
    explicit WordSplitter(WordRule rule) : rule_(rule) {}

    // Returns a line's words, in well-formed UTF-8 below 4 GiB, valid until the next call.
    const std::vector<Word>& split(const std::uint8_t* begin, const std::uint8_t* end);

   private:
    struct Hashes {
        std::uint64_t whole;
        std::uint64_t stem;
    };
    static constexpr std::size_t kCacheBits = 12;  // 256 KiB

    // The hashes of a word. `line_end` is the end of its line.
    Hashes hashes(const std::uint8_t* begin, const std::uint8_t* end, const std::uint8_t* line_end);
    Hashes computed(const std::uint8_t* begin, const std::uint8_t* end);

    WordRule rule_;
    IdCache known_{kCacheBits};
    std::vector<Place> places_;
    std::vector<Word> words_;
    std::string folded_;
};

}  // namespace nmt_prep::align
