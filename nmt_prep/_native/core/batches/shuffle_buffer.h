// The shuffle buffer of tf.data, with the same order for the same random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nmt_prep {

template <class Item>
class ShuffleBuffer {
   public:
    // Requires size >= 1.
    explicit ShuffleBuffer(std::uint64_t size) : size_(size) {}

    std::uint64_t held() const { return end_ - start_; }
    bool full() const { return held() == size_; }

    // Requires that the buffer is not full.
    void put(Item item) {
        const auto at = static_cast<std::size_t>(end_++ % size_);
        if (at == items_.size()) {
            items_.push_back(std::move(item));
        } else {
            items_[at] = std::move(item);
        }
    }

    // Removes the item chosen by a random number. Requires that the buffer is not empty.
    Item take(std::uint64_t random) {
        Item& chosen = items_[static_cast<std::size_t>((start_ + random % held()) % size_)];
        Item& first = items_[static_cast<std::size_t>(start_++ % size_)];
        std::swap(chosen, first);
        return std::move(first);
    }

   private:
    std::uint64_t size_;
    std::uint64_t start_ = 0, end_ = 0;  // items are from start_ to end_, each at its number modulo size_
    std::vector<Item> items_;
};

}  // namespace nmt_prep
