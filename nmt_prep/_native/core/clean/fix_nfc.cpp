// Brings text into Unicode's normal form C.
#include "clean/fixes.h"
#include "text/nfc.h"

namespace nmt_prep::clean {
namespace {

class Nfc final : public Fix {
   public:
    ByteSet triggers() const override {
        static const ByteSet kLeadBytes = [] {
            ByteSet set;
            std::string bytes;
            for (char32_t point = 0x80; point <= 0x10FFFF; ++point) {
                const NormalizationKind kind = normalization_kind(point);
                if (kind.combining_class == 0 && kind.composition == 0) continue;
                bytes.clear();
                append_utf8(bytes, point);
                set.set(static_cast<unsigned char>(bytes[0]));
            }
            return set;
        }();
        return kLeadBytes;
    }
    bool suspects(const Place& place) const override { return may_change_in_nfc(place.at, place.end); }
    void apply(std::string_view line, std::string& fixed) const override { append_nfc(line, fixed); }
};

}  // namespace

std::unique_ptr<Fix> nfc_fix() { return std::make_unique<Nfc>(); }

}  // namespace nmt_prep::clean
