// The tokens of Tensor2Tensor's dialect as lists of positions, found without a branch for each token, since the lengths
// of words are not predictable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "t2t/tokens.h"
#include "text/batch.h"

namespace nmt_prep::t2t {

// Reads a run of lines, a few hundred tokens at a time. Its tokens are the same as of for_each_token.
class TokenList {
   public:
    // Begins with lines [first, last), which must be well-formed UTF-8.
    void begin(const TextView& text, std::size_t first, std::size_t last);

    // Finds the next tokens, in order. Returns how many tokens it found, 0 at the end.
    std::size_t next();

    // Return at which byte of the run the i-th token of the last `next` begins, and the byte after its last one.
    std::size_t start(std::size_t i) const { return starts_[i]; }
    std::size_t end(std::size_t i) const { return ends_[i]; }

   private:
    static constexpr std::size_t kWords = 16;     // words of bits that are read together
    static constexpr std::size_t kUnrolled = 16;  // positions that are always written, even if fewer are found
    static constexpr std::size_t kRoom = kWords * 64 + kUnrolled + 1;

    struct Ends {
        std::size_t* starts;
        std::size_t* ends;
    };

    static std::size_t* write_places(std::uint64_t bits, std::size_t base, std::size_t* out);
    static std::size_t* write_places_avx512(std::uint64_t bits, std::size_t base, std::size_t* out);
    template <class Spaces, class Write>
    Ends read_words_by(std::size_t last, Ends out, Spaces&& spaces, Write&& write);
    Ends read_words_portable(std::size_t last, Ends out);
    Ends read_words_avx2(std::size_t last, Ends out);
    Ends read_words_avx512(std::size_t last, Ends out);
    Ends read_words(std::size_t last, Ends out);

    const std::uint8_t* run_ = nullptr;
    std::size_t size_ = 0;
    ChangeBits changes_;  // bits where the class of characters changes
    ChangeBits lines_;    // bits where lines begin, and where the last line ends
    std::size_t word_ = 0, words_ = 0;
    std::uint64_t dropped_ = 0;  // 1 if the last byte of the previous words is a dropped space
    std::size_t found_ = 0;
    bool open_ = false;  // starts_[found_] is the start of a token that has not ended
    std::size_t starts_[kRoom], ends_[kRoom];
};

}  // namespace nmt_prep::t2t
