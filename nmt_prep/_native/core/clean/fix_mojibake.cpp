// Restores text whose UTF-8 was read as Windows-1252 or Latin-1, once or several times.
//
// A sequence is two to four characters whose bytes in one of these encodings are the UTF-8 of one character. It is
// replaced by this character, so the bytes stay the same. Correct text can contain sequences: the last two characters
// of "„Spaß“" are one, and so are the last three of "été »" with a no-break space. So a sequence is replaced only
// - if correct text does not have it in this place: it contains a control character or a sign that does not follow
//   letters (as in "Ã¼"), it has a capital between small letters (as in "fÃ©e"), or several sequences are in a row; see
//   Judge;
// - or if the line has such a sequence elsewhere, and either this sequence is within a word, or all characters of the
//   line outside ASCII are in sequences.
// This is repeated until nothing changes. If parts of mojibake with lost bytes are left then, the line stays as it was.
// Finally, control characters from U+0080 become the characters of Windows-1252, as in browsers.
#include <algorithm>
#include <string>
#include <vector>

#include "clean/fixes.h"
#include "clean/windows_1252.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace nmt_prep::clean {
namespace {

using Points = std::u32string;
using PointsView = std::u32string_view;

// Where the character of a byte from 80 to BF may occur in correct text, relative to letters.
struct Follower {
    bool odd;             // never follows a letter: signs such as ¼, and bytes that are not characters
    bool closing;         // often follows a word: quotes, dashes, ellipses, no-break spaces
    bool common;          // closing, or a letter
    bool before_letters;  // may stand between two words
    bool spaced;          // may stand between a word and a sign
    bool after_signs;     // often follows » or a superscript digit
};

constexpr bool is_one_of(std::uint8_t byte, std::string_view bytes) {
    return bytes.find(static_cast<char>(byte)) != std::string_view::npos;
}

constexpr Follower follower(std::uint8_t byte) {
    const bool closing = is_one_of(byte, "\x85\x8B\x91\x92\x93\x94\x96\x97\x99\x9B\xA0\xAD\xBB");
    return {is_one_of(byte,
                      "\x80\x81\x83\x88\x89\x8D\x8F\x90\x98\x9D\x9F\xA2\xA3\xA4\xA5\xA6\xA8\xAC\xAF\xB1\xB5\xB6\xB8\xBC"
                      "\xBD\xBE"),
            closing,
            closing || is_one_of(byte, "\x8A\x8C\x8E\x9A\x9C\x9E"),
            is_one_of(byte, "\x85\x92\x96\x97\xA0\xAD"),
            is_one_of(byte, "\x85\x96\x97\xA0\xAD"),
            is_one_of(byte, "\x85\x8B\x91\x92\x93\x94\x95\x96\x97\x99\x9B\xA0\xAA\xB0\xB2\xB3\xB9\xBA\xBB")};
}

bool is_small(char32_t c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char32_t c) { return is_small(c | 0x20) && c < 0x80; }
bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_control(char32_t c) { return c >= 0x80 && c <= 0x9F; }

// True for small letters of the blocks Latin-1 Supplement and Latin Extended-A.
bool is_small_latin(char32_t c) {
    if (c < 0x100) return c >= 0xDF && c != 0xF7;
    if (c == 0x138 || c == 0x149 || c == 0x17F) return true;
    if (c >= 0x180 || c == 0x178) return false;
    const bool even = (c >= 0x139 && c <= 0x148) || c >= 0x179;
    return (c % 2 == 0) == even;
}

enum class Evidence : std::uint8_t { kPossible, kSureBesideSuch, kSure };

Evidence sure_if(bool condition) { return condition ? Evidence::kSure : Evidence::kPossible; }

// A sequence: adjacent characters of a line that stand for one character.
struct Sequence {
    std::size_t start;
    std::size_t end;
    char32_t meant;
    Evidence evidence;
};

bool may_be_meant(char32_t c) {
    const bool private_use = c >= 0xE000 && c < 0xF900;
    const bool unassigned = (c >= 0x40000 && c < 0xE0000) || c >= 0xE0200;
    return !private_use && !unassigned && (c & 0xFFFE) != 0xFFFE;
}

// Judges whether a sequence is mojibake, and how certain that is.
class Judge {
   public:
    Judge(PointsView line, const Sequence& sequence)
        : lead_(windows_1252_byte(line[sequence.start])),
          byte_(windows_1252_byte(line[sequence.start + 1])),
          control_(is_control(line[sequence.start + 1])),
          odd_(is_odd(line[sequence.start + 1])),
          meant_(sequence.meant),
          previous_(sequence.start == 0 ? U' ' : line[sequence.start - 1]),
          following_(sequence.end == line.size() ? U' ' : line[sequence.end]),
          rest_(line.substr(sequence.start + 2, sequence.end - sequence.start - 2)) {}

    Evidence evidence() const {
        if (!rest_.empty()) return of_long();
        if (lead_ == 0xC2) return of_latin_1_sign();
        const Follower kind = follower(byte_);
        const Evidence weak = kind.common ? Evidence::kPossible : Evidence::kSureBesideSuch;
        // × Ø ß may stand before signs: × and Ø also mean times and diameter, and ß can end a word.
        if (lead_ == 0xD7 || lead_ == 0xD8 || lead_ == 0xDF) return odd_ ? Evidence::kSureBesideSuch : weak;
        if (odd_) return sure_if(control_ || !is_digit(following_));
        const bool within_word =
            (control_ && is_letter(following_)) || (is_small(previous_) && is_small(following_) && byte_ != 0xA0);
        return within_word || is_latin(kind) ? Evidence::kSure : weak;
    }

   private:
    static bool is_odd(char32_t c) {
        const std::uint8_t byte = windows_1252_byte(c);
        // Quotes, dashes and ellipses also occur as control characters outside of sequences.
        return follower(byte).odd || (is_control(c) && !is_one_of(byte, "\x85\x92\x93\x94\x96\x97"));
    }
    bool after_sentence() const {
        return previous_ < 0x80 && is_one_of(static_cast<std::uint8_t>(previous_), ".,;:!?)\"'");
    }

    // Evidence for a sequence of three or four characters.
    Evidence of_long() const {
        if (odd_ || (std::ranges::any_of(rest_, is_odd) && !follower(byte_).spaced)) return Evidence::kSure;
        // Vietnamese and other letters with dots: º never follows á, and » and ¹ are never followed by a quote or dash
        // there.
        if (lead_ != 0xE1) return Evidence::kPossible;
        if (byte_ == 0xBA) return Evidence::kSure;
        const Follower last = follower(windows_1252_byte(rest_[0]));
        return sure_if((byte_ == 0xB9 || byte_ == 0xBB) &&
                       (!last.after_signs || (is_letter(following_) && !last.before_letters)));
    }

    // Evidence for Â and a sign, which are the misread sign.
    Evidence of_latin_1_sign() const {
        if (byte_ < 0xA0) return sure_if(control_ || (is_small(previous_) && follower(byte_).closing));
        if (odd_ || is_small(previous_)) return Evidence::kSure;
        if (byte_ == 0xA0)
            return sure_if(is_digit(previous_) || after_sentence() ||
                           PointsView(U":;!?»%").find(following_) != PointsView::npos);
        if (byte_ == 0xAD || byte_ == 0xBB) return sure_if(after_sentence());
        return sure_if(is_digit(previous_) || !is_alphanumeric(previous_));
    }

    // True if Ã, Ä or Å certainly begins a misread Latin letter or ×.
    bool is_latin(Follower kind) const {
        if (lead_ > 0xC5) return false;
        const bool small = is_small_latin(meant_) || meant_ == U'×' || meant_ == U'÷';
        if (small && is_small(previous_)) return true;
        if (is_letter(following_) && !kind.before_letters) return true;
        // Text that was misread twice: "ă" was misread as "Äƒ", and this as "Ã„Æ’".
        const std::uint8_t next = windows_1252_byte(following_);
        if (lead_ == 0xC3 && is_small(previous_) && next >= 0xC2 && next < 0xE0) return true;
        if (lead_ != 0xC3 || (is_alphanumeric(previous_) && !is_digit(previous_))) return false;
        return !kind.closing || byte_ == 0x97 || (is_small(following_) && byte_ != 0x92) ||
               (byte_ == 0xA0 && following_ == ' ');
    }

    std::uint8_t lead_;
    std::uint8_t byte_;  // byte of the second character
    bool control_;
    bool odd_;
    char32_t meant_;
    char32_t previous_;
    char32_t following_;
    PointsView rest_;
};

// Returns the sequence that begins at a position. If there is none, its `end` is `at`.
Sequence sequence_at(PointsView line, std::size_t at) {
    const Sequence none{at, at, 0, Evidence::kPossible};
    const std::uint8_t lead = windows_1252_byte(line[at]);
    if (lead < 0xC2 || lead > 0xF4) return none;
    std::uint8_t bytes[4] = {lead};
    const std::size_t size = character_size(lead);
    if (line.size() - at < size) return none;
    for (std::size_t i = 1; i < size; ++i) bytes[i] = windows_1252_byte(line[at + i]);
    if (find_invalid_utf8(bytes, size) != size) return none;
    const std::uint8_t* start = bytes;
    Sequence found{at, at + size, next_utf8(start), Evidence::kPossible};
    if (!may_be_meant(found.meant)) return none;
    found.evidence = Judge(line, found).evidence();
    return found;
}

// The sequences of a line, with a mark for sequences that are certainly mojibake.
class Sequences {
   public:
    explicit Sequences(PointsView line) {
        bool all_covered = true;
        for (std::size_t at = 0; at < line.size();) {
            const Sequence found = line[at] < 0x80 ? Sequence{at, at, 0, {}} : sequence_at(line, at);
            if (found.end != at) {
                all_.push_back(found);
                at = found.end;
            } else {
                all_covered &= line[at] < 0x80 || line[at] == U'Ã';
                ++at;
            }
        }
        spread();
        some_ = std::ranges::any_of(all_, [](const Sequence& one) { return one.evidence == Evidence::kSure; });
        pure_ = some_ && all_covered;
    }

    const std::vector<Sequence>& all() const { return all_; }
    // True if some sequences are sure.
    bool some() const { return some_; }
    // True if some sequences are sure, and the line has no characters outside ASCII except in sequences.
    bool pure() const { return pure_; }

   private:
    // Marks sequences that are adjacent to a sure one as sure, too.
    void spread() {
        const auto touch = [&](std::size_t i) { return all_[i].end == all_[i + 1].start; };
        const std::size_t pairs = all_.empty() ? 0 : all_.size() - 1;
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < pairs; ++i)
            if (touch(i) && all_[i].evidence != Evidence::kPossible && all_[i + 1].evidence != Evidence::kPossible)
                found.push_back(i);
        for (const std::size_t i : found) all_[i].evidence = Evidence::kSure;
        for (std::size_t i = 0; i < pairs; ++i)
            if (touch(i) && all_[i].evidence == Evidence::kSure) all_[i + 1].evidence = Evidence::kSure;
        for (std::size_t i = pairs; i-- > 0;)
            if (touch(i) && all_[i + 1].evidence == Evidence::kSure) all_[i].evidence = Evidence::kSure;
    }

    std::vector<Sequence> all_;
    bool some_;
    bool pure_;
};

class Mojibake final : public Fix {
   public:
    explicit Mojibake(std::string_view language)
        : portuguese_(language == "pt"), final_a_(portuguese_ || language == "fr" || language == "it") {}

    ByteSet triggers() const override { return ByteSet().set(0xC2).set(0xC3); }
    // True for a control character, and at the start of a possible sequence.
    bool suspects(const Place& place) const override {
        const std::uint8_t* at = place.at;
        const char32_t lead = next_utf8(at);
        if (lead < 0xC2) return is_control(lead);
        if (lead > 0xF4 || at == place.end) return false;
        if (final_a_ && lead == U'Ã' && *at == ' ') return true;
        for (std::size_t left = character_size(static_cast<std::uint8_t>(lead)) - 1; left > 0; --left) {
            if (at == place.end || *at < 0x80) return false;
            const std::uint8_t byte = windows_1252_byte(next_utf8(at));
            if (byte < 0x80 || byte > 0xBF) return false;
        }
        return true;
    }
    void apply(std::string_view line, std::string& fixed) const override {
        Points points;
        const auto* at = reinterpret_cast<const std::uint8_t*>(line.data());
        for (const std::uint8_t* const end = at + line.size(); at < end;) points.push_back(next_utf8(at));
        Points result = points;
        while (fix_once(result)) continue;
        if (result != points && has_residue(result)) {
            fixed = line;
            return;
        }
        for (const char32_t c : result) {
            const char32_t meant = is_control(c) ? from_windows_1252(static_cast<std::uint8_t>(c)) : 0;
            append_utf8(fixed, meant == 0 ? c : meant);
        }
    }

   private:
    // True if â€ is left, or Ã or  after a small letter.
    static bool has_residue(PointsView line) {
        for (std::size_t i = 1; i < line.size(); ++i) {
            if (line[i - 1] == U'â' && line[i] == U'€') return true;
            if (is_small(line[i - 1]) && (line[i] == U'Ã' || line[i] == U'Â')) return true;
        }
        return false;
    }

    // Undoes one misreading; returns true if the line was altered.
    bool fix_once(Points& line) const {
        const Sequences sequences(line);
        Points result;
        auto next = sequences.all().begin();
        for (std::size_t at = 0; at < line.size();) {
            const char32_t previous = at == 0 ? U' ' : line[at - 1];
            if (next != sequences.all().end() && next->start == at) {
                const char32_t following = next->end == line.size() ? U' ' : line[next->end];
                const bool inside = sequences.some() && is_letter(previous) && is_letter(following);
                if (next->evidence == Evidence::kSure || sequences.pure() || inside)
                    result += next->meant;
                else
                    result.append(line, at, next->end - at);
                at = next->end;
                ++next;
            } else if (is_final_a(line, at, previous, sequences.pure())) {
                result += U'à';
                at += 1 + skipped_spaces(PointsView(line).substr(at + 1, 3));
            } else {
                result += line[at++];
            }
        }
        if (result == line) return false;
        line = std::move(result);
        return true;
    }

    // True for Ã before a plain space if both stand for à, in languages that have à only at the end of words. (The
    // second byte of à is a no-break space, which was replaced.)
    bool is_final_a(PointsView line, std::size_t at, char32_t previous, bool pure) const {
        return final_a_ && line[at] == U'Ã' && at + 1 < line.size() && line[at + 1] == ' ' &&
               (is_small(previous) || (pure && !is_alphanumeric(previous)));
    }
    // Returns 1 if the space after Ã is only part of the letter: before another space, and in the Portuguese word às.
    std::size_t skipped_spaces(PointsView rest) const {
        const bool word = portuguese_ && (rest == U" s" || rest == U" s ");
        return rest.starts_with(U"  ") || word ? 1 : 0;
    }

    bool portuguese_;
    bool final_a_;
};

}  // namespace

std::unique_ptr<Fix> mojibake_fix(const std::string& language) { return std::make_unique<Mojibake>(language); }

}  // namespace nmt_prep::clean
