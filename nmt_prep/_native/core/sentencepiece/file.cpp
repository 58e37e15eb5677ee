#include "sentencepiece/file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "text/protobuf.h"

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::uint64_t kPiecesField = 1, kSelfTestsField = 4;
constexpr std::uint64_t kNumberingField = 200;  // the first that the format leaves to others
constexpr std::size_t kMaxPieceBytes = 8000;    // the library rejects this many and more

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

// The fields of a message of a model. Throws std::invalid_argument for anything else.
class Fields : private MessageFields {
   public:
    enum Type : std::uint8_t { kNumber = 0, kBytes = 2, kFloat = 5 };

    using MessageFields::bytes;
    using MessageFields::MessageFields;
    using MessageFields::whole;

    bool next() {
        if (MessageFields::next()) return true;
        if (error) sentencepiece::fail(std::string("is not a SentencePiece model, or is damaged: ") + error);
        return false;
    }
    std::uint64_t field() const { return tag >> 3; }
    bool is(Type type) const { return (tag & 7) == type; }
    bool is(std::uint64_t wanted, Type type) const { return field() == wanted && is(type); }

    bool flag() const { return number != 0; }
    // As protocol buffers read an enumeration: the low 32 bits.
    std::uint32_t choice() const { return static_cast<std::uint32_t>(number); }
    std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
    float real() const {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < sizeof bits; ++i) bits |= std::uint32_t{bytes[i]} << (8 * i);
        return std::bit_cast<float>(bits);
    }
};

using Message = std::span<const std::uint8_t>;

Piece read_piece(Message message, std::size_t id) {
    std::string bytes;
    float score = 0;
    auto type = PieceType::kNormal;
    for (Fields field(message); field.next();) {
        if (field.is(1, Fields::kBytes)) bytes = field.text();
        if (field.is(2, Fields::kFloat)) score = field.real();
        // An enumeration's unknown values read as its default.
        if (field.is(3, Fields::kNumber) && field.choice() >= 1 && field.choice() <= 6)
            type = static_cast<PieceType>(field.choice());
    }
    std::optional<Utf8Text> text = Utf8Text::of(std::move(bytes));
    if (!text) fail("has a piece that is not UTF-8, the one with id " + std::to_string(id));
    return {std::move(*text), score, type};
}

void read_trainer(Message message, ModelFile& file) {
    for (Fields field(message); field.next();) {
        if (field.is(Fields::kNumber)) {
            if (field.field() == 3 && field.choice() >= 1 && field.choice() <= 4)
                file.kind = static_cast<ModelKind>(field.choice());
            if (field.field() == 24) file.whitespace_is_suffix = field.flag();
            if (field.field() == 35) file.byte_fallback = field.flag();
        } else if (field.is(Fields::kBytes)) {
            // The library uses the default names if these are empty.
            if (field.field() == 45 && !field.bytes.empty()) file.unk_piece = field.text();
            if (field.field() == 46 && !field.bytes.empty()) file.bos_piece = field.text();
            if (field.field() == 47 && !field.bytes.empty()) file.eos_piece = field.text();
            if (field.field() == 48 && !field.bytes.empty()) file.pad_piece = field.text();
            if (field.field() == 44) {
                const std::optional<Utf8Text> text = Utf8Text::of(field.text());
                if (!text) fail("decodes the unknown piece to what is not UTF-8");
                file.unk_surface = *text;
            }
        }
    }
}

void read_normalizer(Message message, NormalizerSpec& spec) {
    for (Fields field(message); field.next();) {
        if (field.is(2, Fields::kBytes)) spec.charsmap = field.text();
        if (!field.is(Fields::kNumber)) continue;
        if (field.field() == 3) spec.add_dummy_prefix = field.flag();
        if (field.field() == 4) spec.remove_extra_whitespaces = field.flag();
        if (field.field() == 5) spec.escape_whitespaces = field.flag();
    }
}

void read_self_tests(Message message, std::vector<SelfTest>& tests) {
    for (Fields sample(message); sample.next();) {
        if (!sample.is(1, Fields::kBytes)) continue;
        SelfTest test;
        for (Fields field(sample.bytes); field.next();) {
            if (field.is(1, Fields::kBytes)) test.input = field.text();
            if (field.is(2, Fields::kBytes)) test.expected = field.text();
        }
        tests.push_back(std::move(test));
    }
}

void check_pieces(const ModelFile& file) {
    std::unordered_set<std::string_view> in_text, reserved;
    std::array<bool, 256> bytes{};
    std::size_t unknown = 0;
    for (const Piece& piece : file.pieces) {
        if (piece.text->empty()) fail("has an empty piece: it is damaged");
        if (piece.text->size() >= kMaxPieceBytes) fail("has a piece of 8,000 bytes or more: it is damaged");
        if (piece.text->find('\0') != std::string::npos) fail("has a piece with a NUL character: it is damaged");
        if (!std::isfinite(piece.score)) fail("has a score that is not finite: it is damaged");
        if (!(piece.in_text() ? in_text : reserved).insert(*piece.text).second)
            fail("has the piece '" + *piece.text + "' twice: it is damaged");
        unknown += piece.type == PieceType::kUnknown;
        if (piece.type != PieceType::kByte) continue;
        const int byte = byte_of_piece(*piece.text);
        if (byte < 0 || !file.byte_fallback) fail("has the byte piece '" + *piece.text + "', but no byte fallback");
        bytes[static_cast<std::size_t>(byte)] = true;
    }
    if (in_text.empty() && file.kind == ModelKind::kUnigram) fail("has no pieces that text could match");
    if (unknown != 1) fail("has " + std::to_string(unknown) + " unknown pieces, but a model has exactly one");
    if (!file.byte_fallback) return;
    for (const bool found : bytes)
        if (!found) fail("lacks some of the 256 byte pieces, though it uses byte fallback");
}

}  // namespace

void check_tokenizers(const ModelFile& file) {
    if (!file.tokenizers) return;
    const TokenizersRules& rules = *file.tokenizers;
    const bool is_unigram = file.kind == ModelKind::kUnigram;
    if (rules.scores.size() > file.pieces.size()) fail("has more scores than pieces");
    for (const double score : rules.scores)
        if (!std::isfinite(static_cast<float>(score))) fail("has a score that is not finite");
    for (std::size_t id = 0; id < file.pieces.size(); ++id) {
        const Piece& piece = file.pieces[id];
        const bool is_byte = piece.type == PieceType::kByte;
        if (piece.type < PieceType::kNormal || piece.type > PieceType::kByte) fail("has a piece of an unknown type");
        if (is_byte && byte_of_piece(*piece.text) < 0) fail("has a byte piece without a byte");
        if (piece.type == PieceType::kUnused) continue;
        if (piece.text->empty()) fail("has an empty piece");
        if (is_unigram && (piece.in_text() || is_byte) && id >= rules.scores.size())
            fail("has a piece without a score");
    }
    for (const auto& merge : rules.merges)
        for (const std::int32_t id : {merge.left, merge.right, merge.merged})
            if (id < 0 || std::cmp_greater_equal(id, file.pieces.size())) fail("has a merge of an unknown piece");
}

std::string write_pieces(const TextView& texts, const float* scores, const std::uint8_t* types) {
    constexpr std::size_t kScoreBytes = 5, kMostOtherBytes = 32;  // besides the text
    std::string out(
        static_cast<std::size_t>(texts.offsets[texts.lines] - texts.offsets[0]) + kMostOtherBytes * texts.lines, 0);
    auto* const begin = reinterpret_cast<std::uint8_t*>(out.data());
    std::uint8_t* at = begin;
    for (std::size_t i = 0; i < texts.lines; ++i) {
        const std::size_t size = texts.size(i);
        const auto type = static_cast<PieceType>(types[i]);
        const bool typed = type != PieceType::kNormal;
        *at++ = 0x0A;
        at = write_varint(at, 1 + varint_size(size) + size + kScoreBytes + (typed ? 2 : 0));
        *at++ = 0x0A;
        at = write_varint(at, size);
        at = std::copy_n(texts.line(i), size, at);
        *at++ = 0x15;
        for (unsigned shift = 0; shift < 32; shift += 8)
            *at++ = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scores[i]) >> shift);
        if (!typed) continue;
        *at++ = 0x18;
        *at++ = types[i];
    }
    out.resize(static_cast<std::size_t>(at - begin));
    return out;
}

int byte_of_piece(const std::string& text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
    const std::size_t high = kDigits.find(text[3]), low = kDigits.find(text[4]);
    if (high == std::string_view::npos || low == std::string_view::npos) return -1;
    return static_cast<int>(16 * high + low);
}

void use_fairseq_ids(ModelFile& file) {
    std::vector<Piece>& pieces = file.pieces;
    const auto begins = [&](std::size_t i, const char* text, PieceType type) {
        return i < pieces.size() && *pieces[i].text == text && pieces[i].type == type;
    };
    if (!begins(0, "<unk>", PieceType::kUnknown) || !begins(1, "<s>", PieceType::kControl) ||
        !begins(2, "</s>", PieceType::kControl))
        fail("does not begin with <unk>, <s> and </s>, which fairseq's ids require");
    for (const Piece& piece : pieces)
        if (*piece.text == "<pad>" || *piece.text == "<mask>")
            fail("has the piece " + *piece.text + " already, which is added for fairseq's ids");
    const Piece pad{Utf8Text::literal("<pad>"), 0, PieceType::kControl},
        mask{Utf8Text::literal("<mask>"), 0, PieceType::kControl};
    pieces.insert(pieces.begin() + 3, pieces.front());
    pieces.erase(pieces.begin());
    pieces.insert(pieces.begin() + 1, pad);
    pieces.push_back(mask);
    file.pad_piece = *pad.text;
}

ModelFile read_model(const std::uint8_t* data, std::size_t size) {
    ModelFile file;
    bool has_trainer = false, has_normalizer = false;
    for (Fields field(Message(data, size)); field.next();) {
        if (field.field() != kPiecesField && field.field() != kSelfTestsField && field.field() != kNumberingField)
            file.rest.append(field.whole().begin(), field.whole().end());
        if (!field.is(Fields::kBytes)) continue;
        switch (field.field()) {
            case kPiecesField: file.pieces.push_back(read_piece(field.bytes, file.pieces.size())); break;
            case 2:
                read_trainer(field.bytes, file);
                has_trainer = true;
                break;
            case 3:
                read_normalizer(field.bytes, file.normalizer);
                has_normalizer = true;
                break;
            case kSelfTestsField: read_self_tests(field.bytes, file.self_tests); break;
            case 5:
                if (!file.denormalizer) file.denormalizer.emplace();
                read_normalizer(field.bytes, *file.denormalizer);
                break;
            case kNumberingField: file.numbering = field.text(); break;
            default: break;
        }
    }
    if (file.pieces.empty()) fail("has no pieces: it is not a SentencePiece model");
    if (!has_trainer || !has_normalizer) fail("ends before its training and normalisation settings: it is cut short");
    check_pieces(file);
    return file;
}

}  // namespace nmt_prep::sentencepiece
