// Makes one space of every run of whitespace, and removes whitespace at a line's ends.
#include "clean/fixes.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

bool is_no_break(char32_t point) { return point == 0xA0 || point == 0x202F; }

// True for tabs and the separators of Unicode (categories Zs, Zl, Zp).
bool is_whitespace(char32_t point) {
    if (point < 0x80) return point == ' ' || point == '\t';
    return is_no_break(point) || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 ||
           point == 0x2029 || point == 0x205F || point == 0x3000;
}

class Whitespace final : public Fix {
   public:
    explicit Whitespace(bool keep_no_break) : keep_no_break_(keep_no_break) {}

    ByteSet triggers() const override {
        ByteSet set;
        for (const std::uint8_t byte : {0x09, 0xC2, 0xE1, 0xE2, 0xE3}) set.set(byte);
        return set;
    }
    bool checks_spaces() const override { return true; }
    bool suspects(const Place& place) const override {
        const std::uint8_t* at = place.at;
        return is_whitespace(next_utf8(at));
    }
    void apply(std::string_view line, std::string& fixed) const override {
        const auto* at = reinterpret_cast<const std::uint8_t*>(line.data());
        const std::uint8_t* const end = at + line.size();
        char32_t space = 0;  // replacement of the run of whitespace before `at`; 0 if there is none
        while (at < end) {
            const std::uint8_t* const start = at;
            const char32_t point = next_utf8(at);
            if (is_whitespace(point)) {
                const bool kept = keep_no_break_ && is_no_break(point);
                if (space == 0 || (kept && space == ' ')) space = kept ? point : U' ';
                continue;
            }
            if (space != 0 && !fixed.empty()) append_utf8(fixed, space);
            space = 0;
            fixed.append(start, at);
        }
    }

   private:
    bool keep_no_break_;  // a run with a no-break space becomes that no-break space
};

}  // namespace

std::unique_ptr<Fix> whitespace_fix(bool keep_no_break) { return std::make_unique<Whitespace>(keep_no_break); }

}  // namespace nmt_prep::clean
