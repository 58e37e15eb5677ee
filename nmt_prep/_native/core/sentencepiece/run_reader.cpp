#include "sentencepiece/run_reader.h"

#include <optional>

namespace nmt_prep::sentencepiece {

RunReader::RunReader(const Normalizer& normalizer, const Vocabulary& vocabulary, const Joints& joints,
                     const Alphabet& alphabet)
    : normalizer_(normalizer),
      joints_(joints),
      alphabet_(alphabet),
      entries_(kBasicEnd),
      is_space_simple_(normalizer.character(' ').becomes == U' ' && !normalizer.character(' ').begins_rule) {
    for (char32_t point = 0; point < kBasicEnd; ++point) {
        const Normalizer::Character character = normalizer.character(point);
        std::uint32_t& entry = entries_[point];
        entry = (character.begins_rule ? kBeginsRule : 0) | (character.is_second ? kSecond : 0);
        if (!character.becomes || *character.becomes == ' ') {
            entry |= kSlow;
            continue;
        }
        const std::uint32_t symbol = alphabet.symbol_of(*character.becomes);
        entry |= symbol;
        if (symbol != alphabet.stranger()) continue;
        // Text that no piece covers is copied as it stands where its bytes are encoded.
        const bool changes = vocabulary.byte_fallback && *character.becomes != point;
        entry |= changes ? kSlow : kStranger;
    }
}

}  // namespace nmt_prep::sentencepiece
