// Normalizes raw text: applies the model's character rules, escapes and collapses spaces, and adds the dummy prefix.
// Within the core the escaped space (U+2581) is the single byte 0x20, which is otherwise unused after escaping.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sentencepiece/charsmap.h"
#include "sentencepiece/file.h"
#include "sentencepiece/trie.h"

namespace nmt_prep::sentencepiece {

inline constexpr std::string_view kEscapedSpace = "\xE2\x96\x81";

// Returns a text in the core's spelling; nothing if it contains a space, which no normalized text has.
std::optional<std::string> spelled(std::string_view text, bool spaces_escaped);

// Returns the texts to which no character rules apply: user-defined symbols.
std::vector<Utf8Text> verbatim_texts(const ModelFile& file);

class Normalizer {
   public:
    // `verbatim`: the result of `verbatim_texts`.
    Normalizer(const NormalizerSpec& spec, bool whitespace_is_suffix, const std::vector<Utf8Text>& verbatim);

    bool spaces_escaped() const { return spec_.escape_whitespaces; }

    // Writes the normalized text to buffer[from] and returns its end. The buffer grows if needed, and has kPadding
    // bytes after the end. Requires well-formed UTF-8.
    std::size_t normalize(const std::uint8_t* text, std::size_t size, std::vector<std::uint8_t>& buffer,
                          std::size_t from) const;

    static constexpr std::size_t kPadding = 64;

    // The normal form of a single character below U+10000.
    struct Character {
        std::optional<char32_t> becomes;  // unset unless it becomes one character, which may be a space
        bool begins_rule;                 // with a character after it that is_second, it may become another text
        bool is_second;
    };
    Character character(char32_t point) const;

    bool collapses_spaces() const { return spec_.remove_extra_whitespaces; }
    bool begins_with_space() const { return !suffix_ && spec_.add_dummy_prefix; }
    bool ends_with_space() const { return suffix_ && spec_.add_dummy_prefix; }

    // Returns where the text of a line begins, which may be its end.
    const std::uint8_t* skip_first_spaces(const std::uint8_t* text, const std::uint8_t* end) const;

    // Normalizes a character, or the characters of a rule, and advances `at`. Returns the text, which is valid until
    // the buffer changes. If `after_space` is true, spaces at the beginning of that text are dropped; it is then set
    // for the next call.
    std::string_view next(const std::uint8_t*& at, const std::uint8_t* end, bool& after_space,
                          std::vector<std::uint8_t>& buffer) const;

    // A normalized text, with spaces as in pieces, and the line's bytes that each of its bytes was made from.
    struct Trace {
        void add(std::string_view part, std::size_t begin, std::size_t end);

        std::string text;
        std::vector<std::int32_t> begins, ends;
    };

    // Normalizes a line as `normalize` does, more slowly. Requires well-formed UTF-8.
    void trace(const std::uint8_t* text, std::size_t size, Trace& out) const;

   private:
    enum : std::uint8_t {
        kRuled = 1,       // a rule applies to this character alone, or a verbatim text begins with it
        kBeginsRule = 2,  // a longer rule begins with this character
        kSecond = 4,      // a rule has this as its second character
        kSpecial = 8,     // the escaped space itself
    };
    // The entry of a character in the table of copies: the bytes that it becomes, their number, and these flags.
    enum : std::uint32_t {
        kSlow = std::uint32_t{1} << 31,            // it cannot be copied
        kCopyBeginsRule = std::uint32_t{1} << 30,  // unless a kCopySecond follows
        kCopySecond = std::uint32_t{1} << 29,
    };
    static constexpr char32_t kBasicEnd = 0x10000;

    void read_rules();
    std::uint32_t copy_of(char32_t point) const;
    static std::size_t copy_size(std::uint32_t copy) { return copy >> 24 & 3; }
    std::uint8_t flags(char32_t point) const { return point < kBasicEnd ? flags_[point] : kRuled | kSecond; }
    bool is_plain(char32_t point, const std::uint8_t* next, const std::uint8_t* end) const;
    std::size_t copy_ascii(const std::uint8_t* text, const std::uint8_t* end, bool& after_space,
                           std::uint8_t* out) const;
    std::uint8_t* copy_basic(const std::uint8_t*& text, const std::uint8_t* end, bool& after_space,
                             std::uint8_t* out) const;
    std::size_t prefix(const std::uint8_t* text, std::size_t size, std::string_view& replacement) const;
    std::uint8_t* append(std::string_view part, bool& after_space, std::uint8_t* out) const;

    NormalizerSpec spec_;
    bool suffix_;
    CharsMap rules_;
    Trie verbatim_;
    std::vector<std::uint8_t> flags_;    // by character below kBasicEnd
    std::vector<std::uint32_t> copies_;  // likewise
    bool plain_ascii_ = false;           // ' ' to '~' remain unchanged before ASCII, and no rule begins with a space
};

}  // namespace nmt_prep::sentencepiece
