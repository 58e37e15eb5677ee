// Replaces complete HTML character references, `&name;`, `&#decimal;` and `&#xhexadecimal;`, by their characters.
//
// Replacements are not searched again, so "&amp;lt;" becomes "&lt;". Unknown names
// stay, as do numbers of control characters, surrogates and noncharacters. Numbers from 128 to 159 mean characters of
// Windows-1252, as in HTML. References to line breaks and tabs become spaces, since a line must stay one line and one
// column of a table.
#include <utility>

#include "clean/fixes.h"
#include "clean/windows_1252.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::size_t kLongest = 40;  // bytes between & and ;

// Returns the code point that digits such as "233" or "xE9" stand for; 0 if there is none.
char32_t number_of(std::string_view digits) {
    const bool hexadecimal = !digits.empty() && (digits[0] == 'x' || digits[0] == 'X');
    if (hexadecimal) digits.remove_prefix(1);
    if (digits.empty()) return 0;
    char32_t value = 0;
    for (const char c : digits) {
        const auto lower = static_cast<unsigned char>(c | 0x20);
        char32_t digit;
        if (c >= '0' && c <= '9')
            digit = static_cast<char32_t>(c - '0');
        else if (hexadecimal && lower >= 'a' && lower <= 'f')
            digit = static_cast<char32_t>(lower - 'a' + 10);
        else
            return 0;
        value = value * (hexadecimal ? 16 : 10) + digit;
        if (value > 0x10FFFF) return 0;
    }
    return value;
}

// Returns the character of a numeric reference; 0 if text may not contain it.
char32_t meant_by(char32_t number) {
    if (number == '\t' || number == '\n' || number == '\r') return ' ';
    if (number >= 0x80 && number <= 0x9F) return from_windows_1252(static_cast<std::uint8_t>(number));
    const bool control = number < 0x20 || number == 0x7F;
    const bool surrogate = number >= 0xD800 && number <= 0xDFFF;
    const bool noncharacter = (number >= 0xFDD0 && number <= 0xFDEF) || (number & 0xFFFE) == 0xFFFE;
    return control || surrogate || noncharacter ? 0 : number;
}

class HtmlEntities final : public Fix {
   public:
    explicit HtmlEntities(Entities entities) : entities_(std::move(entities)) {}

    ByteSet triggers() const override { return ByteSet().set('&'); }
    bool suspects(const Place&) const override { return true; }
    void apply(std::string_view line, std::string& fixed) const override {
        std::size_t kept = 0;
        for (std::size_t at = line.find('&'); at != std::string_view::npos; at = line.find('&', at)) {
            ++at;
            const std::size_t semicolon = line.substr(at, kLongest + 1).find(';');
            if (semicolon == std::string_view::npos) continue;
            fixed.append(line, kept, at - 1 - kept);
            kept = at - 1;
            if (append_meaning(line.substr(at, semicolon), fixed)) kept = at += semicolon + 1;
        }
        fixed.append(line, kept);
    }

   private:
    bool append_meaning(std::string_view reference, std::string& fixed) const {
        if (!reference.starts_with('#')) {
            const auto entity = entities_.find(std::string(reference));
            if (entity == entities_.end()) return false;
            fixed += entity->second == "\n" || entity->second == "\t" ? " " : entity->second;
            return true;
        }
        const char32_t point = meant_by(number_of(reference.substr(1)));
        if (point != 0) append_utf8(fixed, point);
        return point != 0;
    }

    Entities entities_;
};

}  // namespace

std::unique_ptr<Fix> html_entities_fix(Entities entities) {
    return std::make_unique<HtmlEntities>(std::move(entities));
}

}  // namespace nmt_prep::clean
