#include "sentencepiece/piece_rules.h"

#include <algorithm>

#include "sentencepiece/training_script_tables.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::uint8_t kAnyScript = 255;  // goes with every script
constexpr std::uint8_t kNoScript = 254;   // a space, or an inherited script: that of the character before
constexpr char32_t kProlongedSoundMark = 0x30FC;

bool is_digit(char32_t point) { return (point >= '0' && point <= '9') || (point >= 0xFF10 && point <= 0xFF19); }

// Returns the script for comparison, which is the same for Chinese and Japanese characters.
std::uint8_t compared_script(char32_t point) {
    const TrainingScript script = training_script(point);
    if (script == TrainingScript::kInherited) return kNoScript;
    if (script == TrainingScript::kHiragana || script == TrainingScript::kKatakana || point == kProlongedSoundMark)
        return static_cast<std::uint8_t>(TrainingScript::kHan);
    return static_cast<std::uint8_t>(script);
}

}  // namespace

TrainingScript training_script(char32_t point) {
    const std::uint32_t* const after =
        std::upper_bound(kScriptRunStarts, kScriptRunStarts + kScriptRuns, point << 8 | 0xFF);
    return static_cast<TrainingScript>(after[-1] & 0xFF);
}

PieceShape PieceRules::shape(char32_t point) const {
    const bool space = point == kSpacePoint;
    PieceShape shape;
    shape.length = 1;
    shape.begins_space = shape.ends_space = shape.all_spaces = space;
    shape.has_digit = is_digit(point);
    shape.excluded = point == kUncoveredPoint || point == kBoundaryPoint || point == 0 || point == ' ';
    shape.first_script = space                                          ? kNoScript
                         : shape.has_digit && !options_.split_by_number ? kAnyScript
                                                                        : compared_script(point);
    shape.last_script = shape.first_script;
    return shape;
}

PieceShape PieceRules::joined(const PieceShape& left, const PieceShape& right) const {
    PieceShape both;
    both.length = left.length + right.length;
    both.first_script = left.first_script == kNoScript ? right.first_script : left.first_script;
    both.last_script = right.last_script == kNoScript ? left.last_script : right.last_script;
    both.begins_space = left.begins_space;
    both.ends_space = right.ends_space;
    both.later_space = left.later_space || right.begins_space || right.later_space;
    both.earlier_space = left.ends_space || left.earlier_space || right.earlier_space;
    both.all_spaces = left.all_spaces && right.all_spaces;
    both.has_digit = left.has_digit || right.has_digit;
    const auto distinct = [](std::uint8_t script) { return script < kNoScript; };
    both.excluded = left.excluded || right.excluded ||
                    (options_.split_by_script && distinct(left.last_script) && distinct(right.first_script) &&
                     left.last_script != right.first_script);
    return both;
}

bool PieceRules::accepts(const PieceShape& shape) const {
    if (shape.excluded || shape.length > options_.longest) return false;
    if (options_.split_digits && shape.has_digit && shape.length > 1) return false;
    if (options_.whitespace_only_pieces && shape.all_spaces) return true;
    if (options_.whitespace_is_suffix)
        return options_.split_by_whitespace ? !shape.earlier_space : !shape.begins_space || shape.length == 1;
    return options_.split_by_whitespace ? !shape.later_space : !shape.ends_space || shape.length == 1;
}

}  // namespace nmt_prep::sentencepiece
