#include "sentencepiece/unigram_training/words.h"

#include <algorithm>
#include <bit>
#include <string>

#include "sentencepiece/piece_rules.h"
#include "sentencepiece/training_text.h"
#include "text/errors.h"
#include "text/point_table.h"
#include "text/utf8.h"

namespace nmt_prep::sentencepiece {
namespace {

// A word by its place among the symbols, with its first symbols as a key to sort by.
struct Word {
    std::uint64_t key;
    std::uint32_t begin, size;
    std::int64_t count, finals;
};

class Reader {
   public:
    explicit Reader(const std::vector<char32_t>& covered)
        : alphabet_(alphabet_of(covered)),
          symbol_of_(static_cast<std::uint32_t>(std::ranges::lower_bound(alphabet_, kUncoveredPoint) -
                                                alphabet_.begin() + 1)) {
        for (std::size_t i = 0; i < alphabet_.size(); ++i)
            symbol_of_.at(alphabet_[i]) = static_cast<std::uint32_t>(i + 1);
        symbol_of_.at(' ') = symbol_of_[kSpacePoint];
        bits_ = static_cast<int>(std::bit_width(alphabet_.size()));
    }

    TrainingWords read(const CountTable& table, std::string_view last) {
        symbols_.reserve(static_cast<std::size_t>(table.characters()) + last.size());
        words_.reserve(table.entries().size());
        for (const TokenCount& entry : table.entries()) {
            const bool is_final = entry.token().back() == kFinalMark;
            words_.push_back(spell(entry.token().substr(0, entry.token().size() - (is_final ? 1 : 0)), entry.count));
            words_.back().finals = is_final ? entry.count : 0;
        }
        const Word last_word = spell(last, 0);
        std::ranges::sort(words_, [this](const Word& one, const Word& other) { return compare(one, other) < 0; });
        merge_equal();
        std::ranges::stable_sort(words_, [](const Word& one, const Word& other) { return one.count > other.count; });
        return collect(last_word);
    }

   private:
    static std::vector<char32_t> alphabet_of(std::vector<char32_t> covered) {
        covered.push_back(kUncoveredPoint);
        std::ranges::sort(covered);
        return covered;
    }

    Word spell(std::string_view text, std::int64_t count) {
        Word word{0, static_cast<std::uint32_t>(symbols_.size()), 0, count, 0};
        const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
        const std::uint8_t* const end = at + text.size();
        while (at < end) symbols_.push_back(symbol_of_[next_utf8(at)]);
        if (symbols_.size() >= UINT32_MAX)
            throw TrainingError(
                "the distinct words of the lines have more than 4294967294 characters; train on a sample of the text");
        word.size = static_cast<std::uint32_t>(symbols_.size()) - word.begin;
        int shift = 64 - bits_;
        for (std::uint32_t i = 0; i < word.size && shift >= 0; ++i, shift -= bits_)
            word.key |= std::uint64_t{symbols_[word.begin + i]} << shift;
        return word;
    }

    int compare(const Word& one, const Word& other) const {
        if (one.key != other.key) return one.key < other.key ? -1 : 1;
        const std::uint32_t *const begin = symbols_.data() + one.begin, *const end = begin + one.size;
        const std::uint32_t *const other_begin = symbols_.data() + other.begin, *const other_end =
                                                                                    other_begin + other.size;
        const auto [a, b] = std::mismatch(begin, end, other_begin, other_end);
        if (a == end || b == other_end) return static_cast<int>(b == other_end) - static_cast<int>(a == end);
        return *a < *b ? -1 : 1;
    }

    // Joins words that differ in uncovered characters or the mark only.
    void merge_equal() {
        std::size_t size = 0;
        for (const Word& word : words_) {
            if (size > 0 && compare(words_[size - 1], word) == 0) {
                words_[size - 1].count += word.count;
                words_[size - 1].finals += word.finals;
            } else {
                words_[size++] = word;
            }
        }
        words_.resize(size);
    }

    TrainingWords collect(const Word& last) {
        TrainingWords all;
        all.alphabet = std::move(alphabet_);
        all.occurrences.resize(all.alphabet.size());
        std::size_t size = 0;
        for (const Word& word : words_) size += word.size;
        all.symbols.reserve(size);
        all.last = 0;
        for (const Word& word : words_) {
            if (compare(word, last) == 0) all.last = all.counts.size();
            all.starts.push_back(static_cast<std::uint32_t>(all.symbols.size()));
            all.counts.push_back(word.count);
            all.finals.push_back(word.finals);
            for (std::uint32_t i = word.begin; i < word.begin + word.size; ++i) {
                all.symbols.push_back(symbols_[i]);
                all.occurrences[symbols_[i] - 1] += word.count;
            }
        }
        all.starts.push_back(static_cast<std::uint32_t>(all.symbols.size()));
        return all;
    }

    std::vector<char32_t> alphabet_;
    PointTable<std::uint32_t> symbol_of_;
    int bits_;  // of a symbol
    std::vector<std::uint32_t> symbols_;
    std::vector<Word> words_;
};

}  // namespace

TrainingWords read_words(const CountTable& words, const std::vector<char32_t>& covered, std::string_view last) {
    return Reader(covered).read(words, last);
}

}  // namespace nmt_prep::sentencepiece
