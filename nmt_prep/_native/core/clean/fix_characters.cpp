// Fixes that remove characters (control, soft_hyphens, bidi_marks) or replace them one by one (ligatures, width).
#include "clean/fixes.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

// A fix that keeps, removes or replaces single characters.
class CharacterFix : public Fix {
   public:
    bool suspects(const Place& place) const override {
        const std::uint8_t* at = place.at;
        return alters(next_utf8(at), 0);
    }
    void apply(std::string_view line, std::string& fixed) const override {
        const auto* at = reinterpret_cast<const std::uint8_t*>(line.data());
        const std::uint8_t* const end = at + line.size();
        const std::uint8_t* kept = at;  // start of the text that was not copied yet
        char32_t previous = 0;
        while (at < end) {
            const std::uint8_t* const start = at;
            const char32_t point = next_utf8(at);
            if (!alters(point, previous)) {
                previous = point;
                continue;
            }
            fixed.append(kept, start);
            replace(point, fixed);
            kept = at;
        }
        fixed.append(kept, end);
    }

   protected:
    // `previous` is the last character before this one that stayed, 0 at the beginning of a line. If a character is
    // altered after any other character, it must also be altered at the beginning of a line.
    virtual bool alters(char32_t point, char32_t previous) const = 0;
    // Appends the replacement of the character: nothing, unless overridden.
    virtual void replace(char32_t, std::string&) const {}
};

ByteSet set_of(std::initializer_list<std::uint8_t> bytes) {
    ByteSet set;
    for (const std::uint8_t byte : bytes) set.set(byte);
    return set;
}

// Removes control characters (category Cc) except tabs and newlines, and U+FEFF, the byte order mark. The characters
// from U+0080 on stay after a character beyond ASCII, where they are bytes of misread UTF-8, as in "Ã" and U+009F for
// "ß". Without them the text would still be damaged, but the damage would be harder to detect.
class Control final : public CharacterFix {
    ByteSet triggers() const override {
        ByteSet set = set_of({0x7F, 0xC2, 0xEF});
        for (std::size_t byte = 0; byte < 0x20; ++byte) set[byte] = byte != '\t' && byte != '\n';
        return set;
    }
    bool alters(char32_t point, char32_t previous) const override {
        if (point >= 0x80 && point <= 0x9F) return previous < 0x80;
        return (point < 0x20 && point != '\t' && point != '\n') || point == 0x7F || point == 0xFEFF;
    }
};

// Removes U+00AD, which is invisible except at the end of a printed line.
class SoftHyphens final : public CharacterFix {
    ByteSet triggers() const override { return set_of({0xC2}); }
    bool alters(char32_t point, char32_t) const override { return point == 0xAD; }
};

// Removes the characters with the property Bidi_Control: marks, embeddings, overrides and isolates.
class BidiMarks final : public CharacterFix {
    ByteSet triggers() const override { return set_of({0xD8, 0xE2}); }
    bool alters(char32_t point, char32_t) const override {
        return point == 0x061C || point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
               (point >= 0x2066 && point <= 0x2069);
    }
};

// Writes out the Latin ligatures, U+FB00 to U+FB06.
class Ligatures final : public CharacterFix {
    ByteSet triggers() const override { return set_of({0xEF}); }
    bool alters(char32_t point, char32_t) const override { return point >= 0xFB00 && point <= 0xFB06; }
    void replace(char32_t point, std::string& fixed) const override {
        static constexpr const char* kLetters[] = {"ff", "fi", "fl", "ffi", "ffl", "ſt", "st"};
        fixed += kLetters[point - 0xFB00];
    }
};

// Replaces full-width ASCII, U+FF01 to U+FF5E, by ASCII.
class Width final : public CharacterFix {
    ByteSet triggers() const override { return set_of({0xEF}); }
    bool alters(char32_t point, char32_t) const override { return point >= 0xFF01 && point <= 0xFF5E; }
    void replace(char32_t point, std::string& fixed) const override {
        fixed += static_cast<char>(point - 0xFF01 + '!');
    }
};

}  // namespace

std::unique_ptr<Fix> control_fix() { return std::make_unique<Control>(); }
std::unique_ptr<Fix> soft_hyphens_fix() { return std::make_unique<SoftHyphens>(); }
std::unique_ptr<Fix> bidi_marks_fix() { return std::make_unique<BidiMarks>(); }
std::unique_ptr<Fix> ligatures_fix() { return std::make_unique<Ligatures>(); }
std::unique_ptr<Fix> width_fix() { return std::make_unique<Width>(); }

}  // namespace nmt_prep::clean
