#include "align/vocabulary.h"

#include <algorithm>
#include <utility>

#include "align/marks.h"
#include "text/parallel.h"

namespace nmt_prep::align {
namespace {

constexpr std::size_t kRunBytes = 1 << 18;

// Checks that runs of lines are UTF-8, and calls body(splitter, first, last, run, thread) for them.
template <class Body>
void for_each_run(const TextView& text, const std::vector<std::size_t>& bounds, WordRule rule, std::size_t threads,
                  Body&& body) {
    std::vector<WordSplitter> splitters(std::max<std::size_t>(threads, 1), WordSplitter(rule));
    parallel_for(bounds.size() - 1, threads, [&](std::size_t run, std::size_t thread) {
        check_lines(text, bounds[run], bounds[run + 1]);
        body(splitters[thread], bounds[run], bounds[run + 1], run, thread);
    });
}

// Distinct words with counts.
class WordTable {
   public:
    void add(const WordCount& word) {
        std::uint32_t& number = numbers_.add(word.whole);
        if (number == 0) {
            words_.push_back(word);
            number = static_cast<std::uint32_t>(words_.size());
        } else {
            words_[number - 1].count += word.count;
        }
    }
    std::vector<WordCount>& words() { return words_; }

   private:
    HashTable<std::uint32_t> numbers_;  // from 1
    std::vector<WordCount> words_;
};

}  // namespace

std::vector<WordCount> count_words(const TextView& text, WordRule rule, std::int64_t* sizes, std::size_t threads) {
    std::vector<WordTable> tables(std::max<std::size_t>(threads, 1));
    for_each_run(text, cut_lines(text, kRunBytes), rule, threads,
                 [&](WordSplitter& splitter, std::size_t first, std::size_t last, std::size_t, std::size_t thread) {
                     for (std::size_t line = first; line < last; ++line) {
                         const std::vector<Word>& words = splitter.split(text.line(line), text.line(line + 1));
                         for (const Word& word : words) tables[thread].add({word.whole, word.stem, 1});
                         sizes[line] = static_cast<std::int64_t>(words.size());
                     }
                 });
    for (std::size_t thread = 1; thread < tables.size(); ++thread)
        for (const WordCount& word : tables[thread].words()) tables[0].add(word);
    std::vector<WordCount> words = std::move(tables[0].words());
    std::ranges::sort(words, {}, &WordCount::whole);
    return words;
}

Vocabulary::Vocabulary(const std::uint64_t* hashes, std::size_t size) : numbers_(size) {
    for (std::size_t i = 0; i < size; ++i) numbers_.add(hashes[i]) = static_cast<std::int32_t>(i + 1);
}

EncodedLines encode_words(const TextView& text, WordRule rule, const Vocabulary& vocabulary, bool marks,
                          std::size_t threads) {
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    std::vector<EncodedLines> runs(bounds.size() - 1);
    EncodedLines lines;
    lines.offsets.resize(text.lines + 1);
    for_each_run(text, bounds, rule, threads,
                 [&](WordSplitter& splitter, std::size_t first, std::size_t last, std::size_t run, std::size_t) {
                     EncodedLines& mine = runs[run];
                     for (std::size_t line = first; line < last; ++line) {
                         const std::uint8_t* const begin = text.line(line);
                         const std::vector<Word>& words = splitter.split(begin, text.line(line + 1));
                         for (const Word& word : words) mine.numbers.push_back(vocabulary.number(word));
                         if (marks)
                             for (const Word& word : words)
                                 mine.marks.push_back(mark_of(begin + word.begin, begin + word.end));
                         lines.offsets[line + 1] = static_cast<std::int64_t>(words.size());
                     }
                 });
    for (std::size_t line = 0; line < text.lines; ++line) lines.offsets[line + 1] += lines.offsets[line];
    lines.numbers.reserve(static_cast<std::size_t>(lines.offsets.back()));
    for (const EncodedLines& run : runs) {
        lines.numbers.insert(lines.numbers.end(), run.numbers.begin(), run.numbers.end());
        lines.marks.insert(lines.marks.end(), run.marks.begin(), run.marks.end());
    }
    return lines;
}

}  // namespace nmt_prep::align
