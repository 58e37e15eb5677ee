#include "clean/scripts.h"

#include <array>
#include <string>

namespace nmt_prep::clean {
namespace {

struct WordLength {
    const char* script;
    std::uint8_t tenths;
};

constexpr WordLength kWordLengths[] = {{"HAN", 16}, {"HIRAGANA", 20}, {"KATAKANA", 40}, {"THAI", 40},
                                       {"LAO", 40}, {"KHMER", 50},    {"MYANMAR", 50},  {"TIBETAN", 50}};
constexpr char32_t kProlongedSoundMark = 0x30FC;

std::array<std::uint8_t, 256> tenths_of_scripts() {
    std::array<std::uint8_t, 256> tenths{};
    for (const WordLength& length : kWordLengths)
        tenths[static_cast<std::size_t>(script_of_name(length.script))] = length.tenths;
    return tenths;
}

}  // namespace

int script_of_name(std::string_view name) {
    std::string upper;
    for (const char letter : name) {
        if (letter == '_' || letter == ' ' || letter == '-') continue;
        upper += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
    }
    for (std::size_t script = 0; script < kScripts; ++script)
        for (const char* const spelled : kScriptNames[script])
            if (upper == spelled) return static_cast<int>(script);
    return kNoScript;
}

unsigned tenths_per_word(std::uint8_t script) {
    static const std::array<std::uint8_t, 256> kTenths = tenths_of_scripts();
    return kTenths[script];
}

std::uint8_t word_script(char32_t point) {
    static const auto kKatakana = static_cast<std::uint8_t>(script_of_name("KATAKANA"));
    return point == kProlongedSoundMark ? kKatakana : Properties::of(point).script();
}

}  // namespace nmt_prep::clean
