#include "moses/tokenizer.h"

#include <array>
#include <cstring>
#include <memory>

#include "moses/characters.h"
#include "moses/entities.h"

namespace nmt_prep::moses {
namespace {

// What the tokenizer does at a byte.
enum Kind : std::uint8_t { kWord, kHyphen, kDot, kComma, kQuote, kBlank, kSign, kUnprintable, kHighByte };

constexpr std::array<Kind, 256> kKinds = [] {
    std::array<Kind, 256> kinds{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        const bool blank = byte == ' ' || (byte >= 0x09 && byte <= 0x0D);
        if (letter || (byte >= '0' && byte <= '9') || byte == '`')
            kinds[byte] = kWord;
        else
            kinds[byte] = byte >= 0x80 ? kHighByte : blank ? kBlank : byte < 0x20 ? kUnprintable : kSign;
    }
    kinds['-'] = kHyphen;
    kinds['.'] = kDot;
    kinds[','] = kComma;
    kinds['\''] = kQuote;
    return kinds;
}();

bool is_one_of(std::string_view language, std::initializer_list<std::string_view> languages) {
    for (const std::string_view each : languages)
        if (each == language) return true;
    return false;
}

// The most bytes that one byte becomes: a quote mark between spaces.
constexpr std::size_t kGrowth = 8;

}  // namespace

// Writes the tokens of a line in one pass, if each depends on its neighbors alone.
class Tokenizer::Writer {
   public:
    Writer(const Tokenizer& tokenizer, const PointTable<Classes>& table, std::string_view line, char* out)
        : tokenizer_(tokenizer),
          table_(table),
          begin_(reinterpret_cast<const std::uint8_t*>(line.data())),
          at_(begin_),
          end_(begin_ + line.size()),
          start_(out),
          out_(out) {}

    // Returns the end of what was written, or null if the line needs the passes.
    char* write() {
        while (at_ != end_)
            if (!write_token()) return nullptr;
        return out_;
    }

   private:
    // Writes the token that begins here, or skips white space.
    bool write_token() {
        switch (kKinds[*at_]) {
            case kBlank: ++at_; return true;
            case kSign: write_sign(); return true;
            case kUnprintable: return false;
            case kHighByte: return write_high_byte();
            case kComma: return write_comma();
            case kQuote:
                if (tokenizer_.apostrophes_ == Apostrophes::kAlone) {
                    write_sign();
                    return true;
                }
                if (!quote_is_alone() || out_ == start_) return false;
                write_sign();  // no letter precedes
                return true;
            case kDot:
                if (run_of_dots()) return true;
                [[fallthrough]];
            default: return write_word();
        }
    }

    void separate() {
        if (out_ != start_) *out_++ = ' ';
    }
    void put(std::string_view text) {
        std::memcpy(out_, text.data(), text.size());
        out_ += text.size();
    }
    void put_escaped(char character) {
        const std::string_view escape = tokenizer_.escape_ ? escape_of(character) : std::string_view();
        if (escape.empty())
            *out_++ = character;
        else
            put(escape);
    }
    void write_sign() {
        separate();
        put_escaped(static_cast<char>(*at_++));
    }

    bool write_high_byte() {
        const std::uint8_t* after = at_;
        const Classes classes = table_[next_utf8(after)];
        if ((classes & kAlnum) != 0) return write_word();
        if ((classes & kSpace) == 0) {
            separate();
            put({reinterpret_cast<const char*>(at_), static_cast<std::size_t>(after - at_)});
        }
        at_ = after;
        return true;
    }

    // A comma that follows no number.
    bool write_comma() {
        if (at_ + 1 != end_ && (at_[1] == ',' || out_ == start_)) return false;
        write_sign();
        return true;
    }

    bool run_of_dots() {
        if (at_ + 1 == end_ || at_[1] != '.') return false;
        separate();
        while (at_ != end_ && *at_ == '.') *out_++ = static_cast<char>(*at_++);
        return true;
    }

    Classes classes_at(const std::uint8_t* at) const { return at == end_ ? Classes{0} : table_[next_utf8(at)]; }
    // The character before a position, which must not be the beginning of the line.
    Classes classes_before(const std::uint8_t* at) const {
        do --at;
        while ((*at & 0xC0) == 0x80);
        return classes_at(at);
    }

    // True if no other apostrophe is near, whose neighbors would be the same, and a character follows on the line.
    bool quote_is_alone() const {
        const std::uint8_t* at = skip_space(at_ + 1);
        if (at == end_ || *at == '\'') return false;
        if (at != at_ + 1) return true;
        next_utf8(at);
        return at == end_ || *at != '\'';
    }

    const std::uint8_t* skip_space(const std::uint8_t* at) const {
        while (at != end_) {
            const std::uint8_t* after = at;
            if ((table_[next_utf8(after)] & kSpace) == 0) break;
            at = after;
        }
        return at;
    }

    // Writes a word and what is glued to it, up to the next token.
    bool write_word() {
        open_word();
        while (at_ != end_) switch (kKinds[*at_]) {
                case kWord: *out_++ = static_cast<char>(*at_++); break;
                case kHighByte: {
                    const std::uint8_t* after = at_;
                    if ((table_[next_utf8(after)] & kAlnum) == 0) return close_word();
                    while (at_ != after) *out_++ = static_cast<char>(*at_++);
                    break;
                }
                case kHyphen:
                    if (tokenizer_.aggressive_ && splits_hyphen()) {
                        put(" @-@");
                        ++at_;
                        open_word();
                    } else {
                        *out_++ = static_cast<char>(*at_++);
                    }
                    break;
                case kDot:
                    if (at_ + 1 != end_ && at_[1] == '.') return close_word();
                    *out_++ = static_cast<char>(*at_++);
                    break;
                case kComma:
                    if (!keeps_comma()) return close_word();
                    *out_++ = static_cast<char>(*at_++);
                    break;
                case kQuote:
                    if (tokenizer_.apostrophes_ == Apostrophes::kAlone) return close_word();
                    if (!quote_is_alone()) return false;
                    if (!write_quote()) return close_word();
                    break;
                case kUnprintable: return false;
                default: return close_word();
            }
        return close_word();
    }

    void open_word() {
        separate();
        word_ = at_;
    }

    // Puts a space before the last dot of a word, unless the dot stays. Returns true.
    bool close_word() {
        if (at_[-1] != '.' || at_ - word_ < 2) return true;
        const std::uint8_t* next = skip_space(at_);
        if (next != end_) {
            const std::string_view word(reinterpret_cast<const char*>(word_),
                                        static_cast<std::size_t>(at_ - word_ - 1));
            if (tokenizer_.keeps_dot(word, next_utf8(next))) return true;
        }
        out_[-1] = ' ';
        *out_++ = '.';
        return true;
    }

    bool splits_hyphen() const {
        return at_ != begin_ && (classes_before(at_) & kAlnum) != 0 && (classes_at(at_ + 1) & kAlnum) != 0;
    }

    // A comma stays between numbers. Signs that are numbers have become tokens.
    bool keeps_comma() const {
        const auto number = [](Classes classes) { return (classes & kNumber) != 0 && (classes & kAlnum) != 0; };
        return number(classes_before(at_)) && number(classes_at(at_ + 1));
    }

    // Writes an apostrophe after a character of a word; returns false if it is a token by itself.
    bool write_quote() {
        const Classes before = classes_before(at_), after = classes_at(at_ + 1);
        const bool letter_after = (after & kAlpha) != 0;
        if ((before & kAlpha) != 0) {
            if (!letter_after) return false;
            write_quote_in_word();
            return true;
        }
        if (!letter_after || !tokenizer_.number_s_ || (before & kNumber) == 0) return false;
        if (at_[1] == 's') open_word();
        put_escaped(static_cast<char>(*at_++));
        return true;
    }

    void write_quote_in_word() {
        if (tokenizer_.apostrophes_ == Apostrophes::kWithNext) open_word();
        put_escaped(static_cast<char>(*at_++));
        if (tokenizer_.apostrophes_ == Apostrophes::kWithPrevious) open_word();
    }

    const Tokenizer& tokenizer_;
    const PointTable<Classes>& table_;
    const std::uint8_t* const begin_;
    const std::uint8_t* at_;
    const std::uint8_t* const end_;
    const std::uint8_t* word_ = nullptr;
    char* const start_;
    char* out_;
};

Tokenizer::Tokenizer(const TokenizerOptions& options)
    : prefixes_(options.prefixes.begin(), options.prefixes.end()),
      number_s_(options.language == "en"),
      catalan_(options.language == "ca"),
      aggressive_(options.aggressive),
      escape_(options.escape),
      skip_tags_(options.skip_tags) {
    if (options.language == "en") apostrophes_ = Apostrophes::kWithNext;
    if (is_one_of(options.language, {"fr", "it", "ga", "ca"})) apostrophes_ = Apostrophes::kWithPrevious;
    if (is_one_of(options.language, {"so", "tdt"})) apostrophes_ = Apostrophes::kInside;
    if (is_one_of(options.language, {"fi", "sv"})) checked_ = ':';
    if (options.language == "tdt") checked_ = '\'';
}

bool Tokenizer::keeps_dot(std::string_view word, char32_t next) const {
    if (word.find('.') != std::string_view::npos) {
        bool letter = false;
        for_each_point(word, [&letter](char32_t point, std::string_view) { letter |= point == 1 || is_alpha(point); });
        if (letter) return true;
    }
    if ((character_classes()[next] & kLower) != 0) return true;
    const auto found = prefixes_.find(word);
    return found != prefixes_.end() && (!found->second || (next >= '0' && next <= '9'));
}

void Tokenizer::apply(std::string_view line, std::string& out) const {
    if (is_blank(line) || (skip_tags_ && is_tag(line))) {
        out += line;
        return;
    }
    if (checked_ == 0 && !catalan_ && line.find("DOTMULTI") == std::string_view::npos) {
        const std::size_t size = out.size();
        out.resize(size + kGrowth * line.size());
        char* const end = Writer(*this, character_classes(), line, out.data() + size).write();
        out.resize(end == nullptr ? size : static_cast<std::size_t>(end - out.data()));
        if (end != nullptr) return;
    }
    apply_by_passes(line, out);
}

}  // namespace nmt_prep::moses
