// A hash table with open addressing, for data that needs no special layout.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nmt_prep {

// Returns a mixed key, whose low bits depend on all bits of a number. Different numbers have different keys.
inline std::uint64_t mixed_key(std::uint64_t number) { return std::rotl(number * 0x9E3779B97F4A7C15u, 32); }

// Values by key. Keys are hashes, or mixed. A key is absent while its value equals Value{}.
template <class Value>
class HashTable {
   public:
    struct Slot {
        std::uint64_t key = 0;
        Value value{};

        bool free() const { return value == Value{}; }
    };

    // Has room for this many keys before it grows.
    explicit HashTable(std::size_t expected = 0) { clear(expected); }

    // Removes all keys.
    void clear(std::size_t expected) {
        size_ = 0;
        slots_.assign(std::bit_ceil(std::max<std::size_t>(2 * expected, 2)), Slot{});
    }

    // Number of keys.
    std::size_t size() const { return size_; }

    // All slots, the free ones included.
    std::span<const Slot> slots() const { return slots_; }
    std::span<Slot> slots() { return slots_; }

    // Prefetches the memory that a search for a key reads first.
    void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[key & (slots_.size() - 1)]); }

    // Returns the value of a key, Value{} if it is absent.
    Value value(std::uint64_t key) const { return slots_[place(key)].value; }

    // Returns the value of a key, nullptr if it is absent. Valid until a key is added.
    Value* find(std::uint64_t key) {
        Slot& slot = slots_[place(key)];
        return slot.free() ? nullptr : &slot.value;
    }

    // Returns the value of a key. If it is absent, it is added, and must get a value other than Value{}.
    Value& add(std::uint64_t key) {
        std::size_t at = place(key);
        if (!slots_[at].free()) return slots_[at].value;
        if (2 * ++size_ > slots_.size()) {
            grow();
            at = place(key);
        }
        slots_[at].key = key;
        return slots_[at].value;
    }

   private:
    std::size_t place(std::uint64_t key) const {
        std::size_t at = key & (slots_.size() - 1);
        while (!slots_[at].free() && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    void grow() {
        std::vector<Slot> before(2 * slots_.size());
        before.swap(slots_);
        for (const Slot& slot : before)
            if (!slot.free()) slots_[place(slot.key)] = slot;
    }

    std::vector<Slot> slots_;  // a power of two, at most half in use
    std::size_t size_ = 0;
};

}  // namespace nmt_prep
