#include "clean/character_grams.h"

#include <algorithm>
#include <array>

#include "clean/keys.h"
#include "clean/scripts.h"
#include "text/byte_hash.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

constexpr std::uint8_t kSize = 4;
constexpr std::uint8_t kDenseSize = 2;
constexpr char32_t kFirstDense = 0x0E00;  // no character in these scripts comes before the block of Thai

// True for each script with n-grams of two characters.
std::array<bool, 256> dense_scripts() {
    std::array<bool, 256> dense{};
    for (const char* const name : {"HAN", "HIRAGANA", "KATAKANA", "THAI"})
        dense[static_cast<std::size_t>(script_of_name(name))] = true;
    return dense;
}

std::uint8_t size_at(char32_t point, std::uint8_t before) {
    static const std::array<bool, 256> kDense = dense_scripts();
    if (point < kFirstDense) return kSize;
    const std::uint8_t script = word_script(point);
    if (script == kInheritedScript) return before;  // such as the voiced sound mark of kana
    return kDense[script] ? kDenseSize : kSize;
}

std::uint64_t hash_points(std::uint64_t first, std::uint64_t second, std::uint64_t third, std::uint64_t fourth,
                          std::uint64_t size) {
    return mix_bits((first | second << 21 | third << 42) ^ 0x9E3779B97F4A7C15u,
                    (fourth | size << 32) ^ 0xD1B54A32D192ED03u);
}

std::uint64_t hash_gram(const char32_t* points, std::size_t size) {
    std::array<std::uint64_t, kSize> held{};
    std::copy_n(points, size, held.begin());
    return hash_points(held[0], held[1], held[2], held[3], size);
}

}  // namespace

std::span<const std::uint64_t> CharacterGrams::of(const TextView& text, std::size_t line) {
    normal_.normalize(text, line);
    const std::span<const std::uint8_t> bytes = compared_text(normal_, text, line);
    if (points_.size() < bytes.size()) points_.resize(bytes.size());
    const std::uint8_t* at = bytes.data();
    const std::uint8_t* const end = at + bytes.size();
    char32_t* last = points_.data();
    char32_t all = 0;  // bits that are set in any character
    while (at < end) all |= * last++ = next_utf8(at);
    const std::span<const char32_t> points(points_.data(), last);
    grams_.clear();
    if (points.size() >= kSize && all < kFirstDense)
        add_equal(points);
    else
        add_mixed(points);
    if (grams_.empty()) grams_.push_back(hash_gram(points.data(), points.size()));  // fewer than four characters
    return grams_;
}

// Adds the n-grams of a text without characters of dense scripts.
void CharacterGrams::add_equal(std::span<const char32_t> points) {
    grams_.resize(points.size() - kSize + 1);
    for (std::size_t i = 0; i < grams_.size(); ++i)
        grams_[i] = hash_points(points[i], points[i + 1], points[i + 2], points[i + 3], kSize);
}

void CharacterGrams::add_mixed(std::span<const char32_t> points) {
    std::uint8_t size = kSize;
    for (std::size_t i = 0; i < points.size(); ++i) {
        size = size_at(points[i], size);
        if (i + size <= points.size()) grams_.push_back(hash_gram(&points[i], size));
    }
}

void GramSet::assign(std::span<const std::uint64_t> grams) {
    seen_.clear(grams.size());
    calls_ = 1;
    for (const std::uint64_t gram : grams) seen_.add(gram) = calls_;
}

std::size_t GramSet::common(std::span<const std::uint64_t> grams) {
    if (++calls_ == 0) {  // all numbers were used
        for (auto& slot : seen_.slots()) slot.value = std::min<std::uint32_t>(slot.value, 1);
        calls_ = 2;
    }
    std::size_t met = 0;
    for (const std::uint64_t gram : grams) {
        std::uint32_t* const seen = seen_.find(gram);
        if (seen == nullptr || *seen == calls_) continue;
        *seen = calls_;
        ++met;
    }
    return met;
}

std::size_t count_different(std::span<const std::uint64_t> grams) {
    GramSet set;
    set.assign(grams);
    return set.size();
}

}  // namespace nmt_prep::clean
