// Tokenization as Moses' tokenizer.perl does it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moses/simple_steps.h"
#include "moses/text_map.h"

namespace nmt_prep::moses {

struct TokenizerOptions {
    std::string language;
    // Words whose final dot stays with them; those with true only before a number.
    std::vector<std::pair<std::string, bool>> prefixes;
    bool aggressive = false;  // hyphens within words become tokens
    bool escape = true;
    bool skip_tags = false;  // lines that are one tag stay as they are
};

// What becomes of an apostrophe between two letters.
enum class Apostrophes : std::uint8_t { kAlone, kWithNext, kWithPrevious, kInside };

class Tokenizer final : public Step {
   public:
    explicit Tokenizer(const TokenizerOptions& options);
    void apply(std::string_view line, std::string& out) const override;

   private:
    class Writer;

    // Returns whether the dot after a word stays with it, if another word follows that begins with `next`.
    bool keeps_dot(std::string_view word, char32_t next) const;

    // Appends the tokens of a line in the original's order of passes.
    void apply_by_passes(std::string_view line, std::string& out) const;
    void split_signs(std::u32string& text) const;
    void split_apostrophes(std::u32string& text) const;
    std::u32string split_last_dots(const std::u32string& text) const;

    TextMap<bool> prefixes_;
    Apostrophes apostrophes_ = Apostrophes::kAlone;
    bool number_s_;         // 's after a number becomes a token
    char32_t checked_ = 0;  // a sign that stays before a letter in lower case
    bool catalan_;
    bool aggressive_, escape_, skip_tags_;
};

}  // namespace nmt_prep::moses
