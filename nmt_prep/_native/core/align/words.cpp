#include "align/words.h"

#include <array>
#include <cstring>
#include <string_view>

#include "clean/keys.h"
#include "clean/scripts.h"
#include "text/casefold.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::align {
namespace {

// The effect of a character on the current word.
enum class Kind : std::uint8_t {
    kSpace,     // ends the word, and is not a word
    kLetter,    // continues a word of letters, marks and numbers
    kDigit,     // also continues a word
    kKatakana,  // continues a run of Katakana
    kSingle,    // is a word, with the marks that follow
    kLeading,   // is a vowel before its consonant (Thai, Lao): the next character belongs to its word
    kTrailing,  // continues any word: marks, joiners, vowels after their consonant
    kJoining,   // continues any word, and so does the next character (virama, Khmer coeng)
    kSymbol,    // is a word together with the same characters that follow
};

std::array<Kind, 256> kinds_of_scripts() {
    std::array<Kind, 256> kinds{};
    kinds.fill(Kind::kLetter);
    for (const char* const script : {"HAN", "HIRAGANA", "THAI", "LAO", "KHMER", "MYANMAR"})
        kinds[static_cast<std::size_t>(clean::script_of_name(script))] = Kind::kSingle;
    kinds[static_cast<std::size_t>(clean::script_of_name("KATAKANA"))] = Kind::kKatakana;
    return kinds;
}

// The Arabic article, which does not belong to a stem if enough characters follow it.
constexpr std::string_view kArabicArticle = "\u0627\u0644";
constexpr std::size_t kLeastAfterArticle = 2;

bool is_between(char32_t point, char32_t first, char32_t last) { return point >= first && point <= last; }

Kind kind_of(char32_t point) {
    static const std::array<Kind, 256> kKinds = kinds_of_scripts();
    constexpr char32_t kTibetanTsheg = 0x0F0B;
    constexpr char32_t kZeroWidthSpace = 0x200B;
    const Properties properties = Properties::of(point);
    if (properties.space() || point == kTibetanTsheg || point == kZeroWidthSpace) return Kind::kSpace;
    if (is_between(point, 0x0E40, 0x0E44) || is_between(point, 0x0EC0, 0x0EC4)) return Kind::kLeading;
    if (point == 0x0E30 || point == 0x0E32 || point == 0x0E33 || point == 0x0E45 || point == 0x0EB0 ||
        point == 0x0EB2 || point == 0x0EB3)
        return Kind::kTrailing;
    if (point == 0x17D2 || point == 0x1039) return Kind::kJoining;
    if (properties.mark() || properties.category() == Category::kCf) return Kind::kTrailing;
    if (properties.decimal()) return Kind::kDigit;
    if (properties.letter() || properties.number() || properties.category() == Category::kPc)
        return kKinds[clean::word_script(point)];
    return Kind::kSymbol;
}

struct AsciiKinds {
    AsciiKinds() {
        for (char32_t point = 0; point < 0x80; ++point) of[point] = kind_of(point);
    }
    std::array<Kind, 0x80> of{};
};

// True if a character belongs to the same word as the character before it.
bool continues(Kind before, char32_t last, Kind kind, char32_t point) {
    if (kind == Kind::kTrailing || kind == Kind::kJoining || before == Kind::kJoining) return true;
    switch (before) {
        case Kind::kLetter:
        case Kind::kDigit: return kind == Kind::kLetter || kind == Kind::kDigit;
        case Kind::kKatakana: return kind == Kind::kKatakana;
        case Kind::kLeading: return kind == Kind::kSingle;
        case Kind::kSymbol: return kind == Kind::kSymbol && point == last;
        default: return false;
    }
}

void add_place(const std::uint8_t* line, const std::uint8_t* begin, const std::uint8_t* end,
               std::vector<Place>& places) {
    places.push_back({static_cast<std::uint32_t>(begin - line), static_cast<std::uint32_t>(end - line)});
}

void split_at_spaces(const std::uint8_t* begin, const std::uint8_t* end, std::vector<Place>& places) {
    const auto space = [](std::uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); };
    for (const std::uint8_t* at = begin; at < end;) {
        while (at < end && space(*at)) ++at;
        const std::uint8_t* const start = at;
        while (at < end && !space(*at)) ++at;
        if (at > start) add_place(begin, start, at, places);
    }
}

void split_by_characters(const std::uint8_t* begin, const std::uint8_t* end, std::vector<Place>& places) {
    static const AsciiKinds kAscii;
    const auto kind_at = [&](const std::uint8_t*& at, char32_t& point) {
        point = next_utf8(at);
        return point < 0x80 ? kAscii.of[point] : kind_of(point);
    };
    const std::uint8_t* start = nullptr;  // start of the current word
    Kind before = Kind::kSpace;
    char32_t last = 0;
    for (const std::uint8_t* at = begin; at < end;) {
        const std::uint8_t* const here = at;
        char32_t point;
        Kind kind = kind_at(at, point);
        if (before == Kind::kDigit && (point == '.' || point == ',') && at < end && *at - unsigned{'0'} < 10u) {
            last = point;  // the mark is within a number
            continue;
        }
        if (start != nullptr && kind != Kind::kSpace && continues(before, last, kind, point)) {
            if (kind != Kind::kTrailing) before = kind;
            last = point;
            continue;
        }
        if (start != nullptr) add_place(begin, start, here, places);
        start = kind == Kind::kSpace ? nullptr : here;
        before = kind;
        last = point;
    }
    if (start != nullptr) add_place(begin, start, end, places);
}

}  // namespace

void find_words(const std::uint8_t* begin, const std::uint8_t* end, bool spaces, std::vector<Place>& places) {
    places.clear();
    if (spaces)
        split_at_spaces(begin, end, places);
    else
        split_by_characters(begin, end, places);
}

const std::vector<Word>& WordSplitter::split(const std::uint8_t* begin, const std::uint8_t* end) {
    find_words(begin, end, rule_.spaces, places_);
    words_.clear();
    for (const Place& place : places_) {
        const Hashes found = hashes(begin + place.begin, begin + place.end, end);
        words_.push_back({place.begin, place.end, found.whole, found.stem});
    }
    return words_;
}

WordSplitter::Hashes WordSplitter::hashes(const std::uint8_t* begin, const std::uint8_t* end,
                                          const std::uint8_t* line_end) {
    constexpr std::size_t kIds = sizeof(Hashes) / sizeof(std::int32_t);
    const auto size = static_cast<std::size_t>(end - begin);
    if (size > IdCache::kMaxBytes) return computed(begin, end);
    const IdCache::Key key = IdCache::key(begin, size, static_cast<std::size_t>(line_end - begin));
    std::int32_t ids[IdCache::kMaxIds];
    Hashes found{};
    if (known_.find(key, ids) > 0) {
        std::memcpy(&found, ids, sizeof found);
    } else {
        found = computed(begin, end);
        std::memcpy(ids, &found, sizeof found);
        known_.put(key, ids, kIds);
    }
    return found;
}

WordSplitter::Hashes WordSplitter::computed(const std::uint8_t* begin, const std::uint8_t* end) {
    folded_.clear();
    std::size_t size = 0;  // size of the folded word, in characters of stems
    std::size_t first = 0;
    std::size_t cut = 0;  // bytes of the stem, where the word is longer
    bool digits = false;
    const auto count = [&](char32_t point) {
        if (size >= rule_.stem && cut == 0) cut = folded_.size();
        size += is_between(point, 0xAC00, 0xD7A3) ? 2 : 1;  // a Hangul syllable has two letters or three
        digits |= point >= '0' && point <= '9';
        if (point < 0x80)
            folded_ += static_cast<char>(point);
        else
            append_utf8(folded_, point);
        if (size == 2 && folded_ == kArabicArticle) {
            first = folded_.size();
            size = cut = 0;
        }
    };
    for (const std::uint8_t* at = begin; at < end;) casefold(next_utf8(at), count);
    if (first > 0 && size < kLeastAfterArticle) first = 0;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(folded_.data());
    const std::uint64_t whole = clean::hash_key(bytes, folded_.size()).high;
    std::uint64_t stem = whole;
    if (rule_.stem > 0 && !digits && (cut > 0 || first > 0))
        stem = clean::hash_key(bytes + first, (cut > 0 ? cut : folded_.size()) - first).high;
    return {whole, ~stem};
}

}  // namespace nmt_prep::align
