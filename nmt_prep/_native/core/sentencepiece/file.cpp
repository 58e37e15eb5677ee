#include "sentencepiece/file.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

namespace nmt_prep::sentencepiece {
namespace {

constexpr std::uint32_t kNumberingField = 200;  // the first that the format leaves to others
constexpr std::size_t kMaxPieceBytes = 8000;    // the library rejects this many and more

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

// One field of a message. A number holds varints and the bits of fixed-size values.
struct Field {
    std::uint32_t number;
    std::uint32_t wire;
    std::uint64_t value;
    std::string_view bytes;

    bool flag() const { return value != 0; }
    // As protocol buffers read an enumeration: the low 32 bits.
    std::uint32_t choice() const { return static_cast<std::uint32_t>(value); }
    std::string text() const { return std::string(bytes); }
    float real() const {
        const auto bits = static_cast<std::uint32_t>(value);
        float number_value;
        std::memcpy(&number_value, &bits, sizeof bits);
        return number_value;
    }
};

class Fields {
   public:
    explicit Fields(std::string_view message) : rest_(message) {}

    bool next(Field& field) {
        if (rest_.empty()) return false;
        const std::uint64_t key = varint();
        field = {static_cast<std::uint32_t>(key >> 3), static_cast<std::uint32_t>(key & 7), 0, {}};
        if (key >> 3 == 0 || key >> 32 != 0) fail("is not a SentencePiece model");
        switch (field.wire) {
            case 0: field.value = varint(); break;
            case 1: field.value = fixed(8); break;
            case 2: field.bytes = take(varint()); break;
            case 5: field.value = fixed(4); break;
            default: fail("is not a SentencePiece model");
        }
        return true;
    }

   private:
    std::string_view take(std::uint64_t size) {
        if (size > rest_.size()) fail("ends in the middle of a field: it is cut short or damaged");
        const std::string_view bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return bytes;
    }
    std::uint64_t fixed(std::size_t size) {
        const std::string_view bytes = take(size);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
        return value;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint8_t>(take(1)[0]);
            value |= std::uint64_t{byte & 0x7Fu} << shift;
            if (byte < 0x80) return value;
        }
        fail("is not a SentencePiece model");
    }

    std::string_view rest_;
};

Piece read_piece(std::string_view message) {
    Piece piece;
    Fields fields(message);
    for (Field field; fields.next(field);) {
        if (field.number == 1 && field.wire == 2) piece.text = field.text();
        if (field.number == 2 && field.wire == 5) piece.score = field.real();
        // An enumeration's unknown values read as its default.
        if (field.number == 3 && field.wire == 0 && field.choice() >= 1 && field.choice() <= 6)
            piece.type = static_cast<PieceType>(field.choice());
    }
    return piece;
}

void read_trainer(std::string_view message, ModelFile& file) {
    Fields fields(message);
    for (Field field; fields.next(field);) {
        if (field.wire == 0) {
            if (field.number == 3 && field.choice() >= 1 && field.choice() <= 4)
                file.kind = static_cast<ModelKind>(field.choice());
            if (field.number == 24) file.whitespace_is_suffix = field.flag();
            if (field.number == 35) file.byte_fallback = field.flag();
        } else if (field.wire == 2) {
            // The library uses the default names if these are empty.
            if (field.number == 45 && !field.bytes.empty()) file.unk_piece = field.text();
            if (field.number == 46 && !field.bytes.empty()) file.bos_piece = field.text();
            if (field.number == 47 && !field.bytes.empty()) file.eos_piece = field.text();
            if (field.number == 48 && !field.bytes.empty()) file.pad_piece = field.text();
            if (field.number == 44) file.unk_surface = field.text();
        }
    }
}

void read_normalizer(std::string_view message, NormalizerSpec& spec) {
    Fields fields(message);
    for (Field field; fields.next(field);) {
        if (field.number == 2 && field.wire == 2) spec.charsmap = field.text();
        if (field.wire != 0) continue;
        if (field.number == 3) spec.add_dummy_prefix = field.flag();
        if (field.number == 4) spec.remove_extra_whitespaces = field.flag();
        if (field.number == 5) spec.escape_whitespaces = field.flag();
    }
}

void read_self_tests(std::string_view message, std::vector<SelfTest>& tests) {
    Fields samples(message);
    for (Field sample; samples.next(sample);) {
        if (sample.number != 1 || sample.wire != 2) continue;
        SelfTest test;
        Fields fields(sample.bytes);
        for (Field field; fields.next(field);) {
            if (field.number == 1 && field.wire == 2) test.input = field.text();
            if (field.number == 2 && field.wire == 2) test.expected = field.text();
        }
        tests.push_back(std::move(test));
    }
}

void check_pieces(const ModelFile& file) {
    std::unordered_set<std::string_view> in_text, reserved;
    std::array<bool, 256> bytes{};
    std::size_t unknown = 0;
    for (const Piece& piece : file.pieces) {
        if (piece.text.empty()) fail("has an empty piece: it is damaged");
        if (piece.text.size() >= kMaxPieceBytes) fail("has a piece of 8,000 bytes or more: it is damaged");
        if (piece.text.find('\0') != std::string::npos) fail("has a piece with a NUL character: it is damaged");
        if (!std::isfinite(piece.score)) fail("has a score that is not finite: it is damaged");
        if (!(piece.in_text() ? in_text : reserved).insert(piece.text).second)
            fail("has the piece '" + piece.text + "' twice: it is damaged");
        unknown += piece.type == PieceType::kUnknown;
        if (piece.type != PieceType::kByte) continue;
        const int byte = byte_of_piece(piece.text);
        if (byte < 0 || !file.byte_fallback) fail("has the byte piece '" + piece.text + "', but no byte fallback");
        bytes[static_cast<std::size_t>(byte)] = true;
    }
    if (in_text.empty() && file.kind == ModelKind::kUnigram) fail("has no pieces that text could match");
    if (unknown != 1) fail("has " + std::to_string(unknown) + " unknown pieces, but a model has exactly one");
    if (!file.byte_fallback) return;
    for (const bool found : bytes)
        if (!found) fail("lacks some of the 256 byte pieces, though it uses byte fallback");
}

}  // namespace

std::string write_pieces(const std::vector<Piece>& pieces) {
    constexpr std::size_t kScoreBytes = 5, kMostOtherBytes = 16;
    std::size_t room = 0;
    for (const Piece& piece : pieces) room += piece.text.size() + kMostOtherBytes;
    std::string out;
    out.reserve(room);
    const auto write_number = [&out](std::size_t number) {
        for (; number > 0x7F; number >>= 7) out.push_back(static_cast<char>((number & 0x7F) | 0x80));
        out.push_back(static_cast<char>(number));
    };
    for (const Piece& piece : pieces) {
        const bool typed = piece.type != PieceType::kNormal;
        const std::size_t size_bytes = piece.text.size() < 0x80 ? 1 : piece.text.size() < 0x4000 ? 2 : 3;
        out.push_back('\x0A');
        write_number(1 + size_bytes + piece.text.size() + kScoreBytes + (typed ? 2 : 0));
        out.push_back('\x0A');
        write_number(piece.text.size());
        out += piece.text;
        std::array<char, kScoreBytes> score{'\x15'};
        const auto bits = std::bit_cast<std::uint32_t>(piece.score);
        for (std::size_t i = 0; i < 4; ++i) score[1 + i] = static_cast<char>(bits >> (8 * i) & 0xFF);
        out.append(score.data(), score.size());
        if (typed) {
            out.push_back('\x18');
            out.push_back(static_cast<char>(piece.type));
        }
    }
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
        return i < pieces.size() && pieces[i].text == text && pieces[i].type == type;
    };
    if (!begins(0, "<unk>", PieceType::kUnknown) || !begins(1, "<s>", PieceType::kControl) ||
        !begins(2, "</s>", PieceType::kControl))
        fail("does not begin with <unk>, <s> and </s>, which fairseq's ids require");
    for (const Piece& piece : pieces)
        if (piece.text == "<pad>" || piece.text == "<mask>")
            fail("has the piece " + piece.text + " already, which is added for fairseq's ids");
    const Piece pad{"<pad>", 0, PieceType::kControl}, mask{"<mask>", 0, PieceType::kControl};
    pieces.insert(pieces.begin() + 3, pieces.front());
    pieces.erase(pieces.begin());
    pieces.insert(pieces.begin() + 1, pad);
    pieces.push_back(mask);
    file.pad_piece = pad.text;
}

ModelFile read_model(const std::uint8_t* data, std::size_t size) {
    ModelFile file;
    bool has_trainer = false, has_normalizer = false;
    Fields fields(std::string_view(reinterpret_cast<const char*>(data), size));
    for (Field field; fields.next(field);) {
        if (field.wire != 2) continue;
        switch (field.number) {
            case 1: file.pieces.push_back(read_piece(field.bytes)); break;
            case 2:
                read_trainer(field.bytes, file);
                has_trainer = true;
                break;
            case 3:
                read_normalizer(field.bytes, file.normalizer);
                has_normalizer = true;
                break;
            case 4: read_self_tests(field.bytes, file.self_tests); break;
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
