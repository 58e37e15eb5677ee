// Spaces of Chinese and Japanese text.
#include <array>

#include "clean/fixes.h"
#include "clean/scripts.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

enum class Kind : std::uint8_t { kNone, kEastAsian, kMark, kOther };

// Characters of one kind without spaces between them.
struct Stretch {
    Kind kind = Kind::kNone;
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* end = nullptr;
    bool letters = false;     // it has letters
    bool word_first = false;  // it begins with a word that has letters
    bool word_last = false;   // it ends with one
    bool space_before = false;
};

bool is_east_asian(std::uint8_t script) {
    static const auto kScripts = [] {
        std::array<bool, 256> scripts{};
        for (const char* const name : {"HAN", "HIRAGANA", "KATAKANA", "BOPOMOFO"})
            scripts[static_cast<std::size_t>(script_of_name(name))] = true;
        return scripts;
    }();
    return kScripts[script];
}

Kind kind_of(char32_t point) {
    if (point < 0x80) return Kind::kOther;
    if (is_east_asian(word_script(point))) return Kind::kEastAsian;
    const bool mark = (point >= 0x3000 && point <= 0x303F) || (point >= 0xFE30 && point <= 0xFE4F) ||
                      (point >= 0xFF00 && point <= 0xFF65 && !Properties::of(point).letter()) || point == 0x30FB;
    return mark ? Kind::kMark : Kind::kOther;
}

// Reads the next stretch, with the spaces before it.
Stretch next_stretch(const std::uint8_t*& at, const std::uint8_t* end) {
    Stretch stretch;
    bool in_word = false, word_has_letter = false, first_word = true;
    while (at < end) {
        const std::uint8_t* const start = at;
        const char32_t point = next_utf8(at);
        const Properties properties = Properties::of(point);
        if (properties.space()) {
            if (stretch.kind == Kind::kNone) {
                stretch.space_before = true;
                continue;
            }
            at = start;
            break;
        }
        const Kind kind = kind_of(point);
        if (stretch.kind == Kind::kNone) {
            stretch.kind = kind;
            stretch.begin = start;
        } else if (kind != stretch.kind) {
            at = start;
            break;
        }
        stretch.end = at;
        const bool in = properties.letter() || properties.number() || properties.mark();
        word_has_letter = in && ((in_word && word_has_letter) || properties.letter());
        first_word &= in;
        stretch.word_first |= first_word && word_has_letter;
        stretch.letters |= properties.letter();
        in_word = in;
    }
    stretch.word_last = word_has_letter;
    return stretch;
}

// Returns whether a space belongs between two stretches.
bool separated(const Stretch& left, const Stretch& right) {
    if (left.kind == Kind::kNone || right.kind == Kind::kNone) return false;
    if (left.kind == Kind::kOther && right.kind == Kind::kOther) return true;
    if (left.kind == Kind::kMark || right.kind == Kind::kMark || left.kind == right.kind) return false;
    const bool left_other = left.kind == Kind::kOther;
    if (left_other ? left.word_last : right.word_first) return true;
    return right.space_before && (left_other ? left : right).letters;
}

}  // namespace

void join_east_asian(std::string_view line, std::string& out) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(line.data());
    const std::uint8_t* const end = at + line.size();
    Stretch left;
    while (at < end) {
        const Stretch right = next_stretch(at, end);
        if (right.kind == Kind::kNone) break;
        if (separated(left, right)) out += ' ';
        out.append(right.begin, right.end);
        left = right;
    }
}

}  // namespace nmt_prep::clean
