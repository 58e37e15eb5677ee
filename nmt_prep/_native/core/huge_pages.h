// Large arrays in large pages, where the system has them (Linux): first touching ordinary ones, of 4 KB each, can take
// longer than filling them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nmt_prep {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

// Memory for `free`, aligned to lines of cache or more, not touched yet.
inline void* allocate_pages(std::size_t size) {
    const bool huge = size >= kHugePage;
    const std::size_t alignment = huge ? kHugePage : kCacheLine;
    void* const data = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (data == nullptr) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // It is advice: where it is not taken, nothing is lost.
    if (huge) madvise(data, size, MADV_HUGEPAGE);
#endif
    return data;
}

struct FreePages {
    void operator()(void* data) const { std::free(data); }
};

// For the elements of vectors.
template <class T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() = default;
    template <class U>
    PageAllocator(const PageAllocator<U>&) {}

    T* allocate(std::size_t count) {
        static_assert(alignof(T) <= kCacheLine);
        return static_cast<T*>(allocate_pages(count * sizeof(T)));
    }
    void deallocate(T* data, std::size_t) { std::free(data); }

    template <class U>
    bool operator==(const PageAllocator<U>&) const {
        return true;
    }
};

}  // namespace nmt_prep
