#include "text/graphemes.h"

#include "text/utf8.h"

namespace nmt_prep {
namespace {

using Class = GraphemeClass;

Class class_of(std::uint8_t properties) { return static_cast<Class>(properties & 15); }

bool is_control(Class kind) { return kind == Class::kControl || kind == Class::kCr || kind == Class::kLf; }

// The grapheme so far.
class Cluster {
   public:
    explicit Cluster(char32_t point) { add(grapheme_properties(point)); }

    // True if the code point continues the grapheme; rules GB3 to GB13.
    bool takes(std::uint8_t properties) const {
        const Class next = class_of(properties);
        if (last_ == Class::kCr) return next == Class::kLf;
        if (is_control(last_) || is_control(next)) return false;
        switch (next) {
            case Class::kExtend:
            case Class::kZwj:
            case Class::kSpacingMark: return true;
            case Class::kL:
            case Class::kLv:
            case Class::kLvt: return last_ == Class::kL || last_ == Class::kPrepend;
            case Class::kV:
                return last_ == Class::kL || last_ == Class::kLv || last_ == Class::kV || last_ == Class::kPrepend;
            case Class::kT:
                return last_ == Class::kLv || last_ == Class::kV || last_ == Class::kLvt || last_ == Class::kT ||
                       last_ == Class::kPrepend;
            case Class::kRegional: return last_ == Class::kPrepend || (last_ == Class::kRegional && odd_regionals_);
            case Class::kPictograph: return last_ == Class::kPrepend || joins_pictograph_;
            case Class::kConsonant: return last_ == Class::kPrepend || linked_;
            default: return last_ == Class::kPrepend;
        }
    }

    void add(std::uint8_t properties) {
        const Class next = class_of(properties);
        odd_regionals_ = next == Class::kRegional && !(last_ == Class::kRegional && odd_regionals_);
        joins_pictograph_ = next == Class::kZwj && after_pictograph_;
        after_pictograph_ = next == Class::kPictograph || (next == Class::kExtend && after_pictograph_);
        if (next == Class::kConsonant) {
            consonant_ = true;
            linked_ = false;
        } else if (properties & kGraphemeConjoining) {
            linked_ = consonant_ && (linked_ || properties & kGraphemeLinker);
        } else {
            consonant_ = linked_ = false;
        }
        last_ = next;
    }

   private:
    Class last_ = Class::kOther;
    bool odd_regionals_ = false;
    bool after_pictograph_ = false;  // followed by Extend only
    bool joins_pictograph_ = false;  // such a sequence, then ZWJ
    bool consonant_ = false;         // followed by conjoining code points only
    bool linked_ = false;            // a linker among the conjoining code points
};

}  // namespace

std::size_t grapheme_size(const std::uint8_t* text, const std::uint8_t* end) {
    const std::uint8_t* at = text;
    Cluster cluster(next_utf8(at));
    while (at != end) {
        const std::uint8_t* next = at;
        const std::uint8_t properties = grapheme_properties(next_utf8(next));
        if (!cluster.takes(properties)) break;
        cluster.add(properties);
        at = next;
    }
    return static_cast<std::size_t>(at - text);
}

}  // namespace nmt_prep
