// The wire format of protocol buffers: numbers as varints, and the fields of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace nmt_prep {

// Returns the byte count of one varint.
inline std::size_t varint_size(std::uint64_t value) {
    std::size_t size = 1;
    for (; value > 0x7f; value >>= 7) ++size;
    return size;
}

// Writes one varint, and returns its end.
inline std::uint8_t* write_varint(std::uint8_t* out, std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) *out++ = static_cast<std::uint8_t>(value | 0x80);
    *out++ = static_cast<std::uint8_t>(value);
    return out;
}

// Reads one varint at `at`, which advances past it, up to `end`; returns an error message, or nullptr.
inline const char* read_varint(const std::uint8_t*& at, const std::uint8_t* end, std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (at == end) return "a number is cut off";
        const std::uint8_t byte = *at++;
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return nullptr;
    }
    return "a number is longer than ten bytes";
}

// Walks the fields of one message. After a failure `error` says why, and next() stays false. A tag is the number of a
// field, shifted by three bits, and the type of its value.
class MessageFields {
   public:
    explicit MessageFields(std::span<const std::uint8_t> data) : at_(data.data()), end_(data.data() + data.size()) {}

    // Moves to the next field: its tag in `tag`, its value in `number` if it is a varint, else in `bytes`.
    bool next() {
        if (at_ == end_ || error) return false;
        begin_ = at_;
        if (!varint(tag)) return false;
        if (tag > std::numeric_limits<std::uint32_t>::max() || tag < 8) return fail("a field has an impossible number");
        switch (tag & 7) {
            case 0: return varint(number);
            case 1: return skip(8);
            case 2: return varint(number) && skip(number);
            case 5: return skip(4);
            default: return fail("a field has an unknown wire type");
        }
    }

    // The field with its tag.
    std::span<const std::uint8_t> whole() const { return {begin_, at_}; }

    std::uint64_t tag = 0;
    std::uint64_t number = 0;
    std::span<const std::uint8_t> bytes;
    const char* error = nullptr;

   private:
    bool fail(const char* why) {
        error = why;
        return false;
    }

    bool skip(std::uint64_t size) {
        if (std::cmp_greater(size, end_ - at_)) return fail("a field is longer than its message");
        bytes = {at_, static_cast<std::size_t>(size)};
        at_ += size;
        return true;
    }

    bool varint(std::uint64_t& value) {
        error = read_varint(at_, end_, value);
        return !error;
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
    const std::uint8_t* begin_ = nullptr;  // of the current field
};

}  // namespace nmt_prep
