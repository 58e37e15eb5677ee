// Truecasing as Moses does it: the words at the beginning of sentences get their most frequent case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "moses/simple_steps.h"
#include "moses/text_map.h"
#include "moses/word_table.h"

namespace nmt_prep::moses {

class Truecaser final : public Step {
   public:
    // `forms` has the forms of each word, the best one first. `lower_first` is for text without case, as from speech
    // recognition: every word is put in lower case before it is looked up.
    Truecaser(const std::vector<std::vector<std::string>>& forms, bool lower_first);
    void apply(std::string_view line, std::string& out) const override;

   private:
    void append_word(std::string_view word, bool start, std::string& out) const;

    struct Word {
        bool known = false;    // it is a form of a word
        std::size_t best = 0;  // of a word in lower case: the position of its best form in `best_` from 1, 0 for none
    };
    WordTable<Word> words_;
    std::vector<std::string> best_;
    bool lower_first_;
};

// Learns the forms of words from tokens.
class TruecaserTrainer {
   public:
    // `first_tokens`: also counts tokens at the beginning of sentences: those in lower case as others, the only token
    // of a line as a tenth.
    explicit TruecaserTrainer(bool first_tokens) : first_tokens_(first_tokens) {}

    // Throws InvalidTextError naming a line that is not UTF-8.
    void add(const TextView& text, const Poll& poll);

    // Returns a model's lines, ascending by their bytes. Forms are in descending order of their counts; of equally
    // frequent ones the form that occurred first comes first.
    std::vector<std::string> model() const;

   private:
    struct Count {
        std::int64_t tenths;
        std::size_t order;  // number of forms that occurred before
    };
    void add_line(std::string_view line);
    void add_word(std::string_view word, std::int64_t tenths);

    TextMap<Count> forms_;
    bool first_tokens_;
};

// Puts the first character of sentences in upper case.
void detruecase(std::string_view line, std::string& out);

}  // namespace nmt_prep::moses
