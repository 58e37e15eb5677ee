#include "modify/typos.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "text/casefold.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::modify {
namespace {

// For each character, its possible replacements.
class KeyTable {
   public:
    // Entries such as "a:qwsz", separated by spaces.
    explicit constexpr KeyTable(std::string_view entries) {
        while (!entries.empty()) {
            const std::string_view entry = entries.substr(0, entries.find(' '));
            of_[static_cast<unsigned char>(entry[0])] = entry.substr(2);
            entries.remove_prefix(std::min(entry.size() + 1, entries.size()));
        }
    }
    // Empty if there is no such character in the table.
    std::string_view operator[](char32_t point) const { return point < of_.size() ? of_[point] : std::string_view(); }

   private:
    std::array<std::string_view, 128> of_{};
};

constexpr KeyTable kNear(
    "a:qwsz b:vghn c:xdfv d:serfcx e:rdsw f:drtgvc g:ftyhbv h:nbgyuj i:okju j:huikmn k:jiolm l:kop m:njk n:bhjm o:iklp "
    "p:ol q:aw r:edft s:azxdew t:rfgy u:yhji v:cfgb w:qasde x:zsdc y:tghu z:asx");
constexpr KeyTable kNumpad("0:12 1:4520 2:014563 3:256 4:78521 5:78946123 6:98523 7:854 8:74569 9:856");
constexpr KeyTable kSimilar(
    "0:689oDOU 1:7I 2:7QZ 3:589 4:9U 5:38S 6:08bG 7:12TZ 8:0356BS 9:034gq b:6 c:e e:c g:9q i:I m:n n:mp o:0 p:n q:9g "
    "u:v v:u y:z z:y B:8P C:G D:0O E:F F:7ER G:6C I:1iLT L:I M:N N:M O:0DU P:B Q:2 S:58 T:I7 U:04OV V:UW W:U X:Y Y:5X "
    "Z:27");

// True for text without spaces between words.
bool is_unspaced(char32_t point) {
    constexpr std::array<std::pair<char32_t, char32_t>, 9> kRanges{{{0xE00, 0xEFF},
                                                                    {0x1000, 0x109F},
                                                                    {0x1780, 0x17FF},
                                                                    {0x3005, 0x3005},
                                                                    {0x3040, 0x30FF},
                                                                    {0x3400, 0x4DBF},
                                                                    {0x4E00, 0x9FFF},
                                                                    {0xF900, 0xFAFF},
                                                                    {0x20000, 0x3FFFF}}};
    return std::ranges::any_of(kRanges, [point](auto range) { return point >= range.first && point <= range.second; });
}

struct Character {
    char32_t point;
    std::size_t begin;  // bytes of the line
    std::size_t end;

    bool is_space() const { return Properties::of(point).space(); }
    bool is_letter() const {  // as \w of Python
        const Properties properties = Properties::of(point);
        return properties.letter() || properties.number() || point == '_';
    }
};

void append_cased(std::string& text, char32_t point, bool to_upper) {
    const auto add = [&text](char32_t each) { append_utf8(text, each); };
    if (to_upper)
        upper(point, add);
    else
        lower(point, add);
}

char32_t drawn(std::string_view choices, Draws& draws) {
    return static_cast<unsigned char>(choices[draws.below(choices.size())]);
}

// The character of a key beside the key of the given character, or the same character if it has no key; "10" beside 9.
std::u32string neighbour(char32_t point, Draws& draws) {
    if (point >= '0' && point <= '9') {
        if (draws.below(2) == 0) return {drawn(kNumpad[point], draws)};
        if (point == '0') return U"9";
        if (point == '1') return U"2";
        if (draws.below(2) == 1) return {point - 1};
        return point == '9' ? U"10" : std::u32string{point + 1};
    }
    std::u32string lowered;
    lower(point, [&lowered](char32_t each) { lowered += each; });
    const std::string_view near = lowered.size() == 1 ? kNear[lowered[0]] : std::string_view();
    if (near.empty()) return {point};
    const char32_t found = drawn(near, draws);
    return {is_upper(point) ? found - 32 : found};
}

// A change of a line: bytes to replace, and their replacement.
struct Change {
    std::size_t begin, end;
    std::string text;
};

class Typist {
   public:
    Typist(std::span<const TypoChance> chances, bool spaces) : chances_(chances), spaces_(spaces), assembler_(spaces) {}

    // Makes typos in `line`, and changes `links` accordingly, which may be null.
    void type(std::string& line, std::string* links, Draws draws);

   private:
    bool read(const std::string& line);
    void find_places(Typo kind, bool linked);
    Change change(Typo kind, std::size_t at, Draws& draws) const;
    bool moves_words(Typo kind, std::size_t at) const;
    void relink(const std::string& line, const Change& change, std::string& links, Draws& draws);

    std::span<const TypoChance> chances_;
    bool spaces_;
    Assembler assembler_;
    std::vector<Character> characters_;
    std::vector<std::size_t> places_;  // numbers of characters
    std::vector<align::Place> words_;
    std::vector<LabelledWord> labelled_, targets_;
    std::vector<std::int32_t> links_, followed_;
};

// Reads the characters of a line; returns false if the line has a script without spaces.
bool Typist::read(const std::string& line) {
    characters_.clear();
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(line.data());
    for (const std::uint8_t* at = begin; at < begin + line.size();) {
        const auto first = static_cast<std::size_t>(at - begin);
        const char32_t point = next_utf8(at);
        if (point >= 0xE00 && is_unspaced(point)) return false;
        characters_.push_back({point, first, static_cast<std::size_t>(at - begin)});
    }
    return true;
}

// Finds the characters at which a kind of typo is possible. In pairs with links, some of them differ, as in
// OpusTrainer.
void Typist::find_places(Typo kind, bool linked) {
    places_.clear();
    const std::size_t size = characters_.size();
    for (std::size_t i = 0; i < size; ++i) {
        const Character& here = characters_[i];
        bool good = false;
        switch (kind) {
            case Typo::kCharSwap: good = i + 1 < size && here.is_letter() && characters_[i + 1].is_letter(); break;
            case Typo::kMissingChar: good = linked ? !here.is_space() : here.is_letter(); break;
            case Typo::kSkippedSpace:
                good = linked ? i > 0 && i + 1 < size && here.is_space() : here.point == ' ';
                break;
            case Typo::kRandomSpace: good = !here.is_space(); break;
            case Typo::kUnichar: good = i + 1 < size && here.point == characters_[i + 1].point; break;
            default: good = here.is_letter(); break;
        }
        if (!good) continue;
        places_.push_back(i);
        if (kind == Typo::kUnichar) ++i;  // pairs of equal characters do not overlap
    }
    if (kind == Typo::kRandomSpace && linked && !places_.empty())
        places_.erase(places_.begin());  // no space before the text
}

Change Typist::change(Typo kind, std::size_t at, Draws& draws) const {
    const Character& here = characters_[at];
    Change made{here.begin, here.end, {}};
    switch (kind) {
        case Typo::kCharSwap: {
            const Character& next = characters_[at + 1];
            made.end = next.end;
            append_cased(made.text, next.point, is_upper(here.point));
            append_cased(made.text, here.point, is_upper(next.point));
            break;
        }
        case Typo::kNearbyChar:
            for (const char32_t each : neighbour(here.point, draws))
                append_cased(made.text, each, is_upper(here.point));
            break;
        case Typo::kSimilarChar: {
            const std::string_view similar = kSimilar[here.point];
            append_utf8(made.text, similar.empty() ? here.point : drawn(similar, draws));
            break;
        }
        case Typo::kExtraChar:
            made.end = made.begin;
            for (const char32_t each : neighbour(here.point, draws)) append_utf8(made.text, each);
            break;
        case Typo::kRepeatedChar:
            made.end = made.begin;
            append_utf8(made.text, here.point);
            break;
        case Typo::kRandomSpace:
            made.end = made.begin;
            made.text = " ";
            break;
        default: break;
    }
    return made;
}

// True if a change may change the numbers of words between spaces.
bool Typist::moves_words(Typo kind, std::size_t at) const {
    const bool space_before = at == 0 || characters_[at - 1].is_space();
    const bool space_after = at + 1 == characters_.size() || characters_[at + 1].is_space();
    if (kind == Typo::kRandomSpace) return !space_before;
    return kind == Typo::kSkippedSpace || (kind == Typo::kMissingChar && space_before && space_after);
}

// Changes a line's links; the links of a removed word go to a word beside it.
void Typist::relink(const std::string& line, const Change& change, std::string& links, Draws& draws) {
    constexpr std::int64_t kAny = std::numeric_limits<std::int32_t>::max();
    links_.clear();
    if (!align::parse_links(links, kAny, kAny, links_)) return;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(line.data());
    align::find_words(bytes, bytes + line.size(), spaces_, words_);
    std::int32_t label = kNoLabel;
    const auto word = std::ranges::upper_bound(words_, change.begin, {}, &align::Place::end);
    if (change.end > change.begin && word != words_.end() && word->begin <= change.begin)
        label = static_cast<std::int32_t>(word - words_.begin());
    const std::string_view whole(line);
    const std::array<Part, 3> parts{
        {{whole.substr(0, change.begin), kOwnWords}, {change.text, label}, {whole.substr(change.end), kOwnWords}}};
    assembler_.assemble(whole, parts);
    labelled_ = assembler_.words();
    const auto found = [this](std::int32_t wanted) {
        return std::ranges::lower_bound(assembler_.words(), wanted, {}, &LabelledWord::label);
    };
    const auto has = [&](std::int32_t wanted) {
        const auto at = found(wanted);
        return at != assembler_.words().end() && at->label == wanted;
    };
    for (std::int32_t gone = 0; std::cmp_less(gone, words_.size()); ++gone) {
        if (has(gone)) continue;
        std::array<std::int32_t, 2> beside{};
        std::size_t count = 0;
        for (const std::int32_t other : {gone - 1, gone + 1})
            if (has(other)) beside[count++] = other;
        if (count > 0) labelled_.push_back({gone, found(beside[draws.below(count)])->word});
    }
    std::ranges::sort(labelled_);
    targets_.clear();
    for (std::size_t link = 1; link < links_.size(); link += 2) targets_.push_back({links_[link], links_[link]});
    std::ranges::sort(targets_);
    const auto repeated = std::ranges::unique(targets_);
    targets_.erase(repeated.begin(), repeated.end());
    followed_.clear();
    follow_links(links_, labelled_, targets_, followed_);
    const std::array<std::int64_t, 2> offsets{0, static_cast<std::int64_t>(followed_.size() / 2)};
    const align::OwnedText text = align::link_lines({followed_.data(), offsets.data(), 1}, "", 1);
    links.assign(text.data.begin(), text.data.end());
}

void Typist::type(std::string& line, std::string* links, Draws draws) {
    if (!read(line)) return;
    for (const auto& [kind, probability] : chances_) {
        if (draws.random() >= probability) continue;
        find_places(kind, links != nullptr);
        if (places_.size() <= (kind == Typo::kMissingChar ? 1u : 0u)) continue;
        const std::size_t at = places_[draws.below(places_.size())];
        const Change made = change(kind, at, draws);
        if (links != nullptr && !links->empty() && (!spaces_ || moves_words(kind, at)))
            relink(line, made, *links, draws);
        line.replace(made.begin, made.end - made.begin, made.text);
        read(line);
    }
}

}  // namespace

TypedLines type_lines(const TextView& lines, const std::optional<TextView>& links, std::span<const std::uint64_t> keys,
                      std::span<const TypoChance> chances, bool spaces) {
    if (keys.size() != lines.lines || (links && links->lines != lines.lines))
        throw std::invalid_argument("there must be a key, and links if any, for each line");
    TypedLines made;
    Typist typist(chances, spaces);
    std::string line, linked;
    for (std::size_t i = 0; i < lines.lines; ++i) {
        line = checked_line(lines, i);
        if (links) linked = checked_line(*links, i);
        typist.type(line, links ? &linked : nullptr, Draws(keys[i], 1));
        made.text.append(line);
        if (links) made.links.append(linked);
    }
    return made;
}

}  // namespace nmt_prep::modify
