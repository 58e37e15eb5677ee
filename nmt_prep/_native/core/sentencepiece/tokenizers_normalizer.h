// Normalizes raw text like Hugging Face's tokenizers, by the rules of a tokenizer.json. The result is in the core's
// spelling (see normalizer.h). If pretokens begin at spaces, each space of the result begins one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sentencepiece/charsmap.h"
#include "sentencepiece/file.h"

namespace nmt_prep::sentencepiece {

class TokenizersNormalizer {
   public:
    explicit TokenizersNormalizer(const TokenizersRules& rules);

    // Works as Normalizer::normalize. `continued` says that the text follows an added token in its line.
    std::size_t normalize(const std::uint8_t* text, std::size_t size, bool continued, std::vector<std::uint8_t>& buffer,
                          std::size_t from) const;

   private:
    static constexpr char32_t kBasicEnd = 0x10000;

    bool begins_rule(char32_t point) const { return point >= kBasicEnd || begins_rule_[point]; }
    std::size_t apply_rules(std::string_view text, std::vector<std::uint8_t>& buffer, std::size_t from) const;
    std::uint8_t* write_words(std::string_view text, std::uint8_t* out) const;
    std::uint8_t* write_text(std::string_view text, bool continued, std::uint8_t* out) const;

    TokenizersRules rules_;
    CharsMap charsmap_;
    std::vector<bool> begins_rule_;                // by character below kBasicEnd
    std::array<bool, 256> copied_before_ascii_{};  // bytes that the rules leave unchanged before ASCII
};

}  // namespace nmt_prep::sentencepiece
