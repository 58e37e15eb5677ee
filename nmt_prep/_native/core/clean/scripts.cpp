#include "clean/scripts.h"

#include <string>

namespace nmt_prep::clean {
namespace {

struct WordLength {
    const char* script;
    std::uint8_t tenths;
};

constexpr WordLength kWordLengths[] = {{"HAN", 16}, {"HIRAGANA", 20}, {"KATAKANA", 40}, {"THAI", 40},
                                       {"LAO", 40}, {"KHMER", 50},    {"MYANMAR", 50},  {"TIBETAN", 50}};

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

std::array<std::uint8_t, 256> tenths_of_scripts() {
    std::array<std::uint8_t, 256> tenths{};
    for (const WordLength& length : kWordLengths)
        tenths[static_cast<std::size_t>(script_of_name(length.script))] = length.tenths;
    return tenths;
}

std::uint8_t katakana() {
    static const auto kKatakana = static_cast<std::uint8_t>(script_of_name("KATAKANA"));
    return kKatakana;
}

}  // namespace nmt_prep::clean
