// Normalizes punctuation as Moses' normalize-punctuation.perl does, or as MosesPunctNormalizer of sacremoses does.
//
// Both apply the same substitutions, one after the other, to the whole line. They differ in four ways:
// - U+2019 outside words and « or » between no-break spaces become other quotes;
// - Moses reads bytes, so that it knows only ASCII digits and whitespace; sacremoses reads characters;
// - Moses moves full stops out of quotes for all languages but English and Czech, sacremoses for German, Spanish and
//   French only; Moses does it at the end of a line too, because it sees the line break there;
// - sacremoses strips the line.
#include <algorithm>
#include <span>
#include <utility>

#include "clean/fixes.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::string_view kNoBreak = "\u00A0";

// The digits zero of all scripts; nine more digits follow each (category Nd of Unicode 14.0).
constexpr char32_t kZeros[] = {0x30,    0x660,   0x6F0,   0x7C0,   0x966,   0x9E6,   0xA66,   0xAE6,   0xB66,   0xBE6,
                               0xC66,   0xCE6,   0xD66,   0xDE6,   0xE50,   0xED0,   0xF20,   0x1040,  0x1090,  0x17E0,
                               0x1810,  0x1946,  0x19D0,  0x1A80,  0x1A90,  0x1B50,  0x1BB0,  0x1C40,  0x1C50,  0xA620,
                               0xA8D0,  0xA900,  0xA9D0,  0xA9F0,  0xAA50,  0xABF0,  0xFF10,  0x104A0, 0x10D30, 0x11066,
                               0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0,
                               0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2,
                               0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0};

bool is_decimal(char32_t point) {
    const auto* const above = std::ranges::upper_bound(kZeros, point);
    return above != kZeros && point - above[-1] < 10;
}

// Works as Python's str.isspace.
bool is_space(char32_t point) {
    if (point < 0x80) return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20);
    return point == 0x85 || point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
           point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000;
}

// A character and its size in bytes.
struct Character {
    char32_t point;
    std::size_t size;
};

// Returns the character at a position, which must be within the text.
Character character_at(std::string_view text, std::size_t at) {
    const auto* const start = reinterpret_cast<const std::uint8_t*>(text.data()) + at;
    const std::uint8_t* end = start;
    const char32_t point = next_utf8(end);
    return {point, static_cast<std::size_t>(end - start)};
}

// Returns the character that ends at a position above 0.
Character character_before(std::string_view text, std::size_t end) {
    std::size_t at = end - 1;
    while ((static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80) --at;
    return character_at(text, at);
}

// Replaces the occurrences of `from` that a test of their positions accepts, in one pass. Positions are those before
// any replacement, and replacements are not searched again.
template <class Test>
void replace_if(std::string& text, std::string_view from, std::string_view to, Test&& test) {
    std::size_t at = text.find(from);
    if (at == std::string::npos) return;
    std::string result;
    result.reserve(text.size() + 16);
    std::size_t kept = 0;
    for (; at != std::string::npos; at = text.find(from, at + from.size())) {
        if (!test(at)) continue;
        result.append(text, kept, at - kept).append(to);
        kept = at + from.size();
    }
    text = std::move(result.append(text, kept));
}

void replace(std::string& text, std::string_view from, std::string_view to) {
    replace_if(text, from, to, [](std::size_t) { return true; });
}

void collapse_spaces(std::string& text) {
    std::size_t written = 0;
    for (const char c : text)
        if (c != ' ' || written == 0 || text[written - 1] != ' ') text[written++] = c;
    text.resize(written);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Removes the space between ) and one of .!:?;,
void close_parentheses(std::string& text) {
    replace_if(text, ") ", ")", [&text](std::size_t at) {
        return at + 2 < text.size() && std::string_view(".!:?;,").find(text[at + 2]) != std::string_view::npos;
    });
}

// Replaces a quote between two ASCII letters by an apostrophe. Matches do not overlap: a letter after one quote cannot
// be the letter before the next quote.
void replace_apostrophes(std::string& text, std::string_view quote) {
    std::size_t used = 0;
    replace_if(text, quote, "'", [&](std::size_t at) {
        const std::size_t after = at + quote.size();
        if (at <= used || !is_letter(text[at - 1]) || after == text.size() || !is_letter(text[after])) return false;
        used = after + 1;
        return true;
    });
}

// Moves commas and full stops after a quote to the front of the quote.
void move_stops_into_quotes(std::string& text) {
    for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at)) {
        const std::size_t end = std::min(text.find_first_not_of(",.", at + 1), text.size());
        std::rotate(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(at + 1),
                    text.begin() + static_cast<std::ptrdiff_t>(end));
        at = end;
    }
}

class Normalizer final : public Fix {
   public:
    Normalizer(Punctuation like, std::string_view language) : moses_(like == Punctuation::kMoses) {
        const bool czech = language == "cs" || language == "cz";
        const bool listed = language == "de" || language == "es" || language == "fr";
        english_ = language == "en";
        stops_after_quotes_ = moses_ ? !english_ && !czech : listed;
        decimal_sign_ = czech || listed ? ',' : '.';
    }

    ByteSet triggers() const override {
        ByteSet set;
        for (const unsigned char byte : std::string_view("\r()`'\"%:;\xC2\xE2")) set.set(byte);
        if (!moses_)
            for (const unsigned char byte : std::string_view("\t\n\v\f\x1C\x1D\x1E\x1F\xE1\xE3")) set.set(byte);
        return set;
    }
    bool checks_spaces() const override { return true; }
    bool suspects(const Place& place) const override {
        const auto stop = [](std::uint8_t byte) { return byte == ',' || byte == '.'; };
        const std::uint8_t* at = place.at;
        switch (*at) {
            case '%':
            case ':':
            case ';': return place[-1] == ' ';
            case '\'': return place[1] == '\'';
            case '"': return stop(place[-1]) || stop(place[1]);
            case 0xE1:
            case 0xE3: return is_space(next_utf8(at));
            default: return true;
        }
    }
    void apply(std::string_view line, std::string& fixed) const override {
        fixed = line;
        normalize_spaces(fixed);
        normalize_quotes(fixed);
        normalize_no_break_spaces(fixed);
        if (english_) move_stops_into_quotes(fixed);
        if (stops_after_quotes_) move_stops_after_quotes(fixed);
        join_digits(fixed);
        if (!moses_) strip(fixed);
    }

   private:
    bool is_digit(char32_t point) const { return moses_ ? point >= '0' && point <= '9' : is_decimal(point); }

    // Normalizes spaces around parentheses and before signs.
    void normalize_spaces(std::string& text) const {
        replace(text, "\r", "");
        replace(text, "(", " (");
        replace(text, ")", ") ");
        collapse_spaces(text);
        close_parentheses(text);
        replace(text, "( ", "(");
        replace(text, " )", ")");
        replace_if(text, " %", "%",
                   [&](std::size_t at) { return at != 0 && is_digit(character_before(text, at).point); });
        replace(text, " :", ":");
        replace(text, " ;", ";");
    }

    void normalize_quotes(std::string& text) const {
        replace(text, "`", "'");
        replace(text, "''", " \" ");
        for (const char* const quote : {"„", "“", "”"}) replace(text, quote, "\"");
        replace(text, "–", "-");
        replace(text, "—", " - ");
        collapse_spaces(text);
        replace(text, "´", "'");
        for (const char* const quote : {"‘", "’"}) replace_apostrophes(text, quote);
        for (const char* const quote : {"‘", "‚"}) replace(text, quote, "'");
        replace(text, "’", moses_ ? "\"" : "'");
        replace(text, "''", "\"");
        replace(text, "…", "...");
        replace(text, "\u00A0«\u00A0", moses_ ? " \"" : "\"");
        for (const char* const quote : {"«\u00A0", "«"}) replace(text, quote, "\"");
        replace(text, "\u00A0»\u00A0", moses_ ? "\" " : "\"");
        for (const char* const quote : {"\u00A0»", "»"}) replace(text, quote, "\"");
    }

    static void normalize_no_break_spaces(std::string& text) {
        if (text.find(kNoBreak) != std::string::npos) {
            replace(text, "\u00A0%", "%");
            replace(text, "nº\u00A0", "nº ");
            replace(text, "\u00A0:", ":");
            replace(text, "\u00A0ºC", " ºC");
            replace(text, "\u00A0cm", " cm");
            replace(text, "\u00A0?", "?");
            replace(text, "\u00A0!", "!");
            replace(text, "\u00A0;", ";");
            replace(text, ",\u00A0", ", ");
        }
        collapse_spaces(text);
    }

    // Moves commas and full stops that precede a quote to after it; full stops only if another character than <
    // follows.
    void move_stops_after_quotes(std::string& text) const {
        replace(text, ",\"", "\",");
        std::size_t used = 0;  // end of the last match, which includes the character after the quote
        for (std::size_t at = text.find(".\""); at != std::string::npos;
             at = text.find(".\"", std::max(used, at + 1))) {
            std::size_t end = at + 2;
            while (end < text.size() && is_gap(character_at(text, end).point)) end += character_at(text, end).size;
            if (end < text.size() && text[end] != '<')
                end += character_at(text, end).size;
            else if (end == at + 2 && (!moses_ || end < text.size()))
                continue;
            std::size_t start = at;
            while (start > used && text[start - 1] == '.') --start;
            const auto place = [&text](std::size_t i) { return text.begin() + static_cast<std::ptrdiff_t>(i); };
            std::rotate(place(start), place(at + 1), place(at + 2));
            used = end;
        }
    }
    bool is_gap(char32_t point) const {
        return is_space(point) && (!moses_ || (point >= 0x09 && point <= 0x0D) || point == ' ');
    }

    // Replaces a no-break space between two digits. Matches do not overlap: a digit after one space cannot be the digit
    // before the next space.
    void join_digits(std::string& text) const {
        std::size_t used = 0;
        replace_if(text, kNoBreak, std::string_view(&decimal_sign_, 1), [&](std::size_t at) {
            const std::size_t after = at + kNoBreak.size();
            if (at <= used || after == text.size() || !is_digit(character_before(text, at).point)) return false;
            const Character next = character_at(text, after);
            if (!is_digit(next.point)) return false;
            used = after + next.size;
            return true;
        });
    }

    static void strip(std::string& text) {
        while (!text.empty() && is_space(character_before(text, text.size()).point))
            text.erase(text.size() - character_before(text, text.size()).size);
        std::size_t start = 0;
        while (start < text.size() && is_space(character_at(text, start).point))
            start += character_at(text, start).size;
        text.erase(0, start);
    }

    bool moses_;
    bool english_;
    bool stops_after_quotes_;
    char decimal_sign_;  // replacement of a no-break space between two digits
};

}  // namespace

std::unique_ptr<Fix> punctuation_fix(Punctuation like, const std::string& language) {
    return std::make_unique<Normalizer>(like, language);
}

}  // namespace nmt_prep::clean
