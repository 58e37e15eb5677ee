// Category, script and other properties of code points, for the Unicode version of the tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nmt_prep {

// General categories, in the order of the tables.
enum class Category : std::uint8_t {
    kLu,
    kLl,
    kLt,
    kLm,
    kLo,
    kMn,
    kMc,
    kMe,
    kNd,
    kNl,
    kNo,
    kPc,
    kPd,
    kPs,
    kPe,
    kPi,
    kPf,
    kPo,  // clang-format off
    kSm, kSc, kSk, kSo, kZs, kZl, kZp, kCc, kCf, kCs, kCo, kCn,
};  // clang-format on

extern const char kPropertiesUnicodeVersion[];

// Number of scripts; a script is its index in kScriptNames, {name, four-letter code}. The first are Common, Inherited
// and Unknown.
extern const std::size_t kScripts;
extern const char* const kScriptNames[][2];
inline constexpr std::uint8_t kCommonScript = 0;
inline constexpr std::uint8_t kInheritedScript = 1;
inline constexpr std::uint8_t kUnknownScript = 2;

// Two-stage table: page of each 128 code points, then the properties of a page.
extern const std::uint16_t kPropertyPage[0x2200];
extern const std::uint16_t kPropertyValues[];

// The properties of a code point, packed as in the tables.
class Properties {
   public:
    // Requires point <= 0x10FFFF.
    static Properties of(char32_t point) {
        return Properties(kPropertyValues[std::size_t{kPropertyPage[point >> 7]} * 128 + (point & 127)]);
    }

    Category category() const { return static_cast<Category>(bits_ & 31); }
    bool letter() const { return (bits_ & 31) <= static_cast<unsigned>(Category::kLo); }
    bool mark() const { return in(Category::kMn, Category::kMe); }
    bool number() const { return in(Category::kNd, Category::kNo); }
    bool punctuation() const { return in(Category::kPc, Category::kPo); }
    bool symbol() const { return in(Category::kSm, Category::kSo); }
    bool decimal() const { return category() == Category::kNd; }
    bool alphabetic() const { return (bits_ & 32) != 0; }
    bool space() const { return (bits_ & 64) != 0; }  // as Python's str.isspace
    std::uint8_t script() const { return static_cast<std::uint8_t>(bits_ >> 8); }

   private:
    explicit Properties(std::uint16_t bits) : bits_(bits) {}
    bool in(Category first, Category last) const {
        return (bits_ & 31) >= static_cast<unsigned>(first) && (bits_ & 31) <= static_cast<unsigned>(last);
    }

    std::uint16_t bits_;
};

}  // namespace nmt_prep
