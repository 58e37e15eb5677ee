#include "clean/lengths.h"

#include <algorithm>

#include "clean/scripts.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

// The first byte of script characters without spaces between words is at least this.
constexpr std::uint8_t kFirstWordless = 0xE0;

bool may_lack_spaces(const Line& line) {
    return !line.ascii && std::any_of(line.begin, line.end, [](std::uint8_t byte) { return byte >= kFirstWordless; });
}

// Counts the words of one token.
class WordCount {
   public:
    void add(char32_t point) {
        const Properties properties = Properties::of(point);
        const std::uint8_t script = word_script(point);
        const unsigned tenths = tenths_per_word(script);
        const int kind = tenths == 0 ? kNoScript : script;
        if (kind != kind_ || size_ == 0) {
            end_run();
            kind_ = kind;
        }
        tenths_ = tenths;
        ++size_;
        has_word_ |= properties.letter() || properties.number();
        lacks_spaces_ |= tenths != 0;
    }

    // Ends the token and returns its words.
    std::size_t end() {
        end_run();
        const std::size_t words = lacks_spaces_ ? words_ : 1;
        words_ = 0;
        lacks_spaces_ = false;
        return words;
    }

   private:
    void end_run() {
        if (size_ == 0) return;
        if (tenths_ != 0)
            words_ += std::max<std::size_t>((size_ * 20 + tenths_) / (std::size_t{2} * tenths_), 1);
        else
            words_ += has_word_ ? 1 : 0;
        size_ = 0;
        has_word_ = false;
    }

    int kind_ = kNoScript;  // script of the run
    unsigned tenths_ = 0;
    std::size_t size_ = 0;  // size of the run, in code points
    bool has_word_ = false;
    std::size_t words_ = 0;
    bool lacks_spaces_ = false;
};

std::size_t words(const Lines& lines, const Line& line) {
    if (!may_lack_spaces(line)) return lines.tokens(line);
    std::size_t total = 0;
    WordCount count;
    lines.for_each_token(line, [&](const std::uint8_t* at, const std::uint8_t* end) {
        while (at < end) count.add(next_utf8(at));
        total += count.end();
    });
    return total;
}

std::size_t letters(const Line& line) {
    const std::uint8_t* const bytes = line.begin;
    std::size_t count =
        count_where(line.size(), [bytes](std::size_t i) { return (bytes[i] | 32u) - 'a' < 26u && bytes[i] < 0x80; });
    if (line.ascii) return count;
    for (const std::uint8_t* at = line.begin; at < line.end;) {
        if (*at < 0x80)
            ++at;
        else
            count += Properties::of(next_utf8(at)).letter() ? 1 : 0;
    }
    return count;
}

std::size_t length(const Lines& lines, const Line& line, Unit unit) {
    switch (unit) {
        case Unit::kChar: return lines.characters(line);
        case Unit::kByte: return line.size();
        case Unit::kLetter: return letters(line);
        case Unit::kToken: return lines.tokens(line);
        default: return words(lines, line);
    }
}

}  // namespace

void lengths(const Lines& lines, Unit unit, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) out[i] = static_cast<double>(length(lines, lines[i], unit));
}

void longest_tokens(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t longest = 0;
        lines.for_each_token(line, [&](const std::uint8_t* begin, const std::uint8_t* end) {
            const auto bytes = static_cast<std::size_t>(end - begin);
            if (bytes > longest) longest = std::max(longest, line.ascii ? bytes : lines.characters(begin, end));
        });
        out[i] = static_cast<double>(longest);
    }
}

void longest_words(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        std::size_t longest = 0;
        std::size_t run = 0;
        lines.for_each_token(line, [&](const std::uint8_t* at, const std::uint8_t* end) {
            if (line.ascii) {
                longest = std::max(longest, static_cast<std::size_t>(end - at));
                return;
            }
            while (at < end) {
                run = tenths_per_word(word_script(next_utf8(at))) == 0 ? run + 1 : 0;
                longest = std::max(longest, run);
            }
            run = 0;
        });
        out[i] = static_cast<double>(longest);
    }
}

void average_tokens(const Lines& lines, double* out) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line line = lines[i];
        const std::size_t tokens = lines.tokens(line);
        const std::size_t inside = lines.characters(line) - lines.space_characters(line);
        out[i] = tokens == 0 ? 0.0 : static_cast<double>(inside) / static_cast<double>(tokens);
    }
}

}  // namespace nmt_prep::clean
